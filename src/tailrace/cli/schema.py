"""`tailrace schema list|show`; `refresh` is in `refreshing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import names_of
from tailrace.cli.options import Context, output_option, without_spark
from tailrace.cli.refreshing import refresh, told, versions

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.config import Config
    from tailrace.lake.materialized import Refreshed

COLUMNS = ("name", "tables", "partitions", "indexes", "stores", "start_date", "end_date", "materialized")
SNAPSHOT = ("refreshed", "rows", "size", "where")


@click.group("schema")
def command() -> None:
    """List schemas, show one, or refresh materialised ones."""


command.add_command(refresh)


@command.command("list", short_help="The default schema and configured ones.")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=names_of("schema"))
@output_option
@without_spark()
def list_schemas(context: Context, names: tuple[str, ...], output: str) -> None:
    """Schemas: the default one, which holds everything, and configured ones. NAME may hold wildcards."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.matching import listed
    from tailrace.cli.settings import load_config

    config = load_config(context)
    known = _known(config)
    # Tables are those that the schema is made of, whether it is materialised or not.
    rows = [told(_snapshot(context, config, known[name])) | known[name] for name in listed("schema", names, known)]
    show_rows(rows, (*COLUMNS, *SNAPSHOT), output)


@command.command("show", short_help="The filters of a schema, and what they let through.")
@click.argument("name", shell_complete=names_of("schema"))
@output_option
@without_spark()
def show_schema(context: Context, name: str, output: str) -> None:
    """The filters of a schema, and the configured partitions that they let through."""
    from tailrace.cli.listing import show_several
    from tailrace.cli.matching import chosen, is_pattern
    from tailrace.cli.settings import load_config

    config = load_config(context)
    known = _known(config)
    shown = [_shown(context, config, known[each]) for each in chosen("schema", name, known)]
    show_several(shown, output, as_list=is_pattern(name))


def _shown(context: Context, config: Config, row: Row) -> Row:
    found = _snapshot(context, config, row)
    kept = {"refreshed": found and found.at, "snapshot": versions(found)} if row["materialized"] else {}
    return row | kept | {"holds": _holds(config, str(row["name"]))}


def _snapshot(context: Context, config: Config, row: Row) -> Refreshed | None:
    if not row["materialized"]:
        return None
    from tailrace.cli.settings import open_lake
    from tailrace.lake.materialized import refreshed

    return refreshed(open_lake(context, config), str(row["name"]))


def _known(config: Config) -> dict[str, Row]:
    from tailrace.cli.describe import with_defaults
    from tailrace.config.declare import SCHEMA
    from tailrace.core.schemas import DEFAULT_SCHEMA

    rows: dict[str, Row] = {
        DEFAULT_SCHEMA: {"name": DEFAULT_SCHEMA, **with_defaults({}, SCHEMA), "where": None},
    }
    for block in config.of("schema"):
        rows[block.name] = {"name": block.name, **with_defaults(block.args, SCHEMA), "where": str(block.where)}
    return rows


def _holds(config: Config, name: str) -> list[str]:
    from tailrace.cli.schemas import schemas_of
    from tailrace.query.filters import Schema

    schema = next((schema for schema in schemas_of(config) if schema.name == name), Schema())
    return [p.full_name for p in config.partitions if schema.holds(p.table) and schema.takes(p.name)]
