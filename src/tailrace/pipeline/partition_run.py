"""One partition in one run: its lock, its listing, its jobs in their order, its commits."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date

from tailrace.config.model import Config, PartitionSpec
from tailrace.core import LakeError, TailraceError, TimeRange
from tailrace.core.arrow import arrow_schema
from tailrace.core.errors import one_line
from tailrace.lake.commit import PartitionWriter
from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake
from tailrace.lake.runs import new_run_id
from tailrace.pipeline.failure import JVM_DIED, spark_failure
from tailrace.pipeline.hands import Ended
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.plan import by_day, plan_groups
from tailrace.pipeline.prepare import Survey, all_again, range_notes, still_to_read, survey
from tailrace.pipeline.publish import Done, Publisher
from tailrace.pipeline.report import PartitionReport, Trouble

EVERYTHING = TimeRange()


@dataclass(frozen=True, slots=True)
class CollectOptions:
    """What one `collect` is asked to do."""

    window: TimeRange = EVERYTHING
    command: str = "tailrace collect"
    cores: int = 2
    overwrite: bool = False
    "The rows of the window are replaced, whatever was collected before."


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
        self.out = 0
        "Jobs that have not come back."
        self.numbers = 0
        "Units so far: their numbers name files."
        self.may_write = False
        "Tasks failed or were given up: others of their jobs, or ones that Spark takes for dead, may go on for a while."

    def lock(self) -> None:
        """From here to `end` nobody else changes the partition."""
        self.held.enter_context(partition_lock(self.lake, self.spec.table, self.spec.name, self.options.command))

    def look(self) -> Survey:
        """What the sources hold."""
        asked, overwrite = self.options.window, self.options.overwrite
        return survey(self.config, self.lake, self.spec, asked, self.report, overwrite=overwrite, until=self.held)

    def plan(self, found: Survey) -> None:
        """Clears up after earlier runs and makes `ready` what is still to be read."""
        asked, overwrite = self.options.window, self.options.overwrite
        run = new_run_id()
        writer = PartitionWriter(self.lake, found.table.name, self.spec.name, run, arrow_schema(found.table))
        writer.recover()
        notes = range_notes(found.window, found.ledger)
        cut = asked if overwrite else None
        self.publisher = Publisher(self.spec, writer, self.report, notes, found.listed, cut)
        artifacts, known = found.listed.artifacts, self.publisher.known
        if overwrite:
            wanted = all_again(artifacts, known, asked)
        else:
            wanted = still_to_read(artifacts, known, asked, found.recipes)
        for rows, items in wanted.items():
            job = self._job(found, run, rows)
            self.report.wanted += len(items)
            self.report.wanted_bytes += sum(w.artifact.size for w in items)
            for group in plan_groups(items, self.options.cores, self.numbers):
                self.numbers += len(group.units)
                self.ready.append(Errand(self, job, group.units))
        self.report.unchanged = self.report.discovered - self.report.wanted
        self.publisher.pass_over(artifacts, wanted.values())

    def _job(self, found: Survey, run: str, rows: TimeRange) -> Job:
        table, spec = found.table, self.spec
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

    @property
    def is_over(self) -> bool:
        return not self.out and not self.ready

    def take(self, ended: Iterable[Ended]) -> None:
        """Jobs that have come back: what they have whole goes into one commit."""
        done = [whole for each in ended for whole in self._whole_days(each)]
        assert self.publisher is not None
        try:
            self.publisher.publish(done)
        except OSError as error:
            message = f"{error.strerror or one_line(error)}: the commit was not made"
            self.report.troubles.append(Trouble(self.report.name, message, "lake.io"))
        except Exception as error:
            self.fail(error)

    def _whole_days(self, ended: Ended) -> list[Done]:
        """Results whose days have come through; a unit of several days that failed is tried day by day."""
        errand: Errand = ended.what
        self.out -= 1
        results: list[UnitResult] = ended.result or []
        if ended.error is not None:
            if isinstance(ended.error, TailraceError) or not isinstance(ended.error, Exception):
                raise ended.error
            self.may_write = True
            failure = spark_failure(ended.error)
            if failure.code == JVM_DIED:
                self._lose(failure)
                return []
            results = [UnitResult(u.number, error=failure.message, hint=failure.hint) for u in errand.units]
        self.may_write |= any(result.retried for result in results)
        spoiled: set[date | None] = set()
        for unit, result in zip(errand.units, results, strict=True):
            if result.error is None:
                continue
            if len(unit.days) > 1:
                again = by_day(unit, self.numbers)
                self.numbers += len(again)
                self.ready.append(Errand(self, errand.job, tuple(again)))
            else:
                spoiled |= unit.days
                self._roll_back(unit, result)
        pairs = zip(errand.units, results, strict=True)
        return [(errand.job, u, r) for u, r in pairs if r.error is None and not u.days & spoiled]

    def _lose(self, failure: TailraceError) -> None:
        """Without its JVM a partition gets no further; what has been committed stays."""
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
        self.report.error = self.report.error or _failure(error)

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


def _failure(error: Exception) -> TailraceError:
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
