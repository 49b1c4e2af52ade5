"""Putting files in the place of others that hold the same rows, while collections and queries go on.

The files are written without the partition's lock. It is taken for the commit alone, which drops what others have
changed meanwhile. A lock of its own keeps two such runs apart, and tells one that died from one that is still writing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.core.errors import LockedError
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.compaction import Merge
from tailrace.lake.files import DataFile
from tailrace.lake.intents import partitions_with
from tailrace.lake.ledger import COMPACT, REINDEX
from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake
from tailrace.lake.place import Place
from tailrace.lake.runs import manifests, new_run_id
from tailrace.lake.table import stored_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable

APART = "compactions"
"Kind of metadata: manifests of runs that write without the partition's lock; and the name of their lock."


def clear_up(lake: Lake, command: str) -> int:
    """Settles what compactions that died have left; those of partitions that somebody holds are left to him."""
    cleared = 0
    for table, partition in partitions_with(lake, APART):
        if not manifests(lake.meta(APART, table, partition)):
            continue
        schema = stored_schema(lake, table)
        if schema is not None:
            with suppress(LockedError):
                Compacting(lake, table, partition, schema, command).clear_up()
                cleared += 1
    return cleared


@contextmanager
def no_compaction(lake: Lake, table: str, partition: str, command: str) -> Iterator[None]:
    """LockedError while one is under way; what dead ones have left is cleared away first."""
    with partition_lock(lake, table, partition, command, of=APART):
        schema = stored_schema(lake, table)
        if schema is not None:
            Compacting(lake, table, partition, schema, command).clear_up_alone()
        yield


@dataclass(frozen=True, slots=True)
class Swap:
    """Files, and those that hold the same rows."""

    merge: Merge
    files: Sequence[DataFile]


@dataclass(frozen=True, slots=True)
class Swapped:
    """What became of them."""

    done: Sequence[Swap] = ()
    dropped: Sequence[Swap] = ()
    "Others have changed these days meanwhile: they stay as they are, for the next run."


class Compacting:
    """One run over one partition: `begin`, any number of `commit`s, `end`; all from one thread.

    `delta`: the table, if it has been opened in this thread.
    """

    def __init__(
        self,
        lake: Lake,
        table: str,
        partition: str,
        schema: pa.Schema,
        command: str,
        delta: DeltaTable | None = None,
    ) -> None:
        self._place = (lake, table, partition, command)
        self._schema, self._delta = schema, delta
        self._held = ExitStack()
        self._writer: PartitionWriter | None = None
        self.run = new_run_id()

    def begin(self) -> None:
        """Keeps other compactions away, and says that files may come."""
        self._held.enter_context(partition_lock(*self._place, of=APART))
        self._writer = self._new_writer()
        self._writer.announce()

    def require_free(self) -> None:
        """LockedError while somebody else changes the partition: what is written now might wait for long."""
        with partition_lock(*self._place, brief=True):
            return

    def clear_up(self) -> None:
        """Only what others have left."""
        with partition_lock(*self._place, of=APART):
            self.clear_up_alone()

    def clear_up_alone(self) -> None:
        """The same, for one who keeps other compactions away."""
        with partition_lock(*self._place, brief=True):
            writer = self._new_writer()
            writer.recover()
            writer.leave()

    def _new_writer(self) -> PartitionWriter:
        lake, table, partition, _ = self._place
        return PartitionWriter(lake, table, partition, self.run, self._schema, APART, self._delta)

    def commit(self, swaps: Sequence[Swap]) -> Swapped:
        """Makes true what is still as it was, in a commit for each kind.

        LockedError while somebody else changes the partition.
        """
        writer = self._writing
        with partition_lock(*self._place, brief=True):
            writer.rejoin()
            active = writer.active_paths()
            done: list[Swap] = []
            dropped: list[Swap] = []
            for swap in swaps:
                is_there = active.issuperset(file.path for file in swap.merge.files)
                (done if is_there else dropped).append(swap)
            lake, table, *_ = self._place
            lake.table_root(table).delete(file.path for swap in dropped for file in swap.files)
            for kind in (COMPACT, REINDEX):
                files = [file for swap in done if swap.merge.kind == kind for file in swap.files]
                merged = [file for swap in done if swap.merge.kind == kind for file in swap.merge.files]
                if merged:
                    writer.commit(Change([], files, merged=merged, kind=kind))
        return Swapped(done, dropped)

    def holds(self, merges: Sequence[Merge]) -> list[bool]:
        """Are the files of each still what readers see?"""
        active = self._writing.current_paths()
        return [active.issuperset(file.path for file in merge.files) for merge in merges]

    def end(self, *, may_write: bool, is_tidy: bool) -> None:
        """Clears away what was not committed; LockedError while somebody else changes the partition: the next run does.

        `may_write`: tasks may still be at work. `is_tidy`: nothing is left but what was committed.
        """
        with self._held:
            if self._writer is None:
                return
            if is_tidy and not may_write:
                self._writer.leave()
                return
            with partition_lock(*self._place, brief=True):
                self._writer.leave_home()  # files in tiers are merged there
                self._writer.finish(may_write=may_write)

    @property
    def noted(self) -> Place:
        """Where this run is noted, from `begin` to `end`."""
        return self._writing.noted

    @property
    def _writing(self) -> PartitionWriter:
        assert self._writer is not None, "it has not begun"
        return self._writer
