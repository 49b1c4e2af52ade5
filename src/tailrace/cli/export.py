"""`tailrace export`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailrace.cli.byte_progress import byte_progress
from tailrace.cli.completing import complete_partitions
from tailrace.cli.options import Context, output_option, without_spark

if TYPE_CHECKING:
    from tailrace.core import TimeRange
    from tailrace.export.run import Kind
    from tailrace.export.scope import Scope
    from tailrace.lake.paths import Lake

COLUMNS = ("table", "days", "files", "rows", "size", "copied", "removed", "place")


@click.command("export")
@click.argument("names", metavar="SEL...", nargs=-1, required=True, shell_complete=complete_partitions)
@click.option("--out", metavar="DIR", type=click.Path(), required=True, help="Directory to export to.")
@click.option("--as", "kind", type=click.Choice(("hive", "iceberg")), default="hive", help="Form of the export.")
@click.option("--from", "start", metavar="TIME", help="Only days from this time on (2024-01-31, T-7d …).")
@click.option("--to", "end", metavar="TIME", help="Only days before this time.")
@click.option("--index", "indexes", metavar="NAME", multiple=True, help="Only these values of tp_index; wildcards.")
@click.option("--partition", "partitions", metavar="NAME", multiple=True, help="Only these partitions; wildcards.")
@click.option("--overwrite", is_flag=True, help="Of the chosen tables nothing else stays in DIR.")
@click.option("--in-place", is_flag=True, help="Iceberg that refers to the lake's own files; nothing is copied.")
@click.option("--dry-run", is_flag=True, help="Show what would be copied and removed, and do nothing.")
@output_option
@without_spark()
def command(
    context: Context,
    names: tuple[str, ...],
    out: str,
    kind: Kind,
    start: str | None,
    end: str | None,
    indexes: tuple[str, ...],
    partitions: tuple[str, ...],
    overwrite: bool,
    in_place: bool,
    dry_run: bool,
    output: str,
) -> None:
    """Copy tables out of the lake, as a plain hive tree or as Iceberg tables.

    SEL is a table, table.partition or a partition's name, with wildcards. Days that the range touches are copied
    whole. Exported again, only what is new is copied, and what the lake no longer has of these partitions, values and
    days is removed; days and partitions that were not asked for are left alone. An export that was cut off goes on
    where it was.

    Exit codes: 0 all is there, 2 usage, 5 something cannot be read or written, 6 another export is at work in DIR.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.cli.settings import now, open_lake
    from tailrace.core import TimeRange, parse_time
    from tailrace.export.run import Export

    moment = now()
    window = TimeRange(*(None if t is None else parse_time(t, moment) for t in (start, end)))
    directory = _directory(out)
    lake = open_lake(context)
    scopes = _scopes(lake, names, partitions, indexes, window)
    export = Export(lake, directory, kind, only=overwrite, in_place=in_place)
    if dry_run:
        done = export.look(scopes)
    else:
        with byte_progress(context, "export") as told:
            done = export.run(scopes, told)
    show_rows([asdict(one) for one in done], COLUMNS, output)


def _directory(out: str) -> Path:
    from tailrace.core import UsageError

    if "://" in out:
        hint = "export to a directory and copy that there"
        raise UsageError("exports go to a directory of this machine", code="usage.export", where=out, hint=hint)
    return Path(out).expanduser().absolute()


def _scopes(
    lake: Lake, names: tuple[str, ...], partitions: tuple[str, ...], indexes: tuple[str, ...], window: TimeRange
) -> dict[str, Scope]:
    """By table: what is asked for of it. A whole table also loses partitions that the lake no longer has."""
    from fnmatch import fnmatchcase

    from tailrace.cli.holdings import holdings
    from tailrace.cli.matching import listed
    from tailrace.core import UsageError
    from tailrace.export.scope import Scope

    held = holdings(lake)
    known = [f"{table}.{extent.partition}" for table, one in held.items() for extent in one.partitions]
    known += [table for table, one in held.items() if not one.partitions]
    chosen: dict[str, set[str]] = {}
    for name in listed("partition", names, sorted(known)):
        table, _, partition = name.partition(".")
        if not partitions or any(fnmatchcase(partition, pattern) for pattern in partitions):
            chosen.setdefault(table, set()).add(partition)
    if not chosen:
        named = " or ".join(f"'{pattern}'" for pattern in partitions)
        hint = "`tailrace partition list` shows all"
        raise UsageError(f"none of these partitions is called {named}", code="usage.unknown-partition", hint=hint)
    whole = {table for table in chosen if not partitions and any(fnmatchcase(table, name) for name in names)}
    return {
        table: Scope(None if table in whole else frozenset(some), indexes, window) for table, some in chosen.items()
    }
