"""Which artifacts are read together: units for tasks, groups of whole days for jobs and commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from tailrace.core import Artifact
from tailrace.pipeline.job import Held, Unit

SMALLEST_UNIT = 32 << 20
LARGEST_UNIT = 1 << 30
SMALLEST_GROUP = 256 << 20
"Estimated bytes after decompression: below this a job of its own costs more than it brings."
UNITS_PER_CORE = 4
_COMPRESSED = (".gz", ".zst", ".bz2", ".zip", ".tgz", ".xz")
_RATIO = 10
"What log files usually shrink by."


@dataclass(frozen=True, slots=True)
class Wanted:
    """An artifact that is to be read, and the source that listed it."""

    artifact: Artifact
    source: int
    held: Held | None = None
    "What it must not give less than."

    @property
    def cost(self) -> int:
        """Bytes to decode, as far as can be told before opening; opening costs something too."""
        size = self.artifact.unread
        return 64 * 1024 + (size * _RATIO if self.artifact.location.endswith(_COMPRESSED) else size)


@dataclass(frozen=True, slots=True)
class Group:
    """Whole days that run in one job and may share a commit."""

    units: tuple[Unit, ...]


def plan_groups(
    wanted: Iterable[Wanted], cores: int, first_number: int = 0, reached: date | None = None
) -> list[Group]:
    """Days up to the one that was reached before, newest first; then later ones as they follow; unknown ones last.

    A first collection has reached none: its newest days come first. A day is never split over two groups.
    """
    ordered = sorted(wanted, key=lambda w: (_turn(w.artifact.day, reached), w.artifact.uri))
    total = sum(w.cost for w in ordered)
    size = min(max(total // (cores * UNITS_PER_CORE), SMALLEST_UNIT), LARGEST_UNIT)
    groups: list[Group] = []
    units: list[Unit] = []
    filled = 0
    number = first_number
    for days in _days_together(ordered, size):
        for artifacts in _split(days, size):
            unit = _unit(number, artifacts)
            units.append(unit)
            number += 1
        filled += sum(w.cost for w in days)
        if filled >= max(SMALLEST_GROUP, size * cores):
            groups.append(Group(tuple(units)))
            units, filled = [], 0
    return [*groups, Group(tuple(units))] if units else groups


def by_day(unit: Unit, first_number: int) -> list[Unit]:
    """A unit that failed, day by day: so that only the day at fault is rolled back."""
    held = unit.held or [None] * len(unit.artifacts)
    wanted = [Wanted(*each) for each in zip(unit.artifacts, unit.sources, held, strict=True)]
    ordered = sorted(wanted, key=lambda w: _newest_first(w.artifact.day))
    days = [list(some) for _, some in groupby(ordered, key=lambda w: w.artifact.day)]
    return [_unit(first_number + i, day, unit.attempt + 1) for i, day in enumerate(days)]


def _unit(number: int, wanted: Sequence[Wanted], attempt: int = 0) -> Unit:
    held = tuple(w.held for w in wanted) if any(w.held for w in wanted) else ()
    artifacts, sources = tuple(w.artifact for w in wanted), tuple(w.source for w in wanted)
    return Unit(number, artifacts, sources, attempt, held=held)


def _turn(day: date | None, reached: date | None) -> tuple[int, int]:
    if day is None:
        return 2, 0
    return (0, -day.toordinal()) if reached is None or day <= reached else (1, day.toordinal())


def _newest_first(day: date | None) -> int:
    return -day.toordinal() if day else 1


def _days_together(ordered: list[Wanted], size: int) -> Iterator[list[Wanted]]:
    """Days in order, small neighbours joined until they fill a unit."""
    joined: list[Wanted] = []
    filled = 0
    for _, some in groupby(ordered, key=lambda w: w.artifact.day):
        day = list(some)
        cost = sum(w.cost for w in day)
        if joined and filled + cost > size:
            yield joined
            joined, filled = [], 0
        joined.extend(day)
        filled += cost
    if joined:
        yield joined


def _split(wanted: list[Wanted], size: int) -> Iterator[list[Wanted]]:
    """Neighbours of about equal cost: as many parts as the size asks for."""
    total = sum(w.cost for w in wanted)
    share = total / max(1, round(total / size))
    part: list[Wanted] = []
    done, boundary = 0, share
    for item in wanted:
        part.append(item)
        done += item.cost
        # Counted from the beginning: what one part has too much, the next has less, and no scrap is left at the end.
        if done >= boundary:
            yield part
            part, boundary = [], (done // share + 1) * share
    if part:
        yield part
