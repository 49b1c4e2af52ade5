"""`compact`: days of many partitions as Spark jobs, a commit whenever some are done, no lock meanwhile."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty
from typing import TYPE_CHECKING

from tailrace.lake.compacting import clear_up
from tailrace.lake.compaction import CompactionPlan
from tailrace.lake.paths import Lake
from tailrace.lake.table import open_table
from tailrace.pipeline.compact_plan import Share, cost, plan_jobs
from tailrace.pipeline.compact_report import CompactionProgress, CompactionReport
from tailrace.pipeline.failure import spark_failure
from tailrace.pipeline.hands import Ended, Hands, Inbox
from tailrace.pipeline.merging import MergedUnit, MergeUnit
from tailrace.pipeline.merging import run_merges as run_here
from tailrace.pipeline.partition_compaction import CompactOptions, PartitionCompaction
from tailrace.pipeline.spark import run_merges

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOBS_AT_ONCE = 3
"One may end while the others keep the cores busy."
PARTITIONS_AT_ONCE = 64
"Each holds a lock, which is an open file; those that begin together share tasks."
FEW = 128 << 20
"Bytes: what costs no more is merged in this process, sooner than a JVM has started."
AGAIN = 0.2
"Seconds until something is tried again that somebody else held up."


@dataclass(frozen=True, slots=True, eq=False)
class Errand:
    """One Spark job."""

    shares: tuple[tuple[Share[PartitionCompaction], ...], ...]
    "By task."
    units: list[list[MergeUnit]]


class Compaction:
    """One run over any number of plans. `session` is called from other threads, if there is much to do."""

    def __init__(
        self,
        lake: Lake,
        options: CompactOptions,
        session: Callable[[], SparkSession],
        progress: CompactionProgress,
        hands: Hands,
    ) -> None:
        self.lake, self.options, self.session = lake, options, session
        self.progress, self.hands = progress, hands
        self.inbox: Inbox = Inbox()
        self.held: list[PartitionCompaction] = []
        "Those that have not begun: it is not their turn, or somebody else is changing them."
        self.under_way: list[PartitionCompaction] = []
        self.ready: deque[Errand] = deque()
        self.out = 0
        self.reports: list[CompactionReport] = []
        self.few = True
        self.cores = 1

    def compact(self, plans: Iterable[CompactionPlan]) -> list[CompactionReport]:
        """Does them all; what goes wrong in one partition does not stop the others. If it raises: `abandon`."""
        clear_up(self.lake, self.options.command)
        plans = [plan for plan in plans if plan.merges]
        self.few = sum(cost(merge) for plan in plans for merge in plan.merges) <= FEW
        for plan in plans:
            # One view of the table for all its partitions: opening it is what costs where there are many files.
            delta = open_table(plan.snapshot.root)
            for partition, merges in plan.by_partition().items():
                self.held.append(PartitionCompaction(self.lake, plan, partition, merges, self.options, delta))
        self.reports += [run.report for run in self.held]
        self.cores = (os.cpu_count() or 2) if self.few else self._ask_cores()
        while self.held or self.under_way:
            if len(self.under_way) <= PARTITIONS_AT_ONCE // 2:
                self._begin()
            self._send()
            self._take_in()
            for run in [*self.under_way]:
                self._go_on(run)
        return self.reports

    def _ask_cores(self) -> int:
        """In another thread: a cluster may take long to answer, and a signal is heeded meanwhile."""
        self.out += 1
        self.hands.give(self.inbox, None, lambda _: self.options.cores())
        ended = self.inbox.get()
        if ended is None:
            raise KeyboardInterrupt
        self.out -= 1
        if ended.error is not None:
            raise ended.error
        return int(ended.result)

    def interrupt(self) -> None:
        """Lets `compact` raise KeyboardInterrupt between two commits."""
        self.inbox.interrupt()

    def abandon(self, patience: float) -> bool:
        """After the session was stopped under us: clear away what was not committed.

        False: some thread has not come back in `patience` seconds.
        """
        for _ in self.inbox.still_ending(patience, lambda: self.out > 0):
            self.out -= 1
        for run in self.held:
            run.report.interrupted = True
        for run in self.under_way:
            run.report.interrupted, run.is_tidy = True, False
            run.may_write = run.may_write or bool(run.left)
            run.end()
        self.held, self.under_way = [], []
        return not self.out

    def _begin(self) -> None:
        """Some that nobody else is changing; the others are tried again for a while."""
        begun: list[PartitionCompaction] = []
        held: list[PartitionCompaction] = []
        for run in self.held:
            if len(self.under_way) + len(begun) == PARTITIONS_AT_ONCE:
                held.append(run)
                continue
            try:
                if run.must_wait():
                    held.append(run)
                    continue
                if run.report.clean:
                    run.begin()
                    begun.append(run)
            except Exception as error:
                run.fail(error)
            if not run.report.clean:
                run.end()
            self.progress.update(run.report)
        self.held = held
        self.under_way += begun
        for shares in plan_jobs([(run, run.merges) for run in begun], self.cores):
            units = [[share.owner.unit(share.merges) for share in task] for task in shares]
            self.ready.append(Errand(shares, units))

    def _send(self) -> None:
        while self.ready and self.out < JOBS_AT_ONCE:
            self.out += 1
            self.hands.give(self.inbox, self.ready.popleft(), self._run)

    def _run(self, errand: Errand) -> list[list[MergedUnit]]:
        if self.few:
            return [[run_here(unit) for unit in task] for task in errand.units]
        return run_merges(self.session(), errand.units)

    def _take_in(self) -> None:
        """Waits for what ends next, or until a commit can be tried again."""
        idle = [*self.held, *(run for run in self.under_way if not run.left)]
        held_up = any(run.held_up is not None for run in idle)
        if not self.out and not held_up:
            return
        with suppress(Empty):
            ended = self.inbox.get(timeout=AGAIN if held_up else None)
            if ended is None:
                raise KeyboardInterrupt
            self.out -= 1
            self._take(ended)

    def _take(self, ended: Ended) -> None:
        errand: Errand = ended.what
        if ended.error is not None and not isinstance(ended.error, Exception):
            raise ended.error
        failure = None if ended.error is None else spark_failure(ended.error)
        for number, task in enumerate(errand.shares):
            for place, share in enumerate(task):
                if failure is None:
                    share.owner.take(share.merges, ended.result[number][place])
                else:
                    share.owner.lose(share.merges, failure)

    def _go_on(self, run: PartitionCompaction) -> None:
        try:
            if run.is_due:
                run.commit()
        except Exception as error:
            run.fail(error)
        if run.is_over:
            run.end()
            self.under_way.remove(run)
        self.progress.update(run.report)
