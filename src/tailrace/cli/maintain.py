"""`tailrace maintain`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_partitions
from tailrace.cli.options import Context, report_option, without_spark

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.cli.upkeep import Upkeep
    from tailrace.lake.paths import Lake
    from tailrace.lake.upkeep import Chore

COLUMNS = ("action", "name", "days", "rows", "files", "size", "first", "last")


@click.command("maintain")
@click.argument("names", metavar="[SEL]...", nargs=-1, shell_complete=complete_partitions)
@click.option("--dry-run", is_flag=True, help="Show what is due, and change nothing.")
@report_option
@without_spark()
def command(context: Context, names: tuple[str, ...], dry_run: bool, output: str) -> None:
    """Do what is due in the lake.

    Rows past the `retention` of their partition, table, store or workspace expire, and quarantined records of that age
    with them. Files that no version needs which can still be restored are deleted, and Delta logs get a checkpoint. SEL
    is a table, table.partition or a partition's name, with wildcards, configured or not; without any, all are looked
    at. `collect` does the same for what it has collected, once a day.

    Exit codes: 0 all well, 5 something could not be read or written, 6 held by another process.
    """
    from tailrace.cli.settings import load_config, now, open_lake
    from tailrace.cli.upkeep import Upkeep

    config = load_config(context)
    upkeep = Upkeep(open_lake(context, config), config, now())
    upkeep.look(_chosen(upkeep.lake, names))
    if not dry_run:
        upkeep.carry_out("expire", "purge", "vacuum", "checkpoint")
    _tell(context, upkeep, [*map(_row, upkeep.due if dry_run else upkeep.done)], output)
    sys.exit(upkeep.exit_code)


def _chosen(lake: Lake, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Table and partition of what is meant: all that was ever collected, also where no row is left."""
    from tailrace.cli.matching import listed
    from tailrace.lake.intents import partitions
    from tailrace.lake.table import exists

    known = {f"{t}.{p}": (t, p) for t, p in partitions(lake) if exists(lake.table_root(t))}
    return [known[name] for name in listed("partition", names, sorted(known))]


def _row(chore: Chore) -> Row:
    facts = {"days": chore.days, "rows": chore.rows, "files": chore.files, "size": chore.bytes}
    return {
        "action": chore.action,
        "name": chore.name,
        **{name: number or None for name, number in facts.items()},
        "first": chore.first,
        "last": chore.last,
    }


def _tell(context: Context, upkeep: Upkeep, rows: list[Row], output: str) -> None:
    from tailrace.cli.listing import as_json, show_rows
    from tailrace.cli.redact import redacted

    if output == "json":
        troubles = [{"name": name, "code": e.code, "message": str(e), "hint": e.hint} for name, e in upkeep.troubles]
        click.echo(redacted(as_json({"chores": rows, "troubles": troubles}, indent=2)))
        return
    if rows and not context.quiet:
        show_rows(rows, COLUMNS, output)
    elif not context.quiet:
        click.echo("nothing is due", err=True)
    upkeep.tell_troubles()
