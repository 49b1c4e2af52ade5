"""`collect`: partitions side by side, groups of days as Spark jobs, a commit as soon as days are whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from tailrace.config.model import Config, PartitionSpec
from tailrace.config.tables import tables_for
from tailrace.core import ConfigError, LakeError, TailraceError, TimeRange
from tailrace.core.arrow import arrow_schema
from tailrace.core.errors import one_line
from tailrace.lake.commit import PartitionWriter
from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake
from tailrace.lake.runs import new_run_id
from tailrace.lake.snapshot import tables
from tailrace.pipeline.failure import JVM_DIED, spark_failure
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.plan import by_day, plan_groups
from tailrace.pipeline.prepare import Survey, all_again, range_notes, still_to_read, survey
from tailrace.pipeline.publish import Done, Publisher
from tailrace.pipeline.report import PartitionReport, Progress, Trouble
from tailrace.pipeline.spark import run_units

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERYTHING = TimeRange()
JOBS_AT_ONCE = 3
"One may end while the others keep the cores busy."


@dataclass(frozen=True, slots=True)
class CollectOptions:
    """What one `collect` is asked to do."""

    window: TimeRange = EVERYTHING
    command: str = "tailrace collect"
    cores: int = 2
    overwrite: bool = False
    "The rows of the window are replaced, whatever was collected before."


@dataclass(slots=True)
class _Active:
    """A partition under way."""

    report: PartitionReport
    publisher: Publisher
    held: ExitStack
    began: float
    pending: int = 0
    "Jobs that have not come back."
    numbers: int = 0
    "Units so far: their numbers name files."
    may_write: bool = False
    "A job failed or was given up: Spark's other tasks of it may go on for a while."


@dataclass(frozen=True, slots=True)
class _Sent:
    active: _Active
    job: Job
    units: tuple[Unit, ...]


class Collection:
    """One run over any number of partitions. `session` is called from several threads, once a job is ready."""

    def __init__(
        self,
        lake: Lake,
        config: Config,
        options: CollectOptions,
        session: Callable[[], SparkSession],
        progress: Progress,
    ) -> None:
        self.lake, self.config, self.options = lake, config, options
        self.session, self.progress = session, progress
        self.stored = {name.lower(): name for name in tables(lake)}
        self.pool = ThreadPoolExecutor(JOBS_AT_ONCE, thread_name_prefix="job")
        self.sent: dict[Future[list[UnitResult]], _Sent] = {}
        self.reports: list[PartitionReport] = []

    def collect(self, specs: Iterable[PartitionSpec]) -> list[PartitionReport]:
        """Collects them all; what goes wrong in one does not stop the others. If it raises: `abandon`."""
        for spec in specs:
            report = PartitionReport(spec.full_name)
            self.reports.append(report)
            self._begin(spec, report)
            self._advance(timeout=0)
        while self.sent:
            self._advance(timeout=None)
        self.pool.shutdown()
        return self.reports

    def abandon(self) -> None:
        """After the session was stopped under us: let go of locks and clear away what was not committed."""
        self.pool.shutdown(wait=True, cancel_futures=True)
        for active in {id(s.active): s.active for s in self.sent.values()}.values():
            active.pending, active.may_write = 0, True
            self._end(active)
        self.sent.clear()

    def _begin(self, spec: PartitionSpec, report: PartitionReport) -> None:
        began = time.monotonic()
        with ExitStack() as held:
            try:
                held.enter_context(partition_lock(self.lake, spec.table, spec.name, self.options.command))
                active = self._prepare(spec, report, held, began)
            except Exception as error:
                report.error = _failure(error)
                report.seconds = time.monotonic() - began
                self.progress.update(report)
                return
            if active is not None:
                active.held = held.pop_all()
                if not active.pending:
                    self._end(active)
        self.progress.update(report)

    def _prepare(self, spec: PartitionSpec, report: PartitionReport, held: ExitStack, began: float) -> _Active | None:
        """Lists, plans and sends the jobs of one partition; None when its sources hold nothing at all."""
        asked, overwrite = self.options.window, self.options.overwrite
        self._check_name(tables_for(self.config, spec.table).name, spec)
        found = survey(self.config, self.lake, spec, asked, report, overwrite=overwrite, until=held)
        run = new_run_id()
        writer = PartitionWriter(self.lake, found.table.name, spec.name, run, arrow_schema(found.table))
        writer.recover()
        notes = range_notes(found.window, found.ledger)
        publisher = Publisher(spec, writer, report, notes, found.listed, asked if overwrite else None)
        active = _Active(report, publisher, held, began)
        artifacts = found.listed.artifacts
        if overwrite:
            wanted = all_again(artifacts, publisher.known, asked)
        else:
            wanted = still_to_read(artifacts, publisher.known, asked, found.recipes)
        ready: list[_Sent] = []
        for rows, items in wanted.items():
            job = self._job(spec, found, run, rows)
            report.wanted += len(items)
            report.wanted_bytes += sum(w.artifact.size for w in items)
            for group in plan_groups(items, self.options.cores, active.numbers):
                active.numbers += len(group.units)
                ready.append(_Sent(active, job, group.units))
        report.unchanged = report.discovered - report.wanted
        publisher.pass_over(artifacts, wanted.values())
        for sent in ready:
            self._send(sent)
        return active

    def _check_name(self, name: str, spec: PartitionSpec) -> None:
        twin = self.stored.get(name.lower(), name)
        if twin != name:
            declared = self.config.table(name)
            raise ConfigError(
                f"table {name} already exists in the lake as '{twin}'",
                code="config.duplicate-name",
                where=str(declared.where if declared else spec.where),
                hint="SQL does not tell upper case from lower: use the lake's spelling, or another name",
            )

    def _job(self, spec: PartitionSpec, found: Survey, run: str, rows: TimeRange) -> Job:
        table = found.table
        return Job(
            table=table,
            partition=spec.name,
            formats=found.listed.formats,
            sources=found.listed.sources,
            run=run,
            started=found.now,
            table_root=str(self.lake.table_root(table.name)),
            quarantine_root=str(self.lake.meta("quarantine", table.name, spec.name)),
            window=rows,
            filter=spec.filter,
            index=spec.tp_index,
        )

    def _send(self, sent: _Sent) -> None:
        sent.active.pending += 1
        self.sent[self.pool.submit(self._run, sent)] = sent

    def _run(self, sent: _Sent) -> list[UnitResult]:
        return run_units(self.session(), sent.job, sent.units)

    def _advance(self, timeout: float | None) -> None:
        """Takes in the jobs that have ended: those of one partition share a commit."""
        finished, _ = wait(self.sent, timeout=timeout, return_when=FIRST_COMPLETED)
        by_partition: dict[int, list[Done]] = {}
        actives: dict[int, _Active] = {}
        for future in finished:
            sent = self.sent.pop(future)
            sent.active.pending -= 1
            actives[id(sent.active)] = sent.active
            by_partition.setdefault(id(sent.active), []).extend(self._whole_days(sent, future))
        for number, active in actives.items():
            self._publish(active, by_partition[number])
            if not active.pending:
                self._end(active)
            self.progress.update(active.report)

    def _whole_days(self, sent: _Sent, future: Future[list[UnitResult]]) -> list[Done]:
        """Results whose days have come through; a unit of several days that failed is tried day by day."""
        error = future.exception()
        if isinstance(error, TailraceError) or (error is not None and not isinstance(error, Exception)):
            raise error
        if error is not None:
            sent.active.may_write = True
            failure = spark_failure(error)
            if failure.code == JVM_DIED:
                self._lose(sent.active.report, failure)
                return []
            results = [UnitResult(u.number, error=failure.message, hint=failure.hint) for u in sent.units]
        else:
            results = future.result()
        spoiled: set[date | None] = set()
        for unit, result in zip(sent.units, results, strict=True):
            if result.error is None:
                continue
            if len(unit.days) > 1:
                again = by_day(unit, sent.active.numbers)
                sent.active.numbers += len(again)
                self._send(_Sent(sent.active, sent.job, tuple(again)))
            else:
                spoiled |= unit.days
                self._roll_back(sent.active.report, unit, result)
        pairs = zip(sent.units, results, strict=True)
        return [(sent.job, u, r) for u, r in pairs if r.error is None and not u.days & spoiled]

    def _lose(self, report: PartitionReport, failure: TailraceError) -> None:
        """Without its JVM a partition gets no further; what has been committed stays."""
        if all(trouble.code != failure.code for trouble in report.troubles):
            message = f"{failure.message}; the next run collects what was not committed"
            report.troubles.append(Trouble(report.name, message, failure.code, failure.hint))

    def _roll_back(self, report: PartitionReport, unit: Unit, result: UnitResult) -> None:
        day = next(iter(unit.days))
        what = f"day {day}" if day else "this run"
        message = f"{result.error}; {what} was rolled back and is tried again by the next run"
        report.troubles.append(Trouble(report.name, message, "collect.rolled-back", result.hint))

    def _publish(self, active: _Active, done: list[Done]) -> None:
        try:
            active.publisher.publish(done)
        except OSError as error:
            message = f"{error.strerror or one_line(error)}: the commit was not made"
            active.report.troubles.append(Trouble(active.report.name, message, "lake.io"))
        except Exception as error:
            active.report.error = active.report.error or _failure(error)

    def _end(self, active: _Active) -> None:
        with active.held:
            try:
                if not active.may_write:
                    active.publisher.conclude()
                active.publisher.writer.finish(may_write=active.may_write)
            except OSError as error:
                message = f"cannot clear away temporary files: {error.strerror or one_line(error)}"
                active.report.troubles.append(Trouble(active.report.name, message, "lake.io"))
            except Exception as error:
                active.report.error = active.report.error or _failure(error)
        active.report.seconds = time.monotonic() - active.began


def _failure(error: Exception) -> TailraceError:
    """What ends one partition and lets the others go on."""
    if isinstance(error, TailraceError):
        return error
    if isinstance(error, OSError):
        return LakeError(error.strerror or one_line(error), code="lake.io", where=error.filename)
    message = f"{type(error).__name__}: {one_line(error)}".split(": 0: ")[0]
    unexpected = TailraceError(
        message, code="collect.unexpected", hint="this should not happen; -vv shows where it did"
    )
    unexpected.__cause__ = error
    return unexpected
