"""Rows that were deleted and are not to be stored again. No files here.

The ledger keeps it as notes, so that they are folded, restored and forgotten with it: `deleted` for ranges of time of
all sources, and what was overwritten since for one source alone; `deleted where` for rows of which a condition holds.
A range comes back when it is overwritten. A condition stays until it is lifted: it may be somebody's right.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from tailrace.core import TimeRange
from tailrace.core.ranges import Ranges, joined, overlap, read_ranges, without, written

_DELETED = "deleted"
_BACK = "overwritten:"
_WHERE = "deleted where"
Notes = Mapping[str, str]
"Of the ledger."


def deleted(notes: Notes, source: str | None = None) -> Ranges:
    """What is not to be stored; of a source, or of any of them."""
    ranges = read_ranges(notes.get(_DELETED, ""))
    return ranges if source is None else without(ranges, read_ranges(notes.get(f"{_BACK}{source}", "")))


def is_deleted(notes: Notes, day: date) -> bool:
    """Is nothing of a day to be stored?"""
    return any(window.covers(day) for window in deleted(notes))


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


@dataclass(frozen=True, slots=True)
class Erasure:
    """Rows of a range of time of which a condition holds."""

    where: str
    "As it would stand after WHERE."
    window: TimeRange = field(default_factory=TimeRange)

    @property
    def condition(self) -> str:
        """Both as one."""
        bounds = ((">=", self.window.start), ("<", self.window.end))
        times = (f"tp_timestamp {sign} TIMESTAMP '{time}'" for sign, time in bounds if time is not None)
        return " AND ".join([f"({self.where}\n)", *times])


def erased(notes: Notes) -> tuple[Erasure, ...]:
    """What is not to be stored, of any source."""
    found = json.loads(notes.get(_WHERE) or "[]")
    return tuple(Erasure(one["where"], TimeRange(_time(one["from"]), _time(one["to"]))) for one in found)


def after_erasure(notes: Notes, erasure: Erasure) -> dict[str, str]:
    """What the ledger has to note when rows are deleted by a condition."""
    return _noted(dict.fromkeys([*erased(notes), erasure]))


def after_lifting(notes: Notes, where: str) -> dict[str, str]:
    """What the ledger has to note when a condition, of whatever times, holds no longer."""
    return _noted(one for one in erased(notes) if one.where != where)


def after_reset(notes: Notes) -> dict[str, str]:
    """What is left of the notes when everything is deleted: a partition that begins anew has no other ones."""
    return {_WHERE: notes[_WHERE]} if notes.get(_WHERE) else {}


def _noted(erasures: Iterable[Erasure]) -> dict[str, str]:
    told = [{"where": e.where, "from": _text(e.window.start), "to": _text(e.window.end)} for e in erasures]
    return {_WHERE: json.dumps(told) if told else ""}


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _back_without(notes: Notes, window: TimeRange) -> dict[str, str]:
    back = {name: read_ranges(text) for name, text in notes.items() if name.startswith(_BACK) and text}
    return {name: written(without(ranges, [window])) for name, ranges in back.items() if overlap(ranges, window)}
