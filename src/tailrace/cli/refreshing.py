"""`tailrace schema refresh`: what a materialised schema shows is written anew."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import names_of
from tailrace.cli.options import Context, output_option, without_spark
from tailrace.core.errors import LakeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailrace.cli.listing import Row
    from tailrace.lake.materialized import Refreshed
    from tailrace.lake.paths import Lake
    from tailrace.query.filters import Schema

COLUMNS = ("name", "refreshed", "tables", "rows", "files", "size")


@click.command("refresh", short_help="Write anew what materialised schemas show.")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=names_of("schema"))
@output_option
@without_spark()
def refresh(context: Context, names: tuple[str, ...], output: str) -> None:
    """Write anew what materialised schemas show, all of them or those named. NAME may hold wildcards.

    The snapshot is replaced in one step: until then, and if the command fails or is killed, queries see the one before.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.cli.schemas import schemas_of
    from tailrace.cli.settings import load_config, open_lake

    config = load_config(context)
    lake = open_lake(context, config)
    rows: list[Row] = []
    try:
        for schema in _chosen(schemas_of(config), names):
            found = _refreshed(lake, schema)
            rows.append({"name": schema.name, **told(found), "versions": versions(found)})
    finally:
        if rows or not sys.exc_info()[0]:
            show_rows(rows, COLUMNS, output)


def told(found: Refreshed | None) -> Row:
    """Age and amounts of a snapshot."""
    if found is None:
        return dict.fromkeys(COLUMNS[1:])
    files = sum(kept.files for kept in found.tables)
    amounts = {"tables": len(found.tables), "rows": found.rows, "files": files, "size": found.size}
    return {"refreshed": found.at, **amounts}


def versions(found: Refreshed | None) -> list[Row]:
    """What the snapshot holds of each table, and of which version of it."""
    tables = found.tables if found else ()
    return [{"table": k.table, "version": k.version, "rows": k.rows, "files": k.files, "size": k.size} for k in tables]


def _chosen(schemas: Sequence[Schema], names: tuple[str, ...]) -> list[Schema]:
    from tailrace.cli.matching import is_pattern, listed

    known = {schema.name: schema for schema in schemas}
    chosen = [known[name] for name in listed("schema", names, known)]
    plain = [schema.name for schema in chosen if not schema.materialized]
    if plain and names and not any(map(is_pattern, names)):
        raise UsageError(
            f"schema {plain[0]} is not materialised: it shows the lake as it is",
            code="usage.not-materialized",
            hint="add materialized = true to its block, or leave it out here",
        )
    return [schema for schema in chosen if schema.materialized]


def _refreshed(lake: Lake, schema: Schema) -> Refreshed:
    from tailrace.cli.redact import command_line
    from tailrace.core.errors import one_line
    from tailrace.lake.materialized import refresh as keep
    from tailrace.query.tables import live_tables

    tables = live_tables(lake, schema)
    size = sum(sum(table.files.column("size").to_pylist()) for table in tables)
    bar = click.progressbar(length=size, label=schema.name, file=sys.stderr, hidden=not sys.stderr.isatty())
    try:
        with bar:
            return keep(lake, schema.name, tables, command_line(sys.argv[1:]), bar.update)
    except OSError as error:
        where = error.filename or str(lake.home)
        raise LakeError(error.strerror or one_line(error), code="lake.io", where=where) from error
