"""Changing a partition: the intent first, then the Delta commit that makes it true."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.core.errors import LakeError, one_line
from tailrace.lake import runs
from tailrace.lake import segments as book
from tailrace.lake.change import Change as Change
from tailrace.lake.change import Committed, effect_of
from tailrace.lake.files import Balance, DataFile
from tailrace.lake.intents import Intents
from tailrace.lake.ledger import RESTORE, Ledger, Segment, entries_table
from tailrace.lake.paths import Lake
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.snapshot import active_files
from tailrace.lake.steps import reached
from tailrace.lake.table import ATTEMPTS, widen
from tailrace.lake.types import schema_fingerprint

if TYPE_CHECKING:
    from deltalake.transaction import AddAction, RemoveAction


@dataclass(frozen=True, slots=True)
class Recovered:
    """What earlier runs had left undone."""

    intents: int = 0
    runs: int = 0
    files: int = 0


class PartitionWriter:
    """One run's hand on one partition: `recover`, any number of `commit`s, `finish`; all from one thread.

    The caller holds the partition's lock; should it be lost, the protocol still stores every row once.
    """

    def __init__(self, lake: Lake, table: str, partition: str, run: str, schema: pa.Schema) -> None:
        runs.check_run_id(run)
        self._run, self._schema = run, schema
        self._fingerprint = schema_fingerprint(schema)
        self._intents = Intents(lake, table, partition, run, schema)
        self._manifests = lake.meta("runs", table, partition)
        self._ledger = Ledger()
        self._unfolded: list[Segment] = []
        self._first = self._sequence = 0
        self._has_declared = False

    def recover(self) -> Recovered:
        """Settle what dead runs left, read the ledger, and announce this run."""
        self._intents.directory.clear_staged()
        self._manifests.clear_staged()
        intents = self._intents.settle_all()
        dead = [m for m in runs.manifests(self._manifests) if m.run != self._run]
        if any(m.swept is None for m in dead):
            intents += self._intents.fence()
        files = sum(self._sweep(m) for m in dead)
        self._first = self._sequence = self._intents.decided()[0]
        self._ledger = self._intents.ledger()
        self._keep_fold()
        runs.write_manifest(self._manifests, runs.new_manifest(self._run, self._first))
        reached("manifest-written")
        return Recovered(intents, len(dead), files)

    def ledger(self) -> Ledger:
        """All that is collected, this run's commits included."""
        self._ledger = self._ledger.fold(self._unfolded)
        self._unfolded = []
        return self._ledger

    @property
    def run(self) -> str:
        """Its id, with which the names of its files begin."""
        return self._run

    @property
    def version(self) -> int:
        """The version of the table from which this run commits."""
        return self._intents.delta.version()

    def active(self) -> list[ActiveFile]:
        """The partition's files in the version from which this run commits."""
        return active_files(self._intents.delta, self._intents.partition)

    def commit(self, change: Change) -> Committed:
        """Make the change visible, whole or not at all."""
        self._check_files(change.files)
        self._intents.refresh()
        self._abandon()
        if self._intents.decided()[0] != self._sequence:
            raise self._lose()
        active = self.active() if change.takes_rows or change.key is not None else []
        ledger = self.ledger() if change.takes_rows else Ledger()
        effect = effect_of(change, self._intents.root, active, ledger, f"{self._run}-{self._sequence + 1}")
        files = [*effect.fresh, *effect.taken.added]
        segment = Segment(
            sequence=self._sequence + 1,
            run=self._run,
            kind=change.kind,
            # Not those brought back: an intent that fails has its files deleted.
            files=tuple(f.path for f in files),
            quarantine=tuple(change.quarantine),
            lifted=tuple(change.lifted),
            notes=effect.notes,
            entries=entries_table(effect.entries),
        )
        if not self._intents.declare(segment):
            raise self._lose()
        self._has_declared = True
        reached("segment-written")
        self._publish(segment.sequence, [*files, *change.brought_back], effect.taken.removed, effect.balance)
        reached("committed")
        self._sequence, self._has_declared = segment.sequence, False
        self._unfolded.append(segment)
        self._intents.refresh()
        if segment.kind == RESTORE:
            self._ledger, self._unfolded = self._intents.ledger(), []
        self._keep_fold()
        return Committed(self.version, effect.fresh, effect.duplicates, effect.revived)

    def finish(self, *, may_write: bool = False) -> None:
        """Delete this run's files that no commit names, and its manifest.

        Where tasks that failed may still write, the manifest stays: the next run looks again.
        """
        self._intents.refresh()
        self._abandon()
        self._intents.delete_orphans(self._run, self._first)
        reached("run-cleaned")
        if not may_write:
            runs.remove_manifest(self._manifests, self._run)
            reached("manifest-removed")
        self._keep_fold()

    def _publish(
        self, sequence: int, files: Sequence[DataFile], removed: Sequence[ActiveFile], balance: Balance
    ) -> None:
        from deltalake.exceptions import CommitFailedError

        for _ in range(ATTEMPTS):
            try:
                self._intents.transact([*map(_add, files), *map(_remove, removed)], sequence, balance, is_ok=True)
                return
            except Exception as error:
                # The put may have succeeded before the error: only the log knows.
                self._intents.refresh()
                if self._intents.is_ours(sequence):
                    return
                if self._intents.decided()[0] >= sequence:
                    raise self._lose() from error
                if not isinstance(error, CommitFailedError):
                    raise LakeError(
                        f"the commit failed: {one_line(error)}", code="lake.io", where=str(self._intents.root)
                    ) from error
            self._intents.delta = widen(self._intents.delta, self._schema)
            self._check_active(removed)
        raise self._intents.busy()

    def _abandon(self) -> None:
        """Settle an intent of this run whose commit failed, so that the next one can begin."""
        if self._has_declared:
            self._sequence, self._has_declared = self._sequence + 1, False
            self._intents.settle(self._sequence)
            self._ledger, self._unfolded = self._intents.ledger(), []

    def _check_files(self, files: Sequence[DataFile]) -> None:
        for file in files:
            name = file.path.rpartition("/")[2]
            if file.fingerprint != self._fingerprint:
                problem = "was written with another schema than this run's"
            elif not name.startswith(f"{self._run}-"):
                problem = f"does not begin with '{self._run}-'"
            else:
                continue
            where = str(self._intents.root)
            raise LakeError(f"data file {name} {problem}", code="lake.foreign-file", where=where)

    def _check_active(self, removed: Sequence[ActiveFile]) -> None:
        """Rows of a file that others have removed live on in theirs: adding our copy would double them."""
        if not removed:
            return
        active = {f.path for f in active_files(self._intents.delta, self._intents.partition)}
        if not active.issuperset(f.path for f in removed):
            raise LakeError(
                "files to be replaced were rewritten by someone else",
                code="lake.conflict",
                where=str(self._intents.root),
                hint="run the command again",
            )

    def _lose(self) -> LakeError:
        self._has_declared = False
        name = f"{self._intents.table}.{self._intents.partition}"
        return LakeError(
            f"another process has changed partition {name} under this run",
            code="lake.lost-race",
            where=str(self._intents.root),
            hint="run the command again; every row that was stored is stored once",
        )

    def _sweep(self, dead: runs.Manifest) -> int:
        """Delete what a dead run never committed; tasks of it may outlive it, so later runs look again."""
        deleted = self._intents.delete_orphans(dead.run, dead.sequence)
        reached("recovery-swept")
        now = time.time()
        if dead.swept is None:
            runs.write_manifest(self._manifests, replace(dead, swept=now))
            reached("recovery-manifest-marked")
        elif now - dead.swept > runs.LATE_WRITERS:
            runs.remove_manifest(self._manifests, dead.run)
        return deleted

    def _keep_fold(self) -> None:
        directory = self._intents.directory
        if self._sequence - book.last_fold(directory) >= book.FOLD_EVERY:
            book.write_fold(directory, self.ledger(), self._run)


def _add(file: DataFile) -> AddAction:
    from deltalake.transaction import AddAction

    return AddAction(file.path, file.size, file.partition_values, int(time.time() * 1000), True, file.stats)


def _remove(file: ActiveFile) -> RemoveAction:
    from deltalake.transaction import RemoveAction

    return RemoveAction(file.path, True, int(time.time() * 1000), file.size, {**file.partition_values})
