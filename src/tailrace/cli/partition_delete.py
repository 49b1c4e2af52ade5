"""`tailrace partition delete`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_partitions
from tailrace.cli.options import Context, output_option, without_spark

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.core import TimeRange
    from tailrace.lake.paths import Lake
    from tailrace.lake.predicate import Predicate

DOOMED = ("name", "rows", "files", "days", "first", "last")
DONE = ("name", "rows", "undo")
DONE_FOR_GOOD = ("name", "rows", "files", "size")


@click.command("delete")
@click.argument("names", metavar="SEL...", nargs=-1, required=True, shell_complete=complete_partitions)
@click.option("--from", "start", metavar="TIME", help="Only rows at or after this time (2024-01-31, T-7d …).")
@click.option("--to", "end", metavar="TIME", help="Only rows before this time.")
@click.option("--where", metavar="SQL", help="Only rows for which this condition holds: \"user_name = 'jo'\".")
@click.option("--for-good", is_flag=True, help="Delete the bytes as well, now: earlier versions of the table go.")
@click.option("--lift", is_flag=True, help="Delete nothing: rows that --where keeps out may be stored again.")
@click.option("--force", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@output_option
@without_spark()
def delete(
    context: Context,
    names: tuple[str, ...],
    start: str | None,
    end: str | None,
    where: str | None,
    for_good: bool,
    lift: bool,
    force: bool,
    dry_run: bool,
    output: str,
) -> None:
    """Delete rows of partitions, configured or orphaned.

    With a range, its rows go and stay away: whatever is read again, nothing of the range is stored until
    `collect --overwrite` reads it, or a part of it. With --where, rows for which the condition holds go and stay away,
    also when they are overwritten, until --lift. With neither all rows go and the next collection begins anew.
    `partition restore` undoes any of it until the files are removed: with --for-good at once, else by `maintain`.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.cli.partition_changes import confirm
    from tailrace.cli.settings import now, open_lake
    from tailrace.core import TimeRange, parse_time

    moment = now()
    window = TimeRange(*(None if t is None else parse_time(t, moment) for t in (start, end)))
    lake = open_lake(context)
    if lift:
        _lift(lake, names, where, window, for_good)
        return
    wanted = Deletion(lake, window, where, for_good)
    doomed = [wanted.doomed(name) for name in _matching(lake, names, even_empty=for_good or where is not None)]
    if dry_run:
        show_rows(doomed, DOOMED, output)
        return
    confirm([*map(_told, doomed), *wanted.warnings(doomed)], force)
    done = [wanted.carry_out(context, str(row["name"])) for row in doomed]
    show_rows(done, DONE_FOR_GOOD if for_good else DONE, output)


def _matching(lake: Lake, names: tuple[str, ...], *, even_empty: bool) -> list[str]:
    """Partitions that have rows, or those that were ever collected."""
    from tailrace.cli.holdings import holdings, partition_names
    from tailrace.cli.matching import listed
    from tailrace.lake.intents import partitions

    known = partition_names(lake, holdings(lake))
    if even_empty:
        known |= {f"{table}.{partition}" for table, partition in partitions(lake)}
    return listed("partition", names, sorted(known))


