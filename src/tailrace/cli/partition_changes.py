"""`tailrace partition history|restore`, and what all share that change a partition."""

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
    from tailrace.lake.paths import Lake

HISTORY = ("version", "at", "change", "artifacts", "files", "added", "removed")


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


@contextmanager
def held(lake: Lake, table: str, partition: str) -> Iterator[None]:
    """The partition is ours to change."""
    from tailrace.cli.redact import command_line
    from tailrace.lake.lock import partition_lock

    with told_of_disk(lake), partition_lock(lake, table, partition, command_line(sys.argv[1:])):
        yield


@contextmanager
def told_of_disk(lake: Lake) -> Iterator[None]:
    """One that is full or may not be written to is no riddle."""
    from tailrace.core import LakeError
    from tailrace.core.errors import one_line

    try:
        yield
    except OSError as error:
        where = error.filename or str(lake.home)
        raise LakeError(error.strerror or one_line(error), code="lake.io", where=where) from error


def rows_of(lake: Lake, table: str, partition: str) -> int:
    """How many there are, as the log tells it."""
    import pyarrow.compute as pc

    from tailrace.lake.snapshot import snapshot

    files = snapshot(lake, table).files
    rows = files.filter(pc.equal(files.column("tp_partition"), partition)).column("rows")
    total: int = pc.sum(rows).as_py() or 0
    return total


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

    That is its rows, and what is known to be collected; other partitions are not touched. Days that were moved to a
    tier since then stay there. A restoration is a change too: the next one undoes it.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.cli.settings import now, open_lake
    from tailrace.core import parse_time
    from tailrace.lake import undo

    lake = open_lake(context)
    table, partition = _one(lake, name)
    moment: int | datetime | None = None if at is None else int(at) if at.isdecimal() else parse_time(at, now())
    undone = None
    with held(lake, table, partition):
        if moment is None:  # what the last change is may be decided by who held the partition until now
            undone = undo.last_change(lake, table, partition)
            moment = undone.version - 1
        version = undo.restore(lake, table, partition, moment)
    full = f"{table}.{partition}"
    row: Row = {"name": full, "version": version, "rows": rows_of(lake, table, partition)}
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
