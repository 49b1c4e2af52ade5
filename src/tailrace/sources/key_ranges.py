"""Ranges of keys that hold the days of a time range."""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from tailrace.core import TimeRange
from tailrace.core.ranges import whole_days
from tailrace.sources.calendar_bands import last_day
from tailrace.sources.layout_branches import Dates

LISTS_AT_LEAST = 32
"With fewer prefixes than this their days are listed side by side, so that one busy prefix does not take long."
_MOST_DAYS = 400
_AHEAD = timedelta(days=2)
"An open range ends here: clocks differ, and some zones are a day ahead."

EVER = TimeRange()


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys below a directory (empty, or with `/` at its end), after one text and up to all that begin with another."""

    directory: str
    after: str | None = None
    last: str | None = None
    days: TimeRange = EVER
    "Days of the artifacts in it, as far as the range was made for some."

    def is_past(self, key: str) -> bool:
        return self.last is not None and key[: len(self.last)] > self.last

    def holds(self, key: str) -> bool:
        return key.startswith(self.directory) and (self.after is None or key > self.after) and not self.is_past(key)


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a bucket writes its dates."""

    long_years: bool = True
    padded: bool = True

    def text(self, dates: Dates, day: date) -> str:
        width = 2 if self.padded else 1
        year = f"{day.year:04}" if self.long_years else f"{day.year % 100:02}"
        values = {"year": year, "month": f"{day.month:0{width}}", "day": f"{day.day:0{width}}"}
        return "".join(values[text] if is_date else text for text, is_date in dates.pieces)


def is_padded(numbers: Iterable[str]) -> bool | None:
    """Is the fifth written `05`? None where no number is small enough to tell."""
    telling = [number for number in numbers if len(number) == 1 or number.startswith("0")]
    return all(len(number) > 1 for number in telling) if telling else None


def starting_with(prefix: str) -> KeyRange:
    """All keys that begin with a text, which may end within a name."""
    directory = prefix[: prefix.rfind("/") + 1]
    return KeyRange(directory) if directory == prefix else KeyRange(directory, prefix[:-1], prefix)


def dated(trunk: str, dates: Dates, window: TimeRange, spelling: Spelling, trunks: int) -> list[KeyRange]:
    """The keys below one of so many trunks whose dates meet the window."""
    last = last_day(window.end) if window.end else datetime.now(UTC).date() + _AHEAD
    first = window.start.date() if window.start else None
    in_order = dates.sorted and spelling == Spelling()
    if first is None:
        after_all = trunk + spelling.text(dates, last) if in_order else None
        below = starting_with(trunk)
        return [KeyRange(below.directory, below.after, after_all or below.last)]
    last = max(first, last)
    if not in_order and (last - first).days > _MOST_DAYS:
        return [starting_with(trunk)]
    lists = max(1, LISTS_AT_LEAST // trunks)
    days = -(-((last - first).days + 1) // lists) if in_order else 1
    spans: dict[tuple[str, str], TimeRange] = {}
    for low, high in _spans(first, last, days):
        texts = (spelling.text(dates, low), spelling.text(dates, high))
        spans[texts] = whole_days(low, high).joined(spans.get(texts))
    return [replace(_between(trunk, *texts, dates.ends), days=days) for texts, days in spans.items()]


def _spans(first: date, last: date, days: int) -> Iterator[tuple[date, date]]:
    """Stretches of so many days, none beyond the end of a month: then its directory is all that is listed."""
    while first <= last:
        month_end = first.replace(day=calendar.monthrange(first.year, first.month)[1])
        end = min(first + timedelta(days=max(days, 1) - 1), month_end, last)
        yield first, end
        first = end + timedelta(days=1)


def _between(trunk: str, low: str, high: str, ends: bool) -> KeyRange:
    common = trunk + _beginning(low, high)
    directory = common[: common.rfind("/") + 1]
    if low == high and directory == trunk + low:
        return KeyRange(directory)
    # A key that is the date and no more would lie before the first of the range.
    return KeyRange(directory, trunk + (low[:-1] if ends else low), trunk + high)


def _beginning(one: str, other: str) -> str:
    """What two texts have in common."""
    differs = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:differs]
