"""Days of a partition that two lakes may both hold: what one has that the other lacks, told from their logs alone.

A file's name is given once, and a copy's name ends with what it was copied from. So names tell that a day has been
handed over, in whichever direction and by however many lakes between. Rows are compared only where one of the lakes
has files that are not in the other: files that were merged, or rows that came from somewhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from tailrace.lake.copying import origin
from tailrace.lake.rewrite import ActiveFile


@dataclass(frozen=True, slots=True)
class SharedDay:
    """One day of a partition, as it stands in the lake that gives and in the one that takes."""

    partition: str
    day: date
    files: tuple[ActiveFile, ...]
    "Those asked for of the lake that gives."
    lacking: tuple[ActiveFile, ...]
    "Those of them of which the other has no copy."
    beside: tuple[ActiveFile, ...]
    "Files of the lake that takes which are copies of none: their rows may be the same."
    is_there: bool
    "Does the lake that takes hold anything of the day?"
    is_deleted: bool = False
    "Were all rows of the day deleted there, so that they stay away?"

    @property
    def state(self) -> str:
        """`new`: it is not there; `same`; `newer`: it has come to more; `older`: the other has; `differs`: both.

        `emptied`: artifacts that had rows on it, and have them in the other lake, were read again and have none.
        `deleted`: it was, in the lake that takes.
        """
        if not self.files:
            return "emptied"
        if not self.lacking:
            return "older" if self.beside else "same"
        if self.is_deleted:
            return "deleted"
        if not self.is_there:
            return "new"
        return "differs" if self.beside else "newer"

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def lacking_bytes(self) -> int:
        return sum(file.size for file in self.lacking)


def shared_days(
    partition: str, asked: Iterable[ActiveFile], given: Iterable[ActiveFile], there: Iterable[ActiveFile]
) -> list[SharedDay]:
    """Newest day first. `asked` of all the files that the one lake has, `given`; `there`: those of the other."""
    wanted, everything, taken = _by_day(asked), _by_day(given), _by_day(there)
    return [
        shared_day(partition, day, wanted[day], everything.get(day, ()), taken.get(day, ()))
        for day in sorted(wanted, reverse=True)
    ]


def shared_day(
    partition: str, day: date, asked: Sequence[ActiveFile], given: Sequence[ActiveFile], there: Sequence[ActiveFile]
) -> SharedDay:
    """The same of one day."""
    known, copied = {origin(file.path) for file in given}, {origin(file.path) for file in there}
    lacking = tuple(file for file in asked if origin(file.path) not in copied)
    beside = tuple(file for file in there if origin(file.path) not in known)
    return SharedDay(partition, day, tuple(asked), lacking, beside, bool(there))


def _by_day(files: Iterable[ActiveFile]) -> dict[date, list[ActiveFile]]:
    found: dict[date, list[ActiveFile]] = {}
    for file in files:
        found.setdefault(file.day, []).append(file)
    return found