@dataclass(frozen=True, slots=True)
class Deletion:
    """Which rows of a partition go, and how."""

    lake: Lake
    window: TimeRange
    where: str | None
    for_good: bool

    def doomed(self, name: str) -> Row:
        """What would go: the log tells it of whole days, the rows themselves where range or condition cut one."""
        from tailrace.lake.rewrite import Doomed, rows_inside
        from tailrace.lake.snapshot import files_of, snapshot

        table, _, partition = name.partition(".")
        version = snapshot(self.lake, table)
        which = Doomed(window=self.window, where=self._predicate(table))
        going = {
            (file.day, file.path): file.rows if which.takes_all(file) else rows_inside(version.root, file.path, which)
            for file in files_of(version.files, partition)
            if self.window.touches(file.day)
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

    def carry_out(self, context: Context, name: str) -> Row:
        """Deletes, and says how many rows that were and how they come back."""
        from tailrace.cli.partition_changes import held, rows_of, told_of_disk
        from tailrace.cli.redact import command_line
        from tailrace.lake.compacting import no_compaction
        from tailrace.lake.mounted import require_reachable
        from tailrace.lake.undo import erase
        from tailrace.lake.vacuum import forget, partitions_of

        table, _, partition = name.partition(".")
        concerned = partitions_of(self.lake, table) if self.for_good else [partition]
        with told_of_disk(self.lake), ExitStack() as locks:
            if self.for_good:
                require_reachable(self.lake, table)
                locks.enter_context(no_compaction(self.lake, table, partition, command_line(sys.argv[1:])))
            for each in concerned:
                locks.enter_context(held(self.lake, table, each))
            before = rows_of(self.lake, table, partition)
            version = erase(self.lake, table, partition, self.window, self._predicate(table))
            gone = before - rows_of(self.lake, table, partition)
            if not self.for_good:
                undo = f"{context.command} partition restore {name} --at {version}"
                return {"name": name, "rows": gone, "version": version, "undo": undo}
            waste = forget(self.lake, table, partition)
        self._note_snapshots(table, partition)
        self._note_quarantine(name)
        files = len(waste.files) + len(waste.quarantine)
        return {"name": name, "rows": gone, "files": files, "size": waste.bytes, "undo": None}

    def warnings(self, doomed: list[Row]) -> list[str]:
        """What there is to know besides, before somebody says yes."""
        if not self.for_good:
            return []
        tables = sorted({str(row["name"]).partition(".")[0] for row in doomed})
        return [f"for good: no earlier version of {', '.join(tables)} can be seen or restored afterwards"]

    def _predicate(self, table: str) -> Predicate | None:
        from tailrace.lake.predicate import Predicate
        from tailrace.lake.table import stored_schema

        schema = None if self.where is None else stored_schema(self.lake, table)
        return None if self.where is None or schema is None else Predicate(self.where, schema)

    def _note_snapshots(self, table: str, partition: str) -> None:
        from tailrace.lake.materialized import schemas_with

        for schema in schemas_with(self.lake, table, partition):
            text = f"schema {schema} keeps files of {table}.{partition} from before: refresh it twice"
            click.echo(f"warning: {text}", err=True)

    def _note_quarantine(self, name: str) -> None:
        """Records that could not be read cannot be put to a condition, nor to a range of time."""
        from tailrace.cli.summary import count
        from tailrace.lake.quarantined import found_pages
        from tailrace.lake.sought import Sought

        records = sum(len(numbers) for _, numbers in found_pages(self.lake, name, Sought()))
        if records:
            text = f"{name} keeps {count(records, 'quarantined record')} as read: see `quarantine show` and `purge`"
            click.echo(f"warning: {text}", err=True)


def _told(row: Row) -> str:
    what = f"{row['rows']:,} rows in {row['days']:,} days" if row["days"] else "nothing"
    span = f", {row['first']} to {row['last']}" if row["days"] else ""
    return f"{row['name']}: {what}{span}"


def _lift(lake: Lake, names: tuple[str, ...], where: str | None, window: TimeRange, for_good: bool) -> None:
    from tailrace.cli.partition_changes import held
    from tailrace.core import TimeRange, UsageError
    from tailrace.lake.undo import lift

    if where is None or window != TimeRange() or for_good:
        raise UsageError(
            "--lift takes the condition that was given to --where, and nothing else",
            code="usage.lift-what",
            hint="`tailrace partition show` lists the conditions of a partition as `deleted_where`",
        )
    for name in _matching(lake, names, even_empty=True):
        table, _, partition = name.partition(".")
        with held(lake, table, partition):
            lift(lake, table, partition, where)
