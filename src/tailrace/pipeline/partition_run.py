"""One partition in one run: its lock, its listing, its jobs in their order, its commits."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass

from msgspec.structs import replace

from tailrace.config.model import Config, PartitionSpec
from tailrace.core import TailraceError, TimeRange
from tailrace.core.arrow import arrow_schema
from tailrace.core.errors import one_line
from tailrace.lake.commit import PartitionWriter
from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake
from tailrace.lake.runs import new_run_id
from tailrace.pipeline.absent import without_deleted
from tailrace.pipeline.days import Days
from tailrace.pipeline.failure import HOPELESS, partition_failure, spark_failure
from tailrace.pipeline.hands import Ended
from tailrace.pipeline.headway import forget
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.plan import by_day, plan_groups
from tailrace.pipeline.prepare import Survey, job_of, survey, to_read
from tailrace.pipeline.publish import Publisher
from tailrace.pipeline.report import PartitionReport, Trouble

EVERYTHING = TimeRange()


@dataclass(frozen=True, slots=True)
class CollectOptions:
    """What one `collect` is asked to do."""

    window: TimeRange = EVERYTHING
    command: str = "tailrace collect"
    cores: Callable[[], int] = lambda: 2
    "How many tasks may run at once; a cluster has to be asked."
    overwrite: bool = False
    "The rows of the window are replaced, whatever was collected before."
    source: str | None = None
    "The partitions' one source, where they have others that are left alone; rows of others are not overwritten."
    notes: str | None = None
    "Directory in which tasks note how far they are."


@dataclass(frozen=True, slots=True, eq=False)
class Errand:
    """Whole days that one Spark job reads."""

    run: PartitionRun
    job: Job
    units: tuple[Unit, ...]


class PartitionRun:
    """All from one thread but `look`, which may take as long as a source lets it."""

    def __init__(self, lake: Lake, config: Config, spec: PartitionSpec, options: CollectOptions) -> None:
        self.lake, self.config, self.spec, self.options = lake, config, spec, options
        self.report = PartitionReport(spec.full_name)
        self.held = ExitStack()
        self.publisher: Publisher | None = None
        self.began = time.monotonic()
        self.ready: deque[Errand] = deque()
        self.order: deque[Errand] = deque()
        "All that have not been taken in, as they were planned."
        self.came: dict[Errand, Ended] = {}
        self.days = Days()
        self.out = 0
        "Jobs that have not come back."
        self.cores = 1
        self.numbers = 0
        "Units so far: their numbers name files."
        self.may_write = False
        "Tasks failed or were given up: others of their jobs, or ones that Spark takes for dead, may go on for a while."

    def lock(self) -> None:
        """From here to `end` nobody else changes the partition."""
        self.held.enter_context(partition_lock(self.lake, self.spec.table, self.spec.name, self.options.command))

    def look(self) -> Survey:
        """What the sources hold."""
        found = survey(
            self.config,
            self.lake,
            self.spec,
            self.options.window,
            self.report,
            overwrite=self.options.overwrite,
            alone=self.options.source,
            until=self.held,
        )
        if found.listed.seen:
            self.cores = self.options.cores()
        return found

    def plan(self, found: Survey) -> None:
        """Clears up after earlier runs and makes `ready` what is still to be read."""
        asked, overwrite = self.options.window, self.options.overwrite
        self.report.run = run = new_run_id()
        writer = PartitionWriter(self.lake, found.table.name, self.spec.name, run, arrow_schema(found.table))
        writer.recover()
        cut, alone = asked if overwrite else None, self.options.source
        publisher = Publisher(self.spec, writer, self.report, found.notes, found.listed, cut, alone)
        self.publisher = publisher
        publisher.note_files(found.recognised)
        wanted = to_read(found, publisher.known, asked, overwrite=overwrite)
        for rows, items in wanted.items():
            job = job_of(self.lake, self.spec, found.table, found.listed, run, found.now, rows)
            job = replace(job, notes=self.options.notes, noted=writer.noted)
            job = without_deleted(job, self.lake, self.spec, publisher.notes_then())
            self.report.wanted += len(items)
            self.report.wanted_bytes += sum(w.artifact.unread for w in items)
            for group in plan_groups(items, self.cores, self.numbers, found.ledger.last_day()):
                self._make_ready(job, group.units)
        self.report.unchanged = len(found.listed.seen) - self.report.wanted
        publisher.begin()
        publisher.pass_over(found.listed.seen, wanted.values())

    def _make_ready(self, job: Job, units: Iterable[Unit]) -> None:
        errand = Errand(self, job, tuple(units))
        self.numbers += len(errand.units)
        self.days.sent(errand.units)
        self.ready.append(errand)
        self.order.append(errand)

    @property
    def is_over(self) -> bool:
        return not self.out and not self.ready

    def take(self, ended: Iterable[Ended]) -> None:
        """Jobs that have come back: what they have whole goes into one commit."""
        for each in ended:
            self.out -= 1
            self.came[each.what] = each
        if not self.spec.dedupe:
            self._take_in(tuple(self.came))
        # Which of two rows with the same key comes first must not depend on which job was faster.
        while self.spec.dedupe and self.order and self.order[0] in self.came:
            self._take_in([self.order[0]])

    def _take_in(self, errands: Iterable[Errand]) -> None:
        for errand in errands:
            self.order.remove(errand)
            self._take(self.came.pop(errand))
        for job, unit in self.days.partly_spoiled():
            self._try_by_day(job, unit)
        assert self.publisher is not None
        whole = self.days.whole()
        try:
            self.publisher.publish(whole)
        except OSError as error:
            message = f"{error.strerror or one_line(error)}: the commit was not made"
            self.report.troubles.append(Trouble(self.report.name, message, "lake.io"))
        except Exception as error:
            self.fail(error)
        if not self.options.overwrite:  # which is committed, and counted, in the end
            for job, unit, _ in whole:
                forget(job, unit)

    def _take(self, ended: Ended) -> None:
        """A job that has come back; a unit of several days that failed is tried day by day."""
        errand: Errand = ended.what
        results: list[UnitResult] = ended.result or []
        if ended.error is not None:
            if isinstance(ended.error, TailraceError) or not isinstance(ended.error, Exception):
                raise ended.error
            self.may_write = True
            failure = spark_failure(ended.error)
            results = [UnitResult(u.number, error=failure.message, hint=failure.hint) for u in errand.units]
            if failure.code in HOPELESS:
                self._lose(failure)
                self.days.spoiled.update(*(unit.days for unit in errand.units))
                return
        self.may_write |= any(result.retried for result in results)
        for unit, result in zip(errand.units, results, strict=True):
            self.days.back(unit)
            if result.error is not None:
                forget(errand.job, unit)
            if result.error is None:
                self.days.waiting.append((errand.job, unit, result))
            elif len(unit.days) > 1:
                self._try_by_day(errand.job, unit)
            else:
                self.days.spoiled |= unit.days
                self._roll_back(unit, result)

    def _try_by_day(self, job: Job, unit: Unit) -> None:
        again = [one for one in by_day(unit, self.numbers) if not one.days & self.days.spoiled]
        self.numbers += len(unit.days) - len(again)
        if again:
            self._make_ready(job, again)

    def _lose(self, failure: TailraceError) -> None:
        """Without its JVM, or executors that can do the work, a partition gets no further; what is committed stays."""
        self.ready.clear()
        if all(trouble.code != failure.code for trouble in self.report.troubles):
            message = f"{failure.message}; the next run collects what was not committed"
            self.report.troubles.append(Trouble(self.report.name, message, failure.code, failure.hint))

    def _roll_back(self, unit: Unit, result: UnitResult) -> None:
        day = next(iter(unit.days))
        what = f"day {day}" if day else "this run"
        message = f"{result.error}; {what} was rolled back and is tried again by the next run"
        self.report.troubles.append(Trouble(self.report.name, message, "collect.rolled-back", result.hint))

    def fail(self, error: Exception) -> None:
        """Ends this partition and lets the others go on."""
        self.report.error = self.report.error or partition_failure(error, self.report.name)

    def interrupt(self) -> None:
        """It is over before its time."""
        self.report.interrupted = True
        self.may_write = self.may_write or self.out > 0
        self.ready.clear()
        self.end()

    def end(self) -> None:
        """Clears away what was not committed and lets go of the lock."""
        with self.held:
            try:
                if self.publisher is not None:
                    self._clear(self.publisher)
            except OSError as error:
                message = f"cannot clear away temporary files: {error.strerror or one_line(error)}"
                self.report.troubles.append(Trouble(self.report.name, message, "lake.io"))
            except Exception as error:
                self.fail(error)
        self.report.seconds = time.monotonic() - self.began

    def _clear(self, publisher: Publisher) -> None:
        if not self.report.interrupted:
            publisher.conclude()
        publisher.writer.finish(may_write=self.may_write)
