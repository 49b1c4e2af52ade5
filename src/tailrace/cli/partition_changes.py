"""`tailrace partition delete|history|restore`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_partitions
from tailrace.cli.options import Context, output_option, without_spark

if TYPE_CHECKING:
    from datetime import datetime

    from tailrace.cli.listing import Row
    from tailrace.core import TimeRange
    from tailrace.lake.paths import Lake

DOOMED = ("name", "rows", "files", "days", "first", "last")
DONE = ("name", "rows", "undo")
HISTORY = ("version", "at", "change", "artifacts", "files", "added", "removed")
_SEL = click.argument("names", metavar="SEL...", nargs=-1, required=True, shell_complete=complete_partitions)


@click.command("delete")
@_SEL
@click.option("--from", "start", metavar="TIME", help="Only rows at or after this time (2024-01-31, T-7d …).")
@click.option("--to", "end", metavar="TIME", help="Only rows before this time.")
@click.option("--force", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@output_option
@without_spark()
def delete(
    context: Context,
    names: tuple[str, ...],
    start: str | None,
    end: str | None,
    force: bool,
    dry_run: bool,
    output: str,
) -> None:
    """Delete rows of partitions, configured or orphaned.

    With a range, its rows go and stay away: whatever is read again, nothing of the range is stored until
    `collect --overwrite` reads it, or a part of it. Without a range all rows go and the next collection begins anew.
    `partition restore` undoes either until the files are removed for good.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.cli.settings import now, open_lake
    from tailrace.core import TimeRange, parse_time

    moment = now()
    window = TimeRange(*(None if t is None else parse_time(t, moment) for t in (start, end)))
    lake = open_lake(context)
    doomed = [_doomed(lake, name, window) for name in _matching(lake, names)]
    if dry_run:
        show_rows(doomed, DOOMED, output)
        return
    confirm([_told(row) for row in doomed], force)
    show_rows([_deleted(context, lake, str(row["name"]), window) for row in doomed], DONE, output)


def _matching(lake: Lake, names: tuple[str, ...]) -> list[str]:
    """Partitions that have rows or were collected once."""
    from tailrace.cli.holdings import holdings
    from tailrace.cli.matching import listed

    known = {f"{table}.{extent.partition}" for table, held in holdings(lake).items() for extent in held.partitions}
    return listed("partition", names, sorted(known))


def _doomed(lake: Lake, name: str, window: TimeRange) -> Row:
    """What would go: the log tells it of whole days, and the rows themselves of days that the range cuts."""
    import pyarrow.compute as pc

    from tailrace.lake.rewrite import rows_inside
    from tailrace.lake.snapshot import snapshot

    table, _, partition = name.partition(".")
    version = snapshot(lake, table)
    files = version.files.filter(pc.equal(version.files.column("tp_partition"), partition))
    going = {
        (day, path): rows if window.covers(day) else rows_inside(version.root, path, window)
        for day, path, rows in zip(*(files.column(c).to_pylist() for c in ("tp_date", "path", "rows")), strict=True)
        if window.touches(day)
    }
    days = sorted({day for (day, _), rows in going.items() if rows})
    return {
        "name": name,
        "rows": sum(going.values()),
        "files": sum(rows > 0 for rows in going.values()),
        "days": len(days),
        "first": days[0] if days else None,
        "last": days[-1] if days else None,
    }


def _told(row: Row) -> str:
    what = f"{row['rows']:,} rows in {row['days']:,} days" if row["days"] else "nothing"
    span = f", {row['first']} to {row['last']}" if row["days"] else ""
    return f"{row['name']}: {what}{span}"


def confirm(doomed: Sequence[str], force: bool) -> None:
    """Says what would go, and asks whoever sits there."""
    from tailrace.core import UsageError

    if force:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            "deleting needs a yes, and there is nobody to ask",
            code="usage.not-confirmed",
            hint="--force deletes without asking, --dry-run shows what would go",
        )
    for line in doomed:
        click.echo(line, err=True)
    click.confirm("Delete?", abort=True, err=True)


