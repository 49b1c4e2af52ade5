"""An artifact that two lakes have read: which of them holds its later version, in whose place no earlier row stays.

Rows go only where it is certain that the later reading would have brought them: what was left out of it, or taken
from the lake since, is no reason to take it from another. No files here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from tailrace.lake.ledger import Entry, Ledger, keys
from tailrace.lake.removal import entries_of

OTHERS = "others"
"Stands for the lines of a file whose place two files had, on two machines perhaps: nothing resembles it."
_PART = "-"


def succeeds(later: Entry, earlier: Entry) -> bool:
    """Are rows that only the earlier reading has those of an earlier version? Of one reading in two lakes: both are."""
    if later.at < earlier.at or later.status != "ok" or not is_same(later, earlier):
        return False
    is_read_alike = later.recipe == earlier.recipe or not later.filtered
    return is_read_alike and _is_whole(later) and not _holds_others(earlier)


def emptied(given: Ledger, there: Ledger, days: Iterable[date]) -> set[date]:
    """Days on which artifacts that come with those days have no row any more, and had some in the other lake."""
    wanted = set(days)
    keys_near = keys(given.of_days(min(wanted), max(wanted))).to_pylist()
    near = {entry.key: entry for entry in entries_of(given, keys_near)}
    found: set[date] = set()
    for before in entries_of(there, near):
        entry = near[before.key]
        if wanted.intersection(entry.dates) and succeeds(entry, before):
            found.update(set(before.dates).difference(entry.dates))
    return found


def is_same(one: Entry, other: Entry) -> bool:
    """Is it the same artifact? A path may be another file on another machine; half of the lines have to be the same."""
    if not one.uri.startswith("file:"):
        return True
    lines, others = (set((entry.lines or OTHERS).split(_PART)) - {OTHERS} for entry in (one, other))
    return bool(lines) and 2 * len(lines & others) >= min(len(lines), len(others)) > 0


def _is_whole(entry: Entry) -> bool:
    """Has no row been left out for its time or its key, and none been taken away since, and are all days there?"""
    left_out = bool(entry.out_of_range or entry.duplicates)
    return bool(entry.version) and not left_out and _accounted(entry) == (entry.received or 0)


def _holds_others(entry: Entry) -> bool:
    """Are there more rows than it ever had? Then some came from another file of that name."""
    return _accounted(entry) > (entry.received or 0)


def _accounted(entry: Entry) -> int:
    left_out = (entry.quarantined, entry.filtered, entry.out_of_range, entry.duplicates)
    return entry.rows + sum(number or 0 for number in left_out)


def handed_on(entry: Entry, before: Entry | None, dates: frozenset[date], rows: int) -> Entry:
    """What the lake that takes is to know of an artifact of which it holds so many rows, of those days, then.

    One of which not all days are there looks as if it had changed: then it is read as a whole.
    """
    base = entry if before is None or entry.at >= before.at else before
    quarantined = before.quarantined if before else 0
    base = replace(
        base,
        rows=rows,
        received=(base.received or 0) - (base.quarantined or 0) + quarantined,
        quarantined=quarantined,
        dates=tuple(sorted(dates)),
        generation=max(entry.generation, before.generation if before else 1),
        # As if it had been read on: records that were refused here have not come, and are not replaced.
        resumed=(base.offset or base.size) if before is not None and (before.rows or quarantined) else None,
    )
    if before is not None and not is_same(entry, before):
        base = replace(base, lines=OTHERS if entry.lines or before.lines else None)
    elif before is not None and not _holds_others(before):
        # Days of an earlier version may still be there.
        base = replace(base, received=max(base.received, _accounted(base)))
    return base if dates.issuperset(entry.dates) else replace(base, version="", offset=None)
