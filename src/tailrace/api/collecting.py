"""Collections from Python: what they tell, and what becomes of those that fail or are interrupted."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tailrace.api.html import table
from tailrace.cli.carrying_out import PATIENCE
from tailrace.core.errors import TailraceError

if TYPE_CHECKING:
    from tailrace.api.session import Session
    from tailrace.cli.collecting import Order, Plan
    from tailrace.cli.options import Context
    from tailrace.pipeline.report import PartitionReport, Progress

_SHOWN = ("partition", "artifacts", "received", "stored", "quarantined", "files", "days", "seconds")


class Reports(list["PartitionReport"]):
    """What became of each partition; a table in a notebook."""

    def _repr_html_(self) -> str:
        return table(_SHOWN, map(_facts, self))


class CollectError(TailraceError):
    """Something could not be read or stored; all the rest was. `reports` tells about every partition."""

    exit_code = 5
    code = "collect"

    def __init__(self, message: str, reports: Iterable[PartitionReport] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reports = Reports(reports)

    def __reduce__(self) -> tuple[object, ...]:
        return (CollectError, (self.message, list(self.reports), self.hint))


def collect(order: Order, context: Context, session: Session, show: bool | None) -> Reports:
    """Collects what is ordered; raises in the end if some of it failed."""
    from tailrace.cli.collecting import plan_for
    from tailrace.cli.progress import shown_progress
    from tailrace.cli.summary import note_nothing_found

    plan = plan_for(order, context)
    with shown_progress(sys.stderr.isatty() if show is None else show, context) as progress:
        reports = _run(plan, session, progress)
    note_nothing_found(reports, plan.specs)
    for report in reports:
        for advice in report.advice:
            warnings.warn(f"{report.name}: {advice.where}: {advice.message}", stacklevel=3)
    failures = [words for report in reports for words in _failures(report)]
    if failures:
        message = f"{failures[0]}" if len(failures) == 1 else f"{failures[0]}, and {len(failures) - 1} more"
        raise CollectError(message, reports, "what is well is stored; `reports` of this error tells all")
    return reports


def _run(plan: Plan, session: Session, progress: Progress) -> Reports:
    from tailrace.pipeline.collect import Collection
    from tailrace.pipeline.cores import session_cores
    from tailrace.pipeline.hands import Hands
    from tailrace.pipeline.partition_run import CollectOptions

    spark, hands = session.get(), Hands()

    def cores() -> int:
        return session_cores(lambda: spark)

    options = CollectOptions(plan.window, "Lake.collect", cores, plan.overwrite, plan.source, progress.notes)
    collection = Collection(plan.lake, plan.config, options, lambda: spark, progress, hands)
    try:
        collection.collect(plan.specs)
    except BaseException:  # Ctrl-C, or the button that stops a cell
        session.stop(PATIENCE)
        collection.abandon(PATIENCE)
        raise
    finally:
        hands.dismiss()
    return Reports(collection.reports)


def _failures(report: PartitionReport) -> Iterator[str]:
    if report.error is not None:
        yield f"{report.name}: {report.error}"
    yield from (f"{report.name}: {trouble.where}: {trouble.message}" for trouble in report.troubles)


def _facts(report: PartitionReport) -> tuple[object, ...]:
    counts = report.counts
    return (
        report.name,
        f"{report.done - report.failed - report.kept:,} of {report.discovered:,}",
        counts.received,
        counts.stored,
        counts.quarantined,
        report.files,
        report.days,
        round(report.seconds, 1),
    )