def _deleted(context: Context, lake: Lake, name: str, window: TimeRange) -> Row:
    from tailrace.lake.undo import erase

    table, _, partition = name.partition(".")
    before = _rows(lake, name)
    with held(lake, table, partition):
        version = erase(lake, table, partition, window)
    undo = f"{context.command} partition restore {name} --at {version}"
    return {"name": name, "rows": before - _rows(lake, name), "version": version, "undo": undo}


@contextmanager
def held(lake: Lake, table: str, partition: str) -> Iterator[None]:
    """The partition is ours to change; a disk that is full or may not be written to is no riddle."""
    from tailrace.cli.redact import command_line
    from tailrace.core import LakeError
    from tailrace.core.errors import one_line
    from tailrace.lake.lock import partition_lock

    try:
        with partition_lock(lake, table, partition, command_line(sys.argv[1:])):
            yield
    except OSError as error:
        where = error.filename or str(lake.home)
        raise LakeError(error.strerror or one_line(error), code="lake.io", where=where) from error


def _rows(lake: Lake, name: str) -> int:
    from tailrace.core import TimeRange

    return int(str(_doomed(lake, name, TimeRange())["rows"]))


@click.command("history")
@click.argument("name", metavar="TABLE.PARTITION", shell_complete=complete_partitions)
@output_option
@without_spark()
def history(context: Context, name: str, output: str) -> None:
    """Changes of a partition, newest first.

    With the rows that each of them added and removed. `partition restore` goes back to any of them.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.cli.settings import open_lake
    from tailrace.lake import undo

    lake = open_lake(context)
    table, partition = _one(lake, name)
    commits = undo.history(lake, table, partition)
    command = f"{context.command} partition restore {table}.{partition}"
    rows: list[Row] = [
        {
            "version": c.version,
            "at": c.at,
            "change": c.kind,
            "artifacts": c.artifacts,
            "files": c.files,
            "added": c.added,
            "removed": c.removed,
            "restore": f"{command} --at {c.version}",
        }
        for c in commits
    ]
    show_rows(rows, HISTORY, output)
    if len(rows) > 1 and not context.quiet and output in ("table", "pretty", "plain"):
        click.echo(f"{command} --at VERSION goes back to one; without --at it undoes the last change", err=True)


@click.command("restore", short_help="Bring a partition back to what it was.")
@click.argument("name", metavar="TABLE.PARTITION", shell_complete=complete_partitions)
@click.option(
    "--at", metavar="VERSION|TIME", help="A version of `partition history`, or a time; without it the last change goes."
)
@output_option
@without_spark()
def restore(context: Context, name: str, at: str | None, output: str) -> None:
    """Bring a partition back to what it was, without --at to what it was before its last change.

    That is its rows, and what is known to be collected; other partitions are not touched. A restoration is a change
    too: the next one undoes it.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.cli.settings import now, open_lake
    from tailrace.core import parse_time
    from tailrace.lake import undo

    lake = open_lake(context)
    table, partition = _one(lake, name)
    moment: int | datetime
    if at is None:
        undone = undo.last_change(lake, table, partition)
        moment = undone.version - 1
    else:
        undone, moment = None, int(at) if at.isdecimal() else parse_time(at, now())
    with held(lake, table, partition):
        version = undo.restore(lake, table, partition, moment)
    full = f"{table}.{partition}"
    row: Row = {"name": full, "version": version, "rows": _rows(lake, full)}
    if undone is not None:
        row["undone"] = f"{undone.kind} of {undone.at:%Y-%m-%d %H:%M:%S}"
    row["undo"] = f"{context.command} partition restore {full}"
    show_rows([row], tuple(row), output)


def _one(lake: Lake, name: str) -> tuple[str, str]:
    """A partition that the lake has ever known: one without rows can be restored too."""
    from tailrace.cli.matching import chosen
    from tailrace.core import UsageError
    from tailrace.lake.intents import partitions

    known = sorted(f"{table}.{partition}" for table, partition in partitions(lake))
    found = chosen("partition", name, known)
    if len(found) > 1:
        raise UsageError(
            f"'{name}' is more than one partition", code="usage.several-partitions", hint=f"one of {', '.join(found)}"
        )
    table, _, partition = found[0].partition(".")
    return table, partition
