"""Half-open time ranges in UTC, sets of them, and the ways people write a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from tailrace.core.errors import UsageError

_RELATIVE = re.compile(r"T-(\d+)([YmWdHMS])")
_UNITS = {"W": "weeks", "d": "days", "H": "hours", "M": "minutes", "S": "seconds"}
_FIRST, _LAST = datetime.min, datetime.max
"What an open bound counts as."
_LETTERS = "Y years, m months, W weeks, d days, H hours, M minutes, S seconds"
_EXAMPLES = f"2024-01-31, 2024-01-31T15:04:05, 2024-01-31T15:04:05Z, T-7d ({_LETTERS})"


@dataclass(frozen=True, slots=True)
class TimeRange:
    """[start, end) in UTC without zone; None is open."""

    start: datetime | None = None
    end: datetime | None = None

    def __post_init__(self) -> None:
        if self.start and self.end and self.start >= self.end:
            raise UsageError(
                f"the range is empty: from {self.start:%Y-%m-%dT%H:%M:%S} to {self.end:%Y-%m-%dT%H:%M:%S}",
                code="usage.empty-range",
                hint="--from must lie before --to; --to is exclusive",
            )

    def touches(self, day: date) -> bool:
        """Does any instant of that day lie in the range?"""
        starts_before_end = self.end is None or datetime(day.year, day.month, day.day) < self.end
        return starts_before_end and (self.start is None or day >= self.start.date())

    def covers(self, day: date) -> bool:
        """Does every instant of that day lie in the range?"""
        begins = datetime(day.year, day.month, day.day)
        after_start = self.start is None or self.start <= begins
        return after_start and (self.end is None or self.end - begins >= timedelta(days=1))

    def joined(self, other: TimeRange | None) -> TimeRange:
        """The smallest range that holds both."""
        if other is None:
            return self
        start = None if self.start is None or other.start is None else min(self.start, other.start)
        return TimeRange(start, None if self.end is None or other.end is None else max(self.end, other.end))

    def overlap(self, other: TimeRange) -> TimeRange | None:
        """What lies in both."""
        start, end = max(self._low, other._low), min(self._high, other._high)
        return TimeRange(_bound(start), _bound(end)) if start < end else None

    def without(self, other: TimeRange) -> Iterator[TimeRange]:
        """What lies in this one alone: up to two ranges."""
        for low, high in ((self._low, min(self._high, other._low)), (max(self._low, other._high), self._high)):
            if low < high:
                yield TimeRange(_bound(low), _bound(high))

    @property
    def _low(self) -> datetime:
        return _FIRST if self.start is None else self.start

    @property
    def _high(self) -> datetime:
        return _LAST if self.end is None else self.end


Ranges = tuple[TimeRange, ...]
"A set of instants: sorted, apart from each other."


def joined(ranges: Iterable[TimeRange]) -> Ranges:
    """Every instant of any of them."""
    found: list[TimeRange] = []
    for one in sorted(ranges, key=lambda r: r._low):
        if found and one._low <= found[-1]._high:
            found[-1] = found[-1].joined(one)
        else:
            found.append(one)
    return tuple(found)


def without(ranges: Iterable[TimeRange], cuts: Iterable[TimeRange]) -> Ranges:
    """Every instant of the first that is in none of the others."""
    left = joined(ranges)
    for cut in cuts:
        left = tuple(part for one in left for part in one.without(cut))
    return left


def overlap(ranges: Iterable[TimeRange], window: TimeRange) -> Ranges:
    """Every instant of them that lies in the window."""
    return tuple(part for one in joined(ranges) if (part := one.overlap(window)) is not None)


def written(ranges: Ranges) -> str:
    """As the ledger keeps it."""
    return ",".join(f"{r.start.isoformat() if r.start else ''}/{r.end.isoformat() if r.end else ''}" for r in ranges)


def read_ranges(text: str) -> Ranges:
    """What `written` wrote."""
    bounds = (part.split("/") for part in text.split(",") if part)
    return tuple(TimeRange(*(datetime.fromisoformat(b) if b else None for b in pair)) for pair in bounds)


def _bound(moment: datetime) -> datetime | None:
    return None if moment in (_FIRST, _LAST) else moment


def whole_days(first: date, last: date) -> TimeRange:
    """From the beginning of one day to the end of another."""
    begins = (datetime(day.year, day.month, day.day) for day in (first, last))
    return TimeRange(next(begins), next(begins) + timedelta(days=1))


def parse_time(text: str, now: datetime) -> datetime:
    """A date, an ISO 8601 time or `T-7d` → UTC without zone."""
    relative = _RELATIVE.fullmatch(text)
    try:
        if relative:
            return _back(now, int(relative[1]), relative[2])
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        raise UsageError(
            f"cannot read '{text}' as a time", code="usage.bad-time", hint=f"write one of {_EXAMPLES}"
        ) from None


def _back(now: datetime, count: int, unit: str) -> datetime:
    if unit in _UNITS:
        return now - timedelta(**{_UNITS[unit]: count})
    months = now.year * 12 + now.month - 1 - count * (12 if unit == "Y" else 1)
    year, month = divmod(months, 12)
    last = (datetime(year + (month == 11), (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
    return now.replace(year=year, month=month + 1, day=min(now.day, last))
