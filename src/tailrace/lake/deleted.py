"""Ranges of time whose rows were deleted: they are not stored again until they are overwritten. No files here.

The ledger keeps them as notes, so that they are folded, restored and forgotten with it: `deleted` for all sources,
and what was overwritten since for one source alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.core import TimeRange
from tailrace.core.ranges import Ranges, joined, overlap, read_ranges, without, written

_DELETED = "deleted"
_BACK = "overwritten:"
Notes = Mapping[str, str]
"Of the ledger."


def deleted(notes: Notes, source: str | None = None) -> Ranges:
    """What is not to be stored; of a source, or of any of them."""
    ranges = read_ranges(notes.get(_DELETED, ""))
    return ranges if source is None else without(ranges, read_ranges(notes.get(f"{_BACK}{source}", "")))


def after_delete(notes: Notes, window: TimeRange) -> dict[str, str]:
    """What the ledger has to note when a range is deleted."""
    return {_DELETED: written(joined([*deleted(notes), window])), **_back_without(notes, window)}


def after_overwrite(notes: Notes, window: TimeRange, source: str | None) -> dict[str, str]:
    """What the ledger has to note when a range is read again, of all sources or of one."""
    ranges = deleted(notes)
    if not overlap(ranges, window):
        return {}
    if source is None:
        return {_DELETED: written(without(ranges, [window])), **_back_without(notes, window)}
    back = f"{_BACK}{source}"
    return {back: written(joined([*read_ranges(notes.get(back, "")), *overlap(ranges, window)]))}


def _back_without(notes: Notes, window: TimeRange) -> dict[str, str]:
    back = {name: read_ranges(text) for name, text in notes.items() if name.startswith(_BACK) and text}
    return {name: written(without(ranges, [window])) for name, ranges in back.items() if overlap(ranges, window)}
