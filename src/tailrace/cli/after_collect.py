"""After a collection: small files of the days that it has added to are merged, where that pays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tailrace.cli.collecting import Collected, Plan
    from tailrace.cli.interrupts import Interrupts
    from tailrace.cli.lazy_session import LazySession
    from tailrace.lake.compaction import CompactionPlan
    from tailrace.pipeline.report import PartitionReport, Trouble

HELD = ("lake.locked", "lake.lost-race", "lake.conflict")
"Somebody else is at work on the partition: there is nothing to be told, the next collection looks again."
PATIENCE = 30.0
"Seconds for which he is waited for, if it was asked for."


def compact_after(plan: Plan, collected: Collected, spark: LazySession, interrupts: Interrupts) -> None:
    """Merges what pays, or all that is small if it was asked for; each report is told what has become of it."""
    plans = list(_plans(plan, collected.reports))
    if not plans:
        return
    from tailrace.cli.compacting import compact
    from tailrace.pipeline.compact_report import Unseen

    patience = PATIENCE if plan.compacts else 0.0
    done = compact(plan.lake, plans, spark, spark.hands, interrupts, Unseen(), patience)
    by_name = {report.name: report for report in collected.reports}
    for compaction in done.reports:
        report = by_name[compaction.name]
        report.compaction = compaction
        told = list(_told(compaction.name, compaction.error, compaction.troubles))
        if plan.compacts:
            report.troubles += told
        else:
            report.advice += [trouble for trouble in told if trouble.code not in HELD]
    collected.hangs |= done.hangs


def _plans(plan: Plan, reports: Iterable[PartitionReport]) -> Iterator[CompactionPlan]:
    """By the days that files were written for; without any, nothing is looked at."""
    from tailrace.lake.compaction import EVERYTHING, PAYING, plan_compaction
    from tailrace.lake.snapshot import snapshot
    from tailrace.lake.table import exists

    whole = {report.name: report for report in reports if report.error is None}
    wanted = {name for name, report in whole.items() if plan.compacts or report.dates}
    by_table: dict[str, dict[str, PartitionReport]] = {}
    for spec in plan.specs:
        if spec.full_name in wanted:
            by_table.setdefault(spec.table, {})[spec.name] = whole[spec.full_name]
    for table, owners in by_table.items():
        if not exists(plan.lake.table_root(table)):
            continue
        found = plan_compaction(snapshot(plan.lake, table), [*owners], rule=EVERYTHING if plan.compacts else PAYING)
        if not plan.compacts:
            added = tuple(merge for merge in found.merges if merge.day in owners[merge.partition].dates)
            found = replace(found, merges=added)
        if found.merges:
            yield found


def _told(name: str, error: Exception | None, troubles: Iterable[Trouble]) -> Iterator[Trouble]:
    from tailrace.core import TailraceError
    from tailrace.pipeline.report import Trouble

    if isinstance(error, TailraceError):
        yield Trouble(name, f"its files were not merged: {error}", error.code, error.hint)
    yield from troubles
