"""What is to be exported, and what that means for what the target holds already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from tailrace.core import TimeRange
from tailrace.core.wildcards import fits_exactly
from tailrace.lake.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Held:
    """A data file, in the lake or in the target."""

    name: str
    "In the lake relative to the table's root; in the target as the target calls it."
    partition: str
    index: str
    day: date
    size: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a table that an export is about. Nothing outside of it is touched."""

    partitions: frozenset[str] | None = None
    "None: all."
    indexes: tuple[str, ...] = ()
    "Wildcards; none: all."
    window: TimeRange = field(default_factory=TimeRange)
    "Days that it touches are taken whole."

    def holds(self, file: Held) -> bool:
        chosen = self.partitions is None or file.partition in self.partitions
        fits = not self.indexes or any(fits_exactly(file.index, pattern) for pattern in self.indexes)
        return chosen and fits and self.window.touches(file.day)


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to be done to a target so that its part of a table is what the lake holds."""

    snapshot: Snapshot
    copied: Mapping[str, Held]
    "By name in the target: those that are not there."
    kept: Mapping[str, Held]
    removed: Mapping[str, Held]
    in_place: bool = False
    "Are files referred to where they lie, and none copied?"

    @property
    def is_empty(self) -> bool:
        return not self.copied and not self.removed

    @property
    def copied_bytes(self) -> int:
        return 0 if self.in_place else sum(file.size for file in self.copied.values())


def files_of(snapshot: Snapshot) -> Iterator[Held]:
    """All files of a version of a table."""
    names = ("path", "tp_partition", "tp_index", "tp_date", "size", "rows")
    for row in zip(*(snapshot.files.column(name).to_pylist() for name in names), strict=True):
        yield Held(*row)


def plan(snapshot: Snapshot, scope: Scope, wanted: Mapping[str, Held], present: Iterable[Held], *, only: bool) -> Plan:
    """`wanted` are the lake's files by their name in the target; `only`: nothing else of the table is to stay there."""
    there = {file.name: file for file in present}
    whole = {name for name in wanted.keys() & there.keys() if there[name].size == wanted[name].size}
    return Plan(
        snapshot,
        copied={name: file for name, file in wanted.items() if name not in whole},
        kept={name: wanted[name] for name in sorted(whole)},
        removed={n: file for n, file in there.items() if n not in wanted and (only or scope.holds(file))},
    )


@dataclass(slots=True)
class Exported:
    """What an export of one table has come to."""

    table: str
    version: int
    "Of the lake's table."
    files: int = 0
    "In the target, of what was asked for."
    rows: int = 0
    size: int = 0
    "Bytes of them."
    copied: int = 0
    "Files that were not there before."
    copied_bytes: int = 0
    removed: int = 0
    days: int = 0
    place: str = ""

    @classmethod
    def of(cls, plan: Plan, place: str) -> Exported:
        held = [*plan.copied.values(), *plan.kept.values()]
        return cls(
            table=plan.snapshot.table,
            version=plan.snapshot.version,
            files=len(held),
            rows=sum(file.rows for file in held),
            size=sum(file.size for file in held),
            copied=0 if plan.in_place else len(plan.copied),
            copied_bytes=plan.copied_bytes,
            removed=len(plan.removed),
            days=len({file.day for file in held}),
            place=place,
        )
