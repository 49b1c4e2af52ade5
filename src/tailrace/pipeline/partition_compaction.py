"""One partition in one compaction: its merges as they come back from tasks, its commits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailrace.core import LakeError, LockedError, TailraceError
from tailrace.lake.compacting import Compacting, Swap
from tailrace.lake.compaction import CompactionPlan, Merge, columns_of
from tailrace.lake.damage import not_mounted, reading_file
from tailrace.lake.files import DataFile
from tailrace.lake.paths import Lake
from tailrace.lake.steps import reached
from tailrace.lake.types import schema_fingerprint
from tailrace.pipeline.compact_report import CompactionReport
from tailrace.pipeline.failure import partition_failure
from tailrace.pipeline.job import WrittenFile
from tailrace.pipeline.merged_files import Shape, unique_columns
from tailrace.pipeline.merging import Merged, MergedUnit, MergeUnit
from tailrace.pipeline.report import Trouble

if TYPE_CHECKING:
    from deltalake import DeltaTable

SOON = 10.0
"Seconds for which something waits to be committed with more that is to come: fewer versions, not less time."
SELDOM = 10
"And so many times as long as the last commit took."


@dataclass(frozen=True, slots=True)
class CompactOptions:
    """How a compaction is run."""

    command: str = "tailrace compact"
    cores: Callable[[], int] = lambda: 2
    "How many tasks may run at once; a cluster has to be asked."
    patience: float = 30.0
    "Seconds that a commit waits for whoever changes its partition, after all files are written."


class PartitionCompaction:
    """One partition: what is to be done, and what of it is written and not committed yet."""

    def __init__(
        self,
        lake: Lake,
        plan: CompactionPlan,
        partition: str,
        merges: Sequence[Merge],
        options: CompactOptions,
        delta: DeltaTable,
    ) -> None:
        self.plan, self.partition, self.merges, self.options = plan, partition, merges, options
        self.report = CompactionReport(f"{plan.table}.{partition}")
        self.report.found_files = _count(merges)
        self.report.found_bytes = sum(merge.bytes for merge in merges)
        self.hand = Compacting(lake, plan.table, partition, plan.snapshot.schema, options.command, delta)
        self.fingerprint = schema_fingerprint(plan.snapshot.schema)
        self.shape: Shape | None = None
        self.began = time.monotonic()
        self.left = len(merges)
        "Merges that have not come back."
        self.units = 0
        self.waiting: list[Swap] = []
        self.broken: list[tuple[Merge, Merged]] = []
        self.is_fresh = False
        "Something has come back since a commit was last tried."
        self.next_commit = 0.0
        "Not before this time, as long as more is to come."
        self.held_up: float | None = None
        "Since when somebody else keeps it from beginning, or from committing what is waiting."
        self.may_write = False
        self.is_tidy = True

    def must_wait(self) -> bool:
        """Is somebody else changing it? After a while it is given up, as its report says then."""
        try:
            self.hand.require_free()
        except LockedError as error:
            return self._is_patient(error)
        self.held_up = None
        return False

    def begin(self) -> None:
        """From here to `end` no other compaction works on it."""
        self.hand.begin()
        snapshot = self.plan.snapshot
        names = tuple(columns_of(snapshot, self.partition).names)
        place = (snapshot.table, self.partition, self.hand.run, snapshot.root)
        index = self.plan.indexes.get(self.partition)
        self.shape = Shape(*place, snapshot.schema, names, self._unique_columns(), index)

    def _unique_columns(self) -> frozenset[str]:
        """As a file has them that can be read: one that cannot holds up its own day alone."""
        for merge in self.merges:
            with suppress(LakeError), reading_file(self.plan.snapshot.root, merge.files[-1].path) as file:
                return unique_columns(file.metadata)
        return frozenset()

    def unit(self, merges: Sequence[Merge]) -> MergeUnit:
        """Something for a task to do."""
        assert self.shape is not None
        self.units += 1
        return MergeUnit(self.units, self.shape, tuple(merges), self.hand.noted)

    def take(self, merges: Sequence[Merge], result: MergedUnit) -> None:
        """What a task has written."""
        self.left -= len(merges)
        self.may_write |= result.retried
        if self.report.error is not None:
            return
        self.is_fresh = True
        if not self.waiting:
            self.next_commit = max(self.next_commit, time.monotonic() + SOON)
        for merge, merged in zip(merges, result.merges, strict=True):
            if merged.is_idle:
                continue
            if merged.error is None:
                self.waiting.append(Swap(merge, [self._file(merge, file) for file in merged.files]))
            else:
                self.broken.append((merge, merged))

    def _file(self, merge: Merge, file: WrittenFile) -> DataFile:
        place = (file.path, file.size, self.partition, file.index, file.day)
        return DataFile(*place, file.rows, file.stats, self.fingerprint, merge.modified)

    def lose(self, merges: Sequence[Merge], failure: TailraceError) -> None:
        """A task that did not come back."""
        self.left -= len(merges)
        self.may_write, self.is_tidy = True, False
        self.report.left_files += _count(merges)
        trouble = Trouble(self.report.name, f"{failure.message}; the next run goes on", failure.code, failure.hint)
        if trouble not in self.report.troubles:
            self.report.troubles.append(trouble)

    @property
    def is_due(self) -> bool:
        """Is there something to commit, and is it time, and a chance that nobody is in the way?"""
        return bool(self.waiting) and (not self.left or (self.is_fresh and time.monotonic() >= self.next_commit))

    @property
    def is_over(self) -> bool:
        return not self.left and not self.waiting

    def commit(self) -> None:
        """What is waiting, unless somebody else changes the partition: then later."""
        self.is_fresh, began = False, time.monotonic()
        reached("files-merged")
        try:
            swapped = self.hand.commit(self.waiting)
        except LockedError as error:
            # While tasks are at work there is time to wait in.
            if not self.left:
                self._is_patient(error)
            return
        ended = time.monotonic()
        self.next_commit = ended + SELDOM * (ended - began)
        self.report.commits += bool(swapped.done)
        self.report.commit_seconds += ended - began
        self.waiting, self.held_up = [], None
        for swap in swapped.done:
            self.report.count(swap)
        self.report.left_files += _count([swap.merge for swap in swapped.dropped])

    def _is_patient(self, error: LockedError) -> bool:
        """May it be tried again? Else it is given up."""
        now = time.monotonic()
        self.held_up = self.held_up or now
        if now - self.held_up <= self.options.patience:
            return True
        left = [swap.merge for swap in self.waiting] if self.shape is not None else self.merges
        self.report.left_files += _count(left)
        self.waiting, self.is_tidy = [], False
        message = f"{error.message}; its files are left as they are, for the next run"
        self.report.troubles.append(Trouble(self.report.name, message, error.code, error.hint))
        return False

    def fail(self, error: Exception) -> None:
        """Ends this partition and lets the others go on."""
        self.report.error = self.report.error or partition_failure(error, self.report.name)
        self.waiting, self.is_tidy = [], False

    def end(self) -> None:
        """Clears away what was not committed, and lets go."""
        try:
            self._tell_broken()
            # Whoever holds the partition now keeps us from nothing but cleaning up, which the next run does.
            with suppress(LockedError):
                self.hand.end(may_write=self.may_write, is_tidy=self.is_tidy)
        except Exception as error:
            self.fail(error)
        self.report.seconds = time.monotonic() - self.began

    def _tell_broken(self) -> None:
        """Files that could not be merged; where others have replaced them meanwhile, that is why."""
        if not self.broken:
            return
        are_there = self.hand.holds([merge for merge, _ in self.broken])
        for (merge, merged), is_there in zip(self.broken, are_there, strict=True):
            self.report.left_files += len(merge.files)
            if is_there:
                gone = not_mounted(self.plan.snapshot.root, [file.path for file in merge.files])
                message = f"{merge.day}: {gone or merged.error}; the day is left as it is"
                code, hint = (gone.code, gone.hint) if gone else (merged.code or "lake", merged.hint)
                self.report.troubles.append(Trouble(self.report.name, message, code, hint))


def _count(merges: Iterable[Merge]) -> int:
    return sum(len(merge.files) for merge in merges)
