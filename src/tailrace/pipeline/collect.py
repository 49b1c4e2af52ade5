"""`collect`: partitions side by side, groups of days as Spark jobs, a commit as soon as days are whole."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tailrace.config.model import Config, PartitionSpec
from tailrace.config.tables import tables_for
from tailrace.core import ConfigError
from tailrace.lake.paths import Lake
from tailrace.lake.snapshot import tables
from tailrace.pipeline.hands import Ended, Hands, Inbox
from tailrace.pipeline.job import UnitResult
from tailrace.pipeline.partition_run import CollectOptions, Errand, PartitionRun
from tailrace.pipeline.prepare import Survey
from tailrace.pipeline.report import PartitionReport, Progress
from tailrace.pipeline.spark import run_units

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS_AT_ONCE = 16
"What is listed and not collected yet lies in memory."
JOBS_OF_ONE = 3
"One may end while the others keep the cores busy."
JOBS_AT_ONCE = 8
"Beyond those of one partition: the first job of others, which then share the cores with it."


class Collection:
    """One run over any number of partitions. `session` is called from several threads, once a job is ready."""

    def __init__(
        self,
        lake: Lake,
        config: Config,
        options: CollectOptions,
        session: Callable[[], SparkSession],
        progress: Progress,
        hands: Hands,
    ) -> None:
        self.lake, self.config, self.options = lake, config, options
        self.session, self.progress = session, progress
        self.stored = {name.lower(): name for name in tables(lake)}
        self.hands = hands
        self.inbox: Inbox = Inbox()
        self.under_way: list[PartitionRun] = []
        "Those that wait longest for a job first."
        self.reports: list[PartitionReport] = []

    def collect(self, specs: Iterable[PartitionSpec]) -> list[PartitionReport]:
        """Collects them all; what goes wrong in one does not stop the others. If it raises: `abandon`."""
        waiting = deque(specs)
        while waiting or self.under_way:
            while waiting and len(self.under_way) < PARTITIONS_AT_ONCE:
                self._begin(waiting.popleft())
            self._send_jobs()
            if self.under_way:
                self._take_in()
        return self.reports

    def interrupt(self) -> None:
        """Lets `collect` raise KeyboardInterrupt between two commits."""
        self.inbox.interrupt()

    def abandon(self, patience: float) -> bool:
        """After the session was stopped under us: let go of locks and clear away what was not committed.

        False: some thread has not come back in `patience` seconds.
        """
        for ended in self.inbox.still_ending(patience, lambda: any(run.out for run in self.under_way)):
            if isinstance(ended.what, Errand):
                run = ended.what.run
                run.out, run.may_write = run.out - 1, run.may_write or ended.error is not None
        is_quiet = not any(run.out or run.publisher is None for run in self.under_way)
        for run in self.under_way:
            run.interrupt()
        self.under_way.clear()
        return is_quiet

    def _begin(self, spec: PartitionSpec) -> None:
        run = PartitionRun(self.lake, self.config, spec, self.options)
        self.reports.append(run.report)
        self.under_way.append(run)
        try:
            run.lock()
            self._check_name(spec)
        except Exception as error:
            run.fail(error)
            self._end(run)
        else:
            self.hands.give(self.inbox, run, PartitionRun.look)
        self.progress.update(run.report)

    def _check_name(self, spec: PartitionSpec) -> None:
        name = tables_for(self.config, spec.table).name
        twin = self.stored.get(name.lower(), name)
        if twin != name:
            declared = self.config.table(name)
            raise ConfigError(
                f"table {name} already exists in the lake as '{twin}'",
                code="config.duplicate-name",
                where=str(declared.where if declared else spec.where),
                hint="SQL does not tell upper case from lower: use the lake's spelling, or another name",
            )

    def _send_jobs(self) -> None:
        """In turn, so that a large partition does not keep small ones waiting."""
        while (run := self._next()) is not None:
            run.out += 1
            self.hands.give(self.inbox, run.ready.popleft(), self._run)
            self.under_way.remove(run)
            self.under_way.append(run)

    def _next(self) -> PartitionRun | None:
        """Who has the fewest jobs under way and waits longest, if there is room for one more."""
        out = sum(run.out for run in self.under_way)
        for run in sorted(self.under_way, key=lambda run: run.out):
            if run.ready and out < (JOBS_OF_ONE if run.out else JOBS_AT_ONCE):
                return run
        return None

    def _run(self, errand: Errand) -> list[UnitResult]:
        return run_units(self.session(), errand.job, errand.units)

    def _take_in(self) -> None:
        """Waits for what ends next; jobs of one partition that end together share a commit."""
        ended = [self.inbox.get()]
        while not self.inbox.empty():
            ended.append(self.inbox.get())
        jobs: dict[PartitionRun, list[Ended]] = {}
        for each in ended:
            if each is None:
                continue
            if isinstance(each.what, Errand):
                jobs.setdefault(each.what.run, []).append(each)
            else:
                self._plan(each.what, each)
        for run, of_run in jobs.items():
            run.take(of_run)
            self._told(run)
        if None in ended:
            raise KeyboardInterrupt

    def _plan(self, run: PartitionRun, listed: Ended) -> None:
        try:
            if listed.error is not None:
                raise listed.error
            found: Survey = listed.result
            run.plan(found)
        except Exception as error:
            run.fail(error)
        self._told(run)

    def _told(self, run: PartitionRun) -> None:
        if run.is_over:
            self._end(run)
        self.progress.update(run.report)

    def _end(self, run: PartitionRun) -> None:
        run.end()
        self.under_way.remove(run)
