"""How far a source has been listed: where the next run goes on, and what need not be looked at again.

Listing a bucket is dear. A range of time is *settled* once it was listed whole, everything found in it was committed,
and so much time had passed that nothing can appear in it any more. Later runs leave it out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime, timedelta

from tailrace.config.model import SourceSpec
from tailrace.config.values import Secret
from tailrace.core import TimeRange
from tailrace.core.ranges import Ranges, joined, overlap, read_ranges, whole_days, without, written
from tailrace.lake.ledger import Ledger

_SETTLED = "settled:"


def note_name(source: SourceSpec, recipe: str) -> str:
    """Under which the ledger keeps what is settled; other arguments or another recipe are listed from the start."""
    told = [(name, value) for name, value in sorted(source.args.items()) if not isinstance(value, Secret)]
    text = repr((source.kind, told, source.locations, recipe))
    return f"{_SETTLED}{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"


def settled(ledger: Ledger, name: str, now: datetime, late: timedelta) -> Ranges:
    """What the ledger says; nothing can be settled by now that is not old enough: then a clock was wrong."""
    return overlap(read_ranges(ledger.notes.get(name, "")), TimeRange(None, _last(now, late)))


def forgotten(ledger: Ledger) -> dict[str, str]:
    """Notes after which everything is listed again."""
    return {name: "" for name in ledger.notes if name.startswith(_SETTLED)}


def still_to_list(window: TimeRange, done: Ranges) -> Ranges:
    """The window without what is settled, oldest first."""
    return without((window,), done)


def settling(windows: Iterable[TimeRange], done: Ranges, now: datetime, late: timedelta) -> Ranges:
    """What is settled once all that those windows hold is committed; whole days, so that it changes rarely."""
    return joined([*done, *overlap(windows, TimeRange(None, _last(now, late)))])


def without_days(settles: Mapping[str, str], days: Collection[date | None]) -> dict[str, str]:
    """Notes of what is settled, but for days that have to be listed again; None: all of them."""
    if None in days:
        return {}
    again = [whole_days(day, day) for day in days if day is not None]
    return {name: written(without(read_ranges(text), again)) for name, text in settles.items()}


def _last(now: datetime, late: timedelta) -> datetime:
    last = now - late
    return datetime(last.year, last.month, last.day)
