"""How far a source has been listed: where the next run goes on, and what need not be looked at again.

Listing a bucket is dear. A range of time is *settled* once it was listed whole, everything found in it was committed,
and so much time had passed that nothing can appear in it any more. Later runs leave it out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from tailrace.config.model import SourceSpec
from tailrace.config.values import Secret
from tailrace.core import TimeRange
from tailrace.lake.ledger import Ledger

Ranges = tuple[TimeRange, ...]
"Sorted, apart from each other; only the first may have no start, none has no end."
_BEGINNING = datetime.min
_SETTLED = "settled:"


def note_name(source: SourceSpec, recipe: str) -> str:
    """Under which the ledger keeps what is settled; other arguments or another recipe are listed from the start."""
    told = [(name, value) for name, value in sorted(source.args.items()) if not isinstance(value, Secret)]
    text = repr((source.kind, told, source.locations, recipe))
    return f"{_SETTLED}{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"


def settled(ledger: Ledger, name: str, now: datetime, late: timedelta) -> Ranges:
    """What the ledger says; nothing can be settled by now that is not old enough: then a clock was wrong."""
    text = ledger.notes.get(name, "")
    last = _last(now, late)
    ranges = [_read(part) for part in text.split(",") if part]
    early = [r for r in ranges if r.start is None or r.start < last]
    return tuple(TimeRange(r.start, min(r.end, last) if r.end else last) for r in early)


def forgotten(ledger: Ledger) -> dict[str, str]:
    """Notes after which everything is listed again."""
    return {name: "" for name in ledger.notes if name.startswith(_SETTLED)}


def written(ranges: Ranges) -> str:
    """As the ledger keeps it."""
    return ",".join(f"{r.start.isoformat() if r.start else ''}/{r.end.isoformat() if r.end else ''}" for r in ranges)


def still_to_list(window: TimeRange, done: Ranges) -> Iterator[TimeRange]:
    """The window without what is settled, oldest first."""
    start = window.start
    for one in done:
        if one.end is None or (start is not None and one.end <= start):
            continue
        if window.end is not None and one.start is not None and one.start >= window.end:
            break
        if _order(one.start) > _order(start):
            yield TimeRange(start, one.start)
        start = one.end
    if window.end is None or start is None or start < window.end:
        yield TimeRange(start, window.end)


def settling(windows: Iterable[TimeRange], done: Ranges, now: datetime, late: timedelta) -> Ranges:
    """What is settled once all that those windows hold is committed; whole days, so that it changes rarely."""
    midnight = _last(now, late)
    ranges = list(done)
    for window in windows:
        end = midnight if window.end is None else min(window.end, midnight)
        if window.start is None or window.start < end:
            ranges.append(TimeRange(window.start, end))
    return _joined(ranges)


def _last(now: datetime, late: timedelta) -> datetime:
    last = now - late
    return datetime(last.year, last.month, last.day)


def _joined(ranges: list[TimeRange]) -> Ranges:
    joined: list[TimeRange] = []
    for one in sorted(ranges, key=lambda r: (_order(r.start), r.end)):
        assert one.end is not None
        before = joined[-1] if joined else None
        if before is not None and before.end is not None and _order(one.start) <= before.end:
            joined[-1] = TimeRange(before.start, max(before.end, one.end))
        else:
            joined.append(one)
    return tuple(joined)


def _order(start: datetime | None) -> datetime:
    return _BEGINNING if start is None else start


def _read(text: str) -> TimeRange:
    start, _, end = text.partition("/")
    return TimeRange(*(datetime.fromisoformat(part) if part else None for part in (start, end)))
