"""Changing a partition: the intent first, then the Delta commit that makes it true."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.core.errors import LakeError
from tailrace.lake import runs
from tailrace.lake import segments as book
from tailrace.lake.actions import add_action, remove_action
from tailrace.lake.change import Change as Change
from tailrace.lake.change import Committed, effect_of
from tailrace.lake.damage import failed_commit
from tailrace.lake.files import Balance, DataFile
from tailrace.lake.intents import Intents
from tailrace.lake.ledger import RESTORE, Ledger, Segment, entries_table
from tailrace.lake.paths import Lake
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.snapshot import active_files, active_paths
from tailrace.lake.steps import reached
from tailrace.lake.table import ATTEMPTS
from tailrace.lake.table_place import is_elsewhere
from tailrace.lake.types import schema_fingerprint

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction, RemoveAction


@dataclass(frozen=True, slots=True)
class Recovered:
    """What earlier runs had left undone."""

    intents: int = 0
    runs: int = 0
    files: int = 0


class PartitionWriter:
    """One run's hand on one partition: `recover`, any number of `commit`s, `finish`; all from one thread.

    The caller holds the partition's lock; should it be lost, the protocol still stores every row once. A run that
    is `apart` writes its files without the lock: it begins with `announce` and takes the lock for each `rejoin` with
    the commit after it, and for `finish`. Writers of one thread may share an opened table, `delta`, which has the
    columns of `schema`.
    """

    def __init__(
        self,
        lake: Lake,
        table: str,
        partition: str,
        run: str,
        schema: pa.Schema,
        apart: str | None = None,
        delta: DeltaTable | None = None,
    ) -> None:
        runs.check_run_id(run)
        self._run, self._schema = run, schema
        self._fingerprint = schema_fingerprint(schema)
        self._intents = Intents(lake, table, partition, run, schema, delta)
        self.noted = lake.meta(apart or "runs", table, partition)
        "Where this run is noted, until `finish` or `leave`."
        self._is_apart = apart is not None
        self._ledger = Ledger()
        self._unfolded: list[Segment] = []
        self._first = self._sequence = 0
        self._has_declared = False
        self._leaves_home = False
        self._paths: tuple[int, frozenset[str]] | None = None

    def recover(self) -> Recovered:
        """Settle what dead runs left, read the ledger, and announce this run."""
        recovered = self._clear_up()
        self._announce(self._sequence)
        return recovered

    def announce(self) -> None:
        """Say that this run may write files."""
        self._announce(self._intents.decided()[0])

    def rejoin(self) -> Recovered:
        """Go on from what others have made of the partition meanwhile."""
        recovered = self._clear_up()
        # After the snapshot was taken: whoever takes us for dead says so first and then takes a number.
        if not runs.is_announced(self.noted, self._run):
            raise self._lose()
        return recovered

    def _announce(self, sequence: int) -> None:
        self._first = sequence
        runs.write_manifest(self.noted, runs.new_manifest(self._run, sequence))
        reached("manifest-written")

    def _clear_up(self) -> Recovered:
        self._intents.directory.clear_staged()
        self.noted.clear_staged()
        intents = self._intents.settle_all()
        dead = [m for m in runs.manifests(self.noted) if m.run != self._run]
        fresh = [m for m in dead if m.swept is None]
        if fresh and self._is_apart:
            dead = [self._given_up(m) for m in dead]
        if fresh:
            intents += self._intents.fence()
        files = sum(self._sweep(m) for m in dead)
        self._sequence, self._has_declared = self._intents.decided()[0], False
        self._ledger, self._unfolded = self._intents.ledger(), []
        self._keep_fold()
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

    def active_paths(self) -> frozenset[str]:
        """Where they lie. A version has one answer, which takes long to find in a table of many files."""
        version = self.version
        if self._paths is None or self._paths[0] != version:
            self._paths = version, active_paths(self._intents.delta, self._intents.partition)
        return self._paths[1]

    def current_paths(self) -> frozenset[str]:
        """In the latest version, for one who holds no lock."""
        self._intents.refresh()
        return self.active_paths()

    def leave_home(self) -> None:
        """Say that this run may write files in tiers, too: they are looked through at its end."""
        self._leaves_home = True

    def commit(self, change: Change) -> Committed:
        """Make the change visible, whole or not at all."""
        self._check_files(change.files)
        self._intents.refresh()
        self._abandon()
        self._intents.fit(self._schema)
        if self._intents.decided()[0] != self._sequence:
            raise self._lose()
        self._check_active(change.merged)
        active = self.active() if change.takes_rows or change.key is not None else []
        if any(is_elsewhere(file.path) for file in active):
            self.leave_home()
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
        actions: list[AddAction | RemoveAction] = [
            *(add_action(file, change.changes_rows) for file in (*files, *change.brought_back)),
            *(remove_action(file, change.changes_rows) for file in effect.taken.removed),
        ]
        self._publish(segment.sequence, actions, effect.taken.removed, effect.balance)
        reached("committed")
        self._sequence, self._has_declared = segment.sequence, False
        self._unfolded.append(segment)
        self._intents.refresh()
        if segment.kind == RESTORE:
            self._ledger, self._unfolded = self._intents.ledger(), []
        self._keep_fold()
        return Committed(self.version, effect.fresh, effect.duplicates, effect.revived, effect.balance.removed)

    def finish(self, *, may_write: bool = False) -> None:
        """Delete this run's files that no commit names, and its manifest.

        Where tasks that failed may still write, the manifest stays: the next run looks again.
        """
        self._intents.refresh()
        self._abandon()
        self._intents.delete_orphans(self._run, self._first, everywhere=self._leaves_home)
        reached("run-cleaned")
        if not may_write:
            self.leave()
        self._keep_fold()

    def leave(self) -> None:
        """No file of this run is left that no commit names: it need not be looked for. Needs no lock."""
        runs.remove_manifest(self.noted, self._run)
        reached("manifest-removed")

    def _publish(
        self, sequence: int, actions: list[AddAction | RemoveAction], removed: Sequence[ActiveFile], balance: Balance
    ) -> None:
        from deltalake.exceptions import CommitFailedError

        for _ in range(ATTEMPTS):
            try:
                self._intents.transact(actions, sequence, balance, is_ok=True)
                return
            except Exception as error:
                # The put may have succeeded before the error: only the log knows.
                self._intents.refresh()
                if self._intents.is_ours(sequence):
                    return
                if self._intents.decided()[0] >= sequence:
                    raise self._lose() from error
                if not isinstance(error, CommitFailedError):
                    raise failed_commit(error, self._intents.root) from error
            self._intents.fit(self._schema)
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
        if not self.active_paths().issuperset(f.path for f in removed):
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

    def _given_up(self, dead: runs.Manifest) -> runs.Manifest:
        lost = replace(dead, lost=True)
        if not dead.lost:
            runs.write_manifest(self.noted, lost)
            reached("merge-run-given-up")
        return lost

    def _sweep(self, dead: runs.Manifest) -> int:
        """Delete what a dead run never committed; tasks of it may outlive it, so later runs look again."""
        deleted = self._intents.delete_orphans(dead.run, dead.sequence)
        reached("recovery-swept")
        now = time.time()
        if dead.swept is None:
            runs.write_manifest(self.noted, replace(dead, swept=now))
            reached("recovery-manifest-marked")
        elif now - dead.swept > runs.LATE_WRITERS:
            runs.remove_manifest(self.noted, dead.run)
        return deleted

    def _keep_fold(self) -> None:
        directory = self._intents.directory
        if self._sequence - book.last_fold(directory) >= book.FOLD_EVERY:
            book.write_fold(directory, self.ledger(), self._run)
