"""`tailrace schema list|show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import names_of
from tailrace.cli.options import Context, output_option, without_spark

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.config import Config

COLUMNS = ("name", "tables", "partitions", "indexes", "stores", "start_date", "end_date", "materialized", "where")


@click.group("schema")
def command() -> None:
    """List schemas, or show one."""


@command.command("list", short_help="The default schema and configured ones.")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=names_of("schema"))
@output_option
@without_spark()
def list_schemas(context: Context, names: tuple[str, ...], output: str) -> None:
    """Schemas: the default one, which holds everything, and configured ones. NAME may hold wildcards."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.matching import listed
    from tailrace.cli.settings import load_config

    known = _known(load_config(context))
    show_rows([known[name] for name in listed("schema", names, known)], COLUMNS, output)


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
    shown = [known[each] | {"holds": _holds(config, each)} for each in chosen("schema", name, known)]
    show_several(shown, output, as_list=is_pattern(name))


def _known(config: Config) -> dict[str, Row]:
    from tailrace.cli.describe import with_defaults
    from tailrace.config.declare import SCHEMA
    from tailrace.core.table import DEFAULT_SCHEMA

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
