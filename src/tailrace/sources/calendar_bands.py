"""Dates in paths: what captured parts mean, and ranges of days as regular expressions."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta

from tailrace.core import TimeRange

Band = Mapping[str, str]
"Regular expressions for `year`, `month`, `day`; a missing one is free. A few bands together make a range."

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TWO_DIGITS = r"\d\d"


def path_days(fields: Mapping[str, str]) -> tuple[date | None, date | None, int | None]:
    """First and last day and the hour that `year`, `month`, `day`, `hour` name; None where they name none."""
    hour = _number(fields.get("hour"), 0, 23)
    year = _number(fields.get("year"), 0, 9999)
    if year is None:
        return None, None, hour
    year += 2000 if len(fields["year"]) == 2 else 0
    try:
        if "month" not in fields:
            return date(year, 1, 1), date(year, 12, 31), hour
        month = _month(fields["month"])
        if "day" not in fields:
            return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]), hour
        day = date(year, month, int(fields["day"]))
    except ValueError:
        return None, None, hour
    return day, day, hour


def last_day(end: datetime) -> date:
    """The last day of a range that ends, exclusively, at that time."""
    return (end - timedelta(microseconds=1)).date()


def bands(window: TimeRange) -> list[Band]:
    """All days of the window."""
    first = window.start.date() if window.start else None
    last = last_day(window.end) if window.end else None
    if first is None and last is None:
        return [{}]
    if first and last and first.year == last.year:
        return _within_year(first, last)
    found: list[Band] = []
    if first:
        found += _within_year(first, date(first.year, 12, 31))
    if last:
        found += _within_year(date(last.year, 1, 1), last)
    between = _years_between(first.year if first else None, last.year if last else None)
    return [*found, {"year": between}] if between else found


def _within_year(first: date, last: date) -> list[Band]:
    year = f"{first.year:04}|{first.year % 100:02}"
    if first.month == last.month:
        return [{"year": year, "month": _any([first.month]), "day": _any(range(first.day, last.day + 1))}]
    found: list[Band] = [
        {"year": year, "month": _any([first.month]), "day": _any(range(first.day, 32))},
        {"year": year, "month": _any([last.month]), "day": _any(range(1, last.day + 1))},
    ]
    if last.month - first.month > 1:
        found.append({"year": year, "month": _any(range(first.month + 1, last.month))})
    return found


def _years_between(after: int | None, before: int | None) -> str:
    if after is not None and before is not None:
        years = [f"{year:04}" for year in range(after + 1, before)]
    elif after is not None:
        years = _years_beyond(after, lambda digit: f"[{digit + 1}-9]" if digit < 9 else None)
    else:
        years = _years_beyond(before or 0, lambda digit: f"[0-{digit - 1}]" if digit else None)
    return "|".join([*years, _TWO_DIGITS]) if years else ""


def _years_beyond(year: int, beyond: Callable[[int], str | None]) -> list[str]:
    """Four digits that agree with the year up to some place, and there lie beyond it."""
    digits = f"{year:04}"
    steps = [(digits[:i], beyond(int(digit)), r"\d" * (3 - i)) for i, digit in enumerate(digits)]
    return [head + step + rest for head, step, rest in steps if step]


def _any(numbers: Iterable[int]) -> str:
    return "|".join(f"0?{n}" if n < 10 else str(n) for n in numbers)


def _number(text: str | None, low: int, high: int) -> int | None:
    if text is None or not text.isdecimal():
        return None
    number = int(text)
    return number if low <= number <= high else None


def _month(text: str) -> int:
    return int(text) if text.isdecimal() else _MONTHS.index(text[:3].lower()) + 1
