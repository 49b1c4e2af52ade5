"""`tailrace compact`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_partitions
from tailrace.cli.options import Context, everywhere, report_option

if TYPE_CHECKING:
    from tailrace.cli.compact_plans import Plans
    from tailrace.cli.compacting import Compacted
    from tailrace.cli.listing import Row
    from tailrace.lake.compaction import CompactionPlan
    from tailrace.lake.paths import Lake
    from tailrace.pipeline.compact_report import CompactionReport

PLANNED = ("partition", "days", "files", "size", "rows", "first", "last")
DONE = ("partition", "days", "files", "into", "size_before", "size", "left")


@click.command("compact")
@click.argument("names", metavar="[SEL]...", nargs=-1, shell_complete=complete_partitions)
@click.option("--from", "start", metavar="TIME", help="Only days at or after this time (2024-01-31, T-7d …).")
@click.option("--to", "end", metavar="TIME", help="Only days before this time.")
@click.option("--reindex", is_flag=True, help="Give all rows the tp_index that the configuration says now.")
@click.option("--dry-run", is_flag=True, help="Show what would be merged, and change nothing.")
@report_option
@click.option("--progress/--no-progress", default=None, help="Live progress; by default on a terminal only.")
@everywhere
def command(
    context: Context,
    names: tuple[str, ...],
    start: str | None,
    end: str | None,
    reindex: bool,
    dry_run: bool,
    output: str,
    progress: bool | None,
) -> None:
    """Merge small files of the lake into large ones, sorted by time.

    SEL is a table, table.partition or a partition's name, with wildcards, configured or not; without any, all are
    looked at. Rows stay as they are; with --reindex, which takes configured partitions, only their tp_index changes.
    Queries and collections go on meanwhile; a day that changes under way is left for the next run. `partition history`
    shows each commit, and versions before it can be restored.

    Exit codes: 0 all well, 3 configuration, 5 something could not be read or written, 6 held by another process,
    130 interrupted.
    """
    from tailrace.cli.compact_plans import plans_for, reindexing_plans
    from tailrace.cli.settings import now, open_lake
    from tailrace.core import TimeRange, parse_time

    moment = now()
    window = TimeRange(*(None if t is None else parse_time(t, moment) for t in (start, end)))
    if reindex:
        lake, found = reindexing_plans(context, names, window)
    else:
        lake = open_lake(context)
        found = plans_for(lake, names, window)
    if dry_run:
        from tailrace.cli.listing import show_rows

        if found.plans or output == "json":
            show_rows(planned(found.plans, reindex=reindex), (*PLANNED, "unsure") if reindex else PLANNED, output)
        if not context.quiet:
            _note(found, reindex, is_nothing=not found.plans and not found.problems)
        sys.exit(max((problem.exit_code for problem in found.problems), default=0))
    visible = progress if progress is not None else sys.stderr.isatty() and not context.quiet
    done = compacted(context, lake, found.plans, visible)
    done.problems = found.problems
    _tell(done, found, output, context, reindex=reindex)
    sys.exit(leave_with(done))


def planned(plans: list[CompactionPlan], *, reindex: bool = False) -> list[Row]:
    """A row per partition, before anything is done; with `reindex`, apart the days that only their files tell of."""
    rows: list[Row] = []
    for plan in plans:
        for partition, merges in plan.by_partition().items():
            certain = [merge for merge in merges if merge.is_certain]
            days = sorted({merge.day for merge in certain})
            row: Row = {
                "partition": f"{plan.table}.{partition}",
                "days": len(days),
                "files": sum(len(merge.files) for merge in certain),
                "size": sum(merge.bytes for merge in certain),
                "rows": sum(merge.rows for merge in certain),
                "first": days[0] if days else None,
                "last": days[-1] if days else None,
            }
            if reindex:
                row["unsure"] = len({merge.day for merge in merges}.difference(days))
            rows.append(row)
    return rows


def compacted(context: Context, lake: Lake, plans: list[CompactionPlan], visible: bool) -> Compacted:
    """Does what is planned; where nothing is, what compactions that died have left is cleared away."""
    from tailrace.cli.compacting import Compacted, compact, shown_compaction

    if not plans:
        from tailrace.lake.compacting import clear_up

        clear_up(lake, "tailrace compact")
        return Compacted()
    from tailrace.cli.interrupts import Interrupts
    from tailrace.cli.lazy_session import SessionOnDemand
    from tailrace.cli.settings import session_options
    from tailrace.pipeline.hands import Hands

    hands = Hands()
    with Interrupts() as interrupts, SessionOnDemand(session_options(context)) as session:
        with shown_compaction(visible, context) as progress:
            done = compact(lake, plans, session, hands, interrupts, progress)
        hands.dismiss()
    return done


def leave_with(done: Compacted) -> int:
    """The exit code; where a job has not come back, the process ends here."""
    from tailrace.cli.interrupts import EXIT_CODE, leave

    if done.hangs:
        leave()
    return EXIT_CODE if done.interrupted else done.exit_code


def _note(found: Plans, reindex: bool, *, is_nothing: bool) -> None:
    """Beside the table, or in its place."""
    from tailrace.cli.summary import count

    if is_nothing:
        where = "in the workspace " if found.in_tiers else ""
        why = f"all rows {where}have their tp_index" if reindex else "no day has two small files"
        click.echo(f"nothing to do: {why}", err=True)
    for name, days in found.in_tiers.items():
        told = "rests in a tier and keeps its" if days == 1 else "rest in tiers and keep their"
        click.echo(f"{name}: {count(days, 'day')} {told} tp_index", err=True)


def _tell(done: Compacted, found: Plans, output: str, context: Context, *, reindex: bool) -> None:
    from tailrace.cli.listing import as_json, show_rows
    from tailrace.cli.redact import redacted
    from tailrace.cli.summary import print_troubles

    if output == "json":
        told: Row = {"interrupted": done.interrupted, "partitions": [report.as_dict() for report in done.reports]}
        if reindex:
            told["in_tiers"] = dict(found.in_tiers)
        click.echo(redacted(as_json(told, indent=2)))
        return
    if not context.quiet:
        _note(found, reindex, is_nothing=not done.reports and not done.problems)
    if done.reports and not context.quiet:
        show_rows([_row(report) for report in done.reports], DONE, output)
    for report in done.reports:
        print_troubles(report)
    if done.interrupted:
        click.echo("interrupted; what is counted here is committed, the next run does the rest", err=True)


def _row(report: CompactionReport) -> Row:
    return {
        "partition": report.name,
        "days": len(report.days),
        "files": report.files_before,
        "into": report.files_after,
        "size_before": report.bytes_before,
        "size": report.bytes_after,
        "left": report.left_files,
    }
