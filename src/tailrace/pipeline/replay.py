"""`quarantine replay`: refused records are decoded again as the configuration says today; what fits moves to the table.

Records are decoded from the bytes that were kept of them. Those that say too little by themselves, and artifacts that
failed as a whole, are read from their source again, and all rows of such an artifact are replaced. One commit does it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from tailrace.config.model import Config, PartitionSpec
from tailrace.config.tables import tables_for
from tailrace.core import Artifact, LakeError, Table, TimeRange
from tailrace.core.arrow import arrow_schema
from tailrace.core.errors import DataError
from tailrace.formats.again import framing
from tailrace.lake.commit import PartitionWriter
from tailrace.lake.intents import read_ledger
from tailrace.lake.ledger import Entry, Ledger, keys
from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake
from tailrace.lake.place import Place
from tailrace.lake.quarantine import Page, pages
from tailrace.lake.removal import entries_of
from tailrace.lake.runs import new_run_id
from tailrace.lake.sought import Sought
from tailrace.lake.steps import reached
from tailrace.pipeline.absent import without_deleted
from tailrace.pipeline.check import check_expressions
from tailrace.pipeline.days import Done
from tailrace.pipeline.failure import partition_failure, spark_failure
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.listing import Listed, list_sources
from tailrace.pipeline.plan import Wanted, plan_groups
from tailrace.pipeline.prepare import full_table, job_of, whole
from tailrace.pipeline.recognise import Recognition
from tailrace.pipeline.replay_change import Replayed
from tailrace.pipeline.replay_plan import Choice, Facts, Framings, Rewriting, facts_of, window_of
from tailrace.pipeline.report import PartitionReport, ReplayReport, Trouble
from tailrace.pipeline.spark import run_units
from tailrace.pipeline.unit import run_unit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What one `replay` is asked to do."""

    sought: Sought = field(default_factory=Sought)
    command: str = "tailrace quarantine replay"
    cores: Callable[[], int] = lambda: 2
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class _Plan:
    ledger: Ledger
    table: Table
    listed: Listed
    choice: Choice
    framings: Framings
    known: dict[str, Entry]


