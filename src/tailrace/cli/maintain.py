"""`tailrace maintain`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_partitions
from tailrace.cli.options import Context, everywhere, report_option

if TYPE_CHECKING:
    from tailrace.cli.compacting import Compacted
    from tailrace.cli.listing import Row
    from tailrace.cli.upkeep import Upkeep
    from tailrace.lake.compaction import CompactionPlan
    from tailrace.lake.paths import Lake
    from tailrace.lake.upkeep import Chore
    from tailrace.pipeline.compact_report import CompactionReport

COLUMNS = ("action", "name", "days", "rows", "files", "size", "first", "last", "to")


@click.command("maintain")
@click.argument("names", metavar="[SEL]...", nargs=-1, shell_complete=complete_partitions)
@click.option("--dry-run", is_flag=True, help="Show what is due, and change nothing.")
@click.option("--compact/--no-compact", default=True, help="Merge small files as well, where it pays (yes).")
@report_option
@click.option("--progress/--no-progress", default=None, help="Live progress; by default on a terminal only.")
@everywhere
def command(
    context: Context, names: tuple[str, ...], dry_run: bool, compact: bool, output: str, progress: bool | None
) -> None:
    """Do what is due in the lake.

    Rows past the `retention` of their partition, table, store or workspace expire, and quarantined records of that age
    with them. Small files are merged where it pays, and days move to the tier that they belong to. Files that no
    version needs which can still be restored are deleted, and Delta logs get a checkpoint. SEL is a table,
    table.partition or a partition's name, with wildcards, configured or not; without any, all are looked at. `collect`
    does the same for what it has collected, once a day and without merging.

    Exit codes: 0 all well, 5 something could not be read or written, 6 held by another process, 130 interrupted.
    """
    from tailrace.cli.settings import load_config, now, open_lake
    from tailrace.cli.upkeep import Upkeep

    config = load_config(context)
    upkeep = Upkeep(open_lake(context, config), config, now())
    chosen = _chosen(upkeep.lake, names)
    if not dry_run:
        upkeep.relink({table for table, _ in chosen})
    upkeep.look(chosen)
    if dry_run:
        rows = [*map(_row, upkeep.due), *_to_merge(_plans(upkeep.lake, chosen) if compact else [])]
        _tell(context, upkeep, rows, output)
        sys.exit(upkeep.exit_code)
    upkeep.carry_out("expire", "purge")
    visible = progress if progress is not None else sys.stderr.isatty() and not context.quiet
    merged = _compacted(context, upkeep.lake, chosen, visible) if compact else None
    if merged is None or not merged.interrupted:
        upkeep.carry_out("move", "vacuum", "checkpoint")
    _tell(context, upkeep, [*map(_row, upkeep.done), *_merged(merged)], output, merged)
    sys.exit(_exit_code(upkeep, merged))


def _chosen(lake: Lake, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Table and partition of what is meant: all that was ever collected, also where no row is left."""
    from tailrace.cli.matching import listed
    from tailrace.lake.intents import partitions
    from tailrace.lake.table import exists

    known = {f"{t}.{p}": (t, p) for t, p in partitions(lake) if exists(lake.table_root(t))}
    return [known[name] for name in listed("partition", names, sorted(known))]


def _plans(lake: Lake, chosen: list[tuple[str, str]]) -> list[CompactionPlan]:
    from tailrace.cli.holdings import holdings
    from tailrace.lake.compaction import PAYING, plan_compaction

    held = holdings(lake, {table for table, _ in chosen})
    plans = [
        plan_compaction(holding.snapshot, [partition for owner, partition in chosen if owner == table], rule=PAYING)
        for table, holding in sorted(held.items())
        if holding.snapshot is not None
    ]
    return [plan for plan in plans if plan.merges]


def _compacted(context: Context, lake: Lake, chosen: list[tuple[str, str]], visible: bool) -> Compacted:
    from tailrace.cli.compact import compacted

    return compacted(context, lake, _plans(lake, chosen), visible)


def _row(chore: Chore) -> Row:
    facts = {"days": chore.days, "rows": chore.rows, "files": chore.files, "size": chore.bytes}
    return {
        "action": chore.action,
        "name": chore.name,
        **{name: number or None for name, number in facts.items()},
        "first": chore.first,
        "last": chore.last,
        "to": chore.to,
    }


def _to_merge(plans: list[CompactionPlan]) -> list[Row]:
    from tailrace.cli.compact import planned

    return [{"action": "compact", "name": row.pop("partition"), **row} for row in planned(plans)]


def _merged(done: Compacted | None) -> list[Row]:
    return [_merge(report) for report in done.reports] if done else []


def _merge(report: CompactionReport) -> Row:
    days = sorted(report.days)
    return {
        "action": "compact",
        "name": report.name,
        "days": len(days),
        "rows": report.rows,
        "files": report.files_before,
        "size": report.bytes_before,
        "first": days[0] if days else None,
        "last": days[-1] if days else None,
        "into": report.files_after,
    }


def _tell(context: Context, upkeep: Upkeep, rows: list[Row], output: str, merged: Compacted | None = None) -> None:
    from tailrace.cli.hints import hint_of
    from tailrace.cli.listing import as_json, show_rows
    from tailrace.cli.redact import redacted
    from tailrace.cli.summary import print_troubles

    if output == "json":
        troubles = [
            {"name": name, "code": e.code, "message": str(e), "hint": hint_of(e)} for name, e in upkeep.troubles
        ]
        reports = merged.reports if merged else []
        troubles += [
            {"name": report.name, "code": t.code, "message": t.message, "hint": t.hint}
            for report in reports
            for t in report.troubles
        ]
        click.echo(redacted(as_json({"chores": rows, "troubles": troubles}, indent=2)))
        return
    if rows and not context.quiet:
        show_rows(rows, COLUMNS, output)
    elif not context.quiet and not upkeep.troubles:
        click.echo("nothing is due", err=True)
    upkeep.tell_troubles()
    for report in merged.reports if merged else ():
        print_troubles(report)


def _exit_code(upkeep: Upkeep, merged: Compacted | None) -> int:
    from tailrace.cli.compact import leave_with

    code = leave_with(merged) if merged else 0
    return code or upkeep.exit_code
