"""Days from one lake to another: what there is to do, and doing it, for `push` and `pull`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Literal

from tailrace.core.errors import LakeError, TailraceError, UsageError, one_line
from tailrace.core.wildcards import fits_exactly

if TYPE_CHECKING:
    import pyarrow as pa

    from tailrace.core import TimeRange
    from tailrace.lake.handover import Handed
    from tailrace.lake.ledger import Ledger
    from tailrace.lake.paths import Lake
    from tailrace.lake.rewrite import ActiveFile
    from tailrace.lake.sharing import SharedDay
    from tailrace.lake.snapshot import Snapshot
    from tailrace.lake.versions import Moment
    from tailrace.query.filters import Schema

Kind = Literal["push", "pull"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for of the lake that gives."""

    names: tuple[str, ...]
    window: TimeRange
    indexes: tuple[str, ...]
    schema: Schema | None
    at: Moment | None


@dataclass(slots=True)
class Handing:
    """From one lake to another: what there is to do, what was done, and what went wrong."""

    kind: Kind
    source: Lake
    target: Lake
    wanted: Wanted
    overwrite: bool = False
    listing: str | None = None
    "The command that lists what the lake that gives has."
    troubles: list[tuple[str, TailraceError]] = field(default_factory=list)
    _seen: dict[str, Snapshot] = field(default_factory=dict)

    def plan(self) -> dict[str, list[SharedDay]]:
        """By partition, from the logs; and from the ledgers where something is to come."""
        from tailrace.lake.intents import read_ledger
        from tailrace.lake.sharing import shared_days
        from tailrace.lake.snapshot import files_of, snapshot
        from tailrace.lake.table import exists

        found: dict[str, list[SharedDay]] = {}
        there: dict[str, Snapshot | None] = {}
        for name in self._names():
            table, _, partition = name.partition(".")
            given = self._seen[table]
            if table not in there:
                is_there = exists(self.target.table_root(table))
                there[table] = snapshot(self.target, table) if is_there else None
            taken = there[table]
            asked = [file for file in files_of(self._scoped(given), partition) if self._is_wanted(file.index, file.day)]
            others = files_of(taken.files, partition) if taken else []
            days = shared_days(partition, asked, files_of(given.files, partition), others)
            if taken and any(day.lacking for day in days):
                ledger = read_ledger(self.target, table, partition)
                days = [replace(day, is_deleted=self._is_deleted(ledger, day.day)) for day in days]
                days = [*self._emptied(name, days, others, ledger), *days]
            if days:
                found[name] = days
        return found

    def _is_deleted(self, there: Ledger, day: date) -> bool:
        from tailrace.lake.deleted import is_deleted

        return not self.overwrite and is_deleted(there.notes, day)

    def _emptied(
        self, name: str, days: Sequence[SharedDay], others: Sequence[ActiveFile], there: Ledger
    ) -> Iterator[SharedDay]:
        """First of all, because it is told by what is to come. Of a part of a day nobody can say that it is empty."""
        from tailrace.lake.intents import read_ledger
        from tailrace.lake.sharing import SharedDay
        from tailrace.lake.succession import emptied

        table, _, partition = name.partition(".")
        lacking = [day.day for day in days if day.lacking]
        if not lacking or not others or not self._is_succession or self.wanted.indexes or self.wanted.schema:
            return
        found = emptied(read_ledger(self.source, table, partition), there, lacking)
        for day in sorted(found.difference(lacking), reverse=True):
            beside = tuple(file for file in others if file.day == day)
            if beside and self.wanted.window.touches(day):
                yield SharedDay(partition, day, (), (), beside, True)

    @property
    def _is_succession(self) -> bool:
        """Does the ledger tell of the files that are given? It has no earlier versions of them."""
        return self.wanted.at is None

    def carry_out(
        self, planned: dict[str, list[SharedDay]], told: Callable[[int, int], None] = lambda _total, _more: None
    ) -> Iterator[tuple[str, Handed]]:
        """Day by day; a partition that cannot be written does not keep the others from it."""
        total = sum(day.lacking_bytes for days in planned.values() for day in days)
        for name, days in planned.items():
            try:
                for handed in self._partition(name, days, lambda more: told(total, more)):
                    yield name, handed
            except (TailraceError, OSError) as error:
                if isinstance(error, OSError):
                    where = error.filename or str(self.target.data_root)
                    error = LakeError(error.strerror or one_line(error), code="lake.io", where=where)
                self.troubles.append((name, error))

    def _partition(self, name: str, days: Iterable[SharedDay], told: Callable[[int], None]) -> Iterator[Handed]:
        from tailrace.cli.redact import command_line
        from tailrace.lake.handover import Handed, HandOver
        from tailrace.lake.intents import read_ledger

        table, _, partition = name.partition(".")
        hand: HandOver | None = None
        for day in days:
            if day.files and not day.lacking:
                yield Handed(day)
                continue
            if hand is None:
                ledger, seen = read_ledger(self.source, table, partition), self._seen[table]
                hand = HandOver(
                    seen,
                    ledger,
                    self.target,
                    partition,
                    self.kind,
                    overwrite=self.overwrite,
                    succession=self._is_succession,
                    told=told,
                )
            yield hand.day(day, command_line(sys.argv[1:]))

    def _names(self) -> list[str]:
        """Partitions that are meant, of the version that is asked for."""
        from tailrace.cli.matching import listed
        from tailrace.lake.extents import partition_extents
        from tailrace.lake.snapshot import snapshot, snapshot_at, tables

        stored = tables(self.source)
        if not stored:
            hint = "check where it lies: a lake is the directory, or prefix, that has `data` in it"
            where = self.source.data_root.uri
            raise UsageError("the lake holds no table", code="usage.empty-lake", where=where, hint=hint)
        for table in stored:
            at = self.wanted.at
            seen = snapshot(self.source, table) if at is None else snapshot_at(self.source, table, at)
            if seen is not None:
                self._seen[table] = seen
        known = [f"{table}.{e.partition}" for table, seen in self._seen.items() for e in partition_extents(seen)]
        found = listed("partition", self.wanted.names, sorted(known), self.listing)
        schema = self.wanted.schema
        return [name for name in found if schema is None or schema.holds(name.partition(".")[0])]

    def _scoped(self, given: Snapshot) -> pa.Table:
        from tailrace.lake.arrow_listing import files_of, rows_of

        if self.wanted.schema is None:
            return given.files
        return rows_of(given.files, self.wanted.schema.of(files_of(given.files), self.source.tiers))

    def _is_wanted(self, index: str, day: date) -> bool:
        patterns = self.wanted.indexes
        return self.wanted.window.touches(day) and (not patterns or any(fits_exactly(index, p) for p in patterns))