class Replay:
    """One partition. `session` is called only if there is much to do."""

    def __init__(
        self,
        lake: Lake,
        config: Config,
        spec: PartitionSpec,
        options: ReplayOptions,
        session: Callable[[], SparkSession],
    ) -> None:
        self.lake, self.config, self.spec, self.options, self.session = lake, config, spec, options, session
        self.report = ReplayReport(spec.full_name)
        self.declared = tables_for(config, spec.table)
        self.now = datetime.now(UTC).replace(tzinfo=None)

    def run(self) -> ReplayReport:
        """Tries the records, and commits unless it is a dry run."""
        began = time.monotonic()
        try:
            if self.options.dry_run:
                self._look()
            else:
                with partition_lock(self.lake, self.spec.table, self.spec.name, self.options.command):
                    self._replay()
        except Exception as error:
            self.report.error = partition_failure(error, self.report.name)
        self.report.seconds = time.monotonic() - began
        return self.report

    def _look(self) -> None:
        """The same work into a directory of its own, which goes when it has been counted."""
        plan = self._plan()
        if plan is None:
            return
        run = new_run_id()
        scratch = self.lake.meta("replay", self.declared.name, self.spec.name) / run
        try:
            rewriting = self._rewriting(plan)
            roots = {"table_root": scratch / "data", "quarantine_root": scratch / "quarantine"}
            alone, again = self._work(plan, rewriting, run, roots)
            Replayed(self.spec, plan.known, rewriting.tried, self.report).count(alone, again, plan.choice)
        finally:
            scratch.clear()

    def _replay(self) -> None:
        plan = self._plan()
        if plan is None or not plan.choice:
            return
        run = new_run_id()
        writer = PartitionWriter(self.lake, plan.table.name, self.spec.name, run, arrow_schema(plan.table))
        writer.recover()
        try:
            self._check_unchanged(plan.ledger, writer.ledger())
            rewriting = self._rewriting(plan)
            alone, again = self._work(plan, rewriting, run, {"noted": writer.noted})
            reached("replayed")
            replayed = Replayed(self.spec, plan.known, rewriting.tried, self.report)
            change = replayed.change(writer, alone, again, rewriting.lifted)
            duplicates = writer.commit(change).duplicates if change is not None else {}
            replayed.count(alone, again, plan.choice, sum(duplicates.values()))
        except BaseException:
            writer.finish(may_write=True)  # tasks of Spark may outlive what ended this
            raise
        writer.finish()

    def _check_unchanged(self, planned: Ledger, now: Ledger) -> None:
        same = planned.quarantine == now.quarantine and planned.notes == now.notes
        if not same or not planned.entries.equals(now.entries):
            raise LakeError(
                f"another process has changed partition {self.spec.full_name} under this run",
                code="lake.lost-race",
                where=str(self.lake.table_root(self.declared.name)),
                hint="run the command again; every row that was stored is stored once",
            )

    # What is to be done

    def _plan(self) -> _Plan | None:
        """None when no record is meant."""
        ledger = read_ledger(self.lake, self.declared.name, self.spec.name)
        numbers = self._source_numbers(ledger)
        formats = tuple(source.format or self.declared.format for source in self.spec.sources)
        framings = Framings({uri: framing(formats[n]) for uri, n in numbers.items() if n is not None})
        facts = facts_of(self._pages(ledger), self.options.sought, framings)
        known = {entry.key: entry for entry in entries_of(ledger, facts)}
        if not known:
            return None
        listed = self._listed(facts, Listed((), formats, (), {}), ledger)
        table = full_table(self.config, self.spec, self.lake, listed)
        check_expressions(table, self.spec, self.config)
        choice = Choice.of(table, self.spec, listed, facts, known, numbers, self.report)
        return _Plan(ledger, table, listed, choice, framings, known)

    def _source_numbers(self, ledger: Ledger) -> dict[str, int | None]:
        """By key: which of today's sources it is of; None: its source is no longer configured."""
        names = [source.name for source in self.spec.sources]
        only = 0 if len(names) == 1 else None
        found = zip(keys(ledger.entries).to_pylist(), ledger.entries.column("source").to_pylist(), strict=True)
        return {key: names.index(source) if source in names else only for key, source in found}

    def _listed(self, facts: dict[str, Facts], nothing: Listed, ledger: Ledger) -> Listed:
        """What the sources hold now, if that has to be known: to read artifacts again, or to learn columns."""
        wanted = [f for f in facts.values() if f.apart] or ([*facts.values()] if self.declared.map_fields else [])
        if not wanted:
            return nothing
        told = PartitionReport(self.spec.full_name)
        window = window_of(f.artifact for f in wanted)
        listed = list_sources(self.spec, self.declared, window, told, self.lake)
        self.report.troubles += [*told.troubles, *(trouble for _, trouble in listed.hidden)]
        found = Recognition(listed.sources, listed.formats, ledger.files(), self.now).recognise(listed.artifacts)
        return replace(listed, artifacts=tuple(map(whole, found.artifacts)))

    def _pages(self, ledger: Ledger) -> Iterator[Page]:
        return pages(self.lake, self.declared.name, self.spec.name, ledger)

    # Doing it

    def _rewriting(self, plan: _Plan) -> Rewriting:
        return Rewriting(self.options.sought, plan.framings, plan.choice.alone)

    def _work(
        self, plan: _Plan, rewriting: Rewriting, run: str, roots: dict[str, Place]
    ) -> tuple[list[Done], list[Done]]:
        """Results of records by themselves, and of artifacts read again."""
        again = self._groups(plan.choice.again)
        number = sum(len(units) for _, units in again)
        alone = [*rewriting.plan(self._pages(plan.ledger), number).items()] if plan.choice.alone else []
        few = not again and sum(len(units) for _, units in alone) <= 1

        def done(groups: list[tuple[TimeRange, list[Unit]]]) -> list[Done]:
            results: list[Done] = []
            for window, units in groups:
                job = job_of(self.lake, self.spec, plan.table, plan.listed, run, self.now, window)
                job = msgspec.structs.replace(job, **roots)
                job = without_deleted(job, self.lake, self.spec, plan.ledger.notes)
                results += [(job, *pair) for pair in zip(units, self._run(job, units, few), strict=True)]
            return results

        by_themselves = done(alone)
        for _, _, result in by_themselves:
            if result.error is not None:
                raise DataError(result.error, code="quarantine.not-replayed", hint=result.hint)
        return by_themselves, self._read(done(again))

    def _groups(self, items: list[tuple[Wanted, TimeRange]]) -> list[tuple[TimeRange, list[Unit]]]:
        by_window: dict[TimeRange, list[Wanted]] = {}
        for item, window in items:
            by_window.setdefault(window, []).append(item)
        found: list[tuple[TimeRange, list[Unit]]] = []
        number, cores = 0, self.options.cores() if items else 1
        for window, some in by_window.items():
            groups = plan_groups(some, cores, number)
            units = [unit for group in groups for unit in group.units]
            number += len(units)
            found.append((window, units))
        return found

    def _run(self, job: Job, units: list[Unit], few: bool) -> list[UnitResult]:
        if few:
            return [run_unit(job, unit) for unit in units]
        try:
            return run_units(self.session(), job, tuple(units))
        except Exception as error:
            raise spark_failure(error) from error

    def _read(self, done: list[Done]) -> list[Done]:
        """Those that came through; what did not is said, and its records stay."""
        for _, unit, result in done:
            if result.error is not None:
                first: Artifact = unit.artifacts[0]
                message = f"{result.error}; the records of {len(unit.artifacts):,} artifacts stay in the quarantine"
                self.report.troubles.append(Trouble(first.location, message, "quarantine.not-read", result.hint))
        return [one for one in done if one[2].error is None]
