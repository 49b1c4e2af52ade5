"""A small world in one process: configuration, lake and queries, and no JVM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tailrace.cli.choice import narrowed
from tailrace.cli.compact_plans import index_column
from tailrace.config import Config, load, select
from tailrace.config.tables import tables_for
from tailrace.core import TimeRange
from tailrace.lake.compaction import EVERYTHING, CompactionPlan, Rule, plan_compaction
from tailrace.lake.paths import Lake
from tailrace.lake.place import Place
from tailrace.lake.reindexing import plan_reindex
from tailrace.lake.snapshot import snapshot, tables
from tailrace.lake.sought import Sought
from tailrace.pipeline import collect as collecting
from tailrace.pipeline import compact as compacting
from tailrace.pipeline import replay as replaying
from tailrace.pipeline.compact_report import CompactionReport, Unseen
from tailrace.pipeline.hands import Hands
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.merging import run_merges
from tailrace.pipeline.partition_compaction import CompactOptions
from tailrace.pipeline.partition_run import CollectOptions
from tailrace.pipeline.report import PartitionReport, ReplayReport, Silent
from tailrace.pipeline.unit import run_unit
from tailrace.query.engine import Engine


@dataclass
class World:
    """A home with configuration and lake. Collects without a JVM: the tasks run in this process, one by one."""

    home: Path
    run: Callable[[Any, Job, tuple[Unit, ...]], list[UnitResult]] = field(
        default=lambda _, job, units: [run_unit(job, unit) for unit in units]
    )
    elsewhere: Place | None = None
    "Where its lake lies, if not in the home."

    @property
    def lake(self) -> Lake:
        return Lake(self.home, elsewhere=self.elsewhere)

    def config(self) -> Config:
        now = datetime.now(UTC).replace(tzinfo=None)
        return load([self.home / "config"], now=now, environ={})

    def write_config(self, text: str) -> None:
        path = self.home / "config" / "test.tpc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def collect(
        self,
        *selectors: str,
        window: TimeRange | None = None,
        overwrite: bool = False,
        source: str | None = None,
    ) -> list[PartitionReport]:
        patch = pytest.MonkeyPatch()
        patch.setattr(collecting, "run_units", self.run)
        config = self.config()
        specs = select(config, selectors)
        if source is not None:
            specs = narrowed(specs, source)
        options = CollectOptions(window or TimeRange(), overwrite=overwrite, source=source)
        hands = Hands()
        try:
            run = collecting.Collection(self.lake, config, options, lambda: None, Silent(), hands)  # type: ignore[arg-type,return-value]
            try:
                return run.collect(specs)
            except BaseException:
                run.abandon(patience=5)
                raise
        finally:
            hands.dismiss()
            patch.undo()

    def replay(self, *selectors: str, sought: Sought | None = None, dry_run: bool = False) -> list[ReplayReport]:
        """What `quarantine replay` does, without a JVM as well."""
        patch = pytest.MonkeyPatch()
        patch.setattr(replaying, "run_units", self.run)
        config = self.config()
        options = replaying.ReplayOptions(sought or Sought(), dry_run=dry_run)
        session: Any = lambda: None  # noqa: E731
        try:
            specs = select(config, selectors)
            return [replaying.Replay(self.lake, config, spec, options, session).run() for spec in specs]
        finally:
            patch.undo()

    def compact(self, *partitions: str, rule: Rule = EVERYTHING, **options: Any) -> list[CompactionReport]:
        """What `compact` does, without a JVM as well."""
        found = [snapshot(self.lake, table) for table in tables(self.lake)]
        return self._compact([plan_compaction(seen, partitions or None, rule=rule) for seen in found], options)

    def reindex(self, **options: Any) -> list[CompactionReport]:
        """What `compact --reindex` does."""
        return self._compact([plan for plan in self.plans_to_reindex() if plan.merges], options)

    def plans_to_reindex(self) -> list[CompactionPlan]:
        specs = self.config().partitions
        found = [snapshot(self.lake, table) for table in tables(self.lake)]
        return [
            plan_reindex(seen, {s.name: index_column(s, seen.schema) for s in specs if s.table == seen.table})
            for seen in found
        ]

    def _compact(self, plans: list[CompactionPlan], options: dict[str, Any]) -> list[CompactionReport]:
        session: Any = lambda: None  # noqa: E731
        patch = pytest.MonkeyPatch()
        patch.setattr(
            compacting, "run_merges", lambda _, tasks: [[run_merges(unit) for unit in task] for task in tasks]
        )
        hands = Hands()
        run = compacting.Compaction(self.lake, CompactOptions(**options), session, Unseen(), hands)
        try:
            return run.compact(plans)
        except BaseException:
            run.abandon(patience=5)
            raise
        finally:
            hands.dismiss()
            patch.undo()

    def collect_one(self, table: str, paths: str, **more: str) -> PartitionReport:
        """One partition `p` of a table over some paths; `more` are further lines of the source block."""
        extra = "\n".join(f"{name} = {value}" for name, value in more.items())
        self.write_config(f'partition "{table}" "p" {{\n source "file" {{\n paths = ["{paths}"]\n{extra}\n}}\n}}')
        (report,) = self.collect()
        return report

    def summary(self, *selectors: str, window: TimeRange | None = None) -> dict[str, Any]:
        """What a collection tells as JSON, by partition: as the command does, without its JVM."""
        return {report.name: report.as_dict() for report in self.collect(*selectors, window=window)}

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        config = self.config()
        names = [spec.name for spec in config.tables]
        engine = Engine(self.lake, lambda: {name: tables_for(config, name) for name in names})
        rows: list[tuple[Any, ...]] = []
        for result in engine.run(sql):
            rows = list(result.rows)
        return rows
