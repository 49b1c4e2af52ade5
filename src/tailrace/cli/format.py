"""`tailrace format list|show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import names_of
from tailrace.cli.options import Context, output_option, without_spark

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.config import Config
    from tailrace.core import Format

COLUMNS = ("type", "name", "location", "description")


@click.group("format")
def command() -> None:
    """List formats, or show one."""


@command.command("list")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=names_of("format"))
@output_option
@without_spark()
def list_formats(context: Context, names: tuple[str, ...], output: str) -> None:
    """Types of format, those that tables ship, and configured ones. NAME may hold wildcards."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.matching import listed
    from tailrace.cli.settings import load_config

    known = _known(load_config(context))
    rows = [known[name] for name in listed("format", names, known)]
    show_rows([{k: v for k, v in row.items() if k != "format"} for row in rows], COLUMNS, output)


@command.command("show")
@click.argument("name", metavar="TYPE|TYPE.NAME", shell_complete=names_of("format"))
@output_option
@without_spark()
def show_format(context: Context, name: str, output: str) -> None:
    """How a format reads, or what a type of format takes."""
    from tailrace.cli.listing import show_several
    from tailrace.cli.matching import chosen, is_pattern
    from tailrace.cli.settings import load_config
    from tailrace.config.declare_formats import FORMAT_SYNONYMS

    config = load_config(context)
    known = _known(config)
    found = chosen("format", FORMAT_SYNONYMS.get(name, name), known)
    show_several([_facts(config, known[each]) for each in found], output, as_list=is_pattern(name))


def _known(config: Config) -> dict[str, Row]:
    """By `type.name`, types by themselves; a configured format hides one of the same name that a table ships."""
    from tailrace.config.declare import BLOCK_TYPES
    from tailrace.core.registry import find_table, table_names

    types = BLOCK_TYPES["format"].types
    rows = [_row(kind, None, "built in", declared.doc, None) for kind, declared in types.items()]
    for table in filter(None, map(find_table, table_names())):
        if table.presets:
            rows.append(_row(table.name, None, "built in", f"What {table.name} reads unless told otherwise.", None))
        rows += [_row(table.name, preset.name, "built in", preset.doc, preset.format) for preset in table.presets]
    for spec in config.formats:
        rows.append(_row(spec.type, spec.name, str(spec.where), spec.description, spec.format))
    return {f"{row['type']}.{row['name']}" if row["name"] else str(row["type"]): row for row in rows}


def _row(kind: str, name: str | None, location: str, description: str, fmt: Format | None) -> Row:
    return {"type": kind, "name": name, "location": location, "description": description, "format": fmt}


def _facts(config: Config, row: Row) -> Row:
    from tailrace.cli.describe import attribute_rows, format_values
    from tailrace.config.declare_formats import FORMATS, OF_TABLE

    fmt: Format | None = row["format"]  # type: ignore[assignment]
    facts = {name: value for name, value in row.items() if name != "format"}
    if fmt is None:
        return facts | {"properties": attribute_rows(FORMATS.get(str(row["type"]), OF_TABLE))}
    using = [p.full_name for p in config.partitions if any(source.format == fmt for source in p.sources)] + [
        f"table.{table.name}" for table in config.tables if table.format == fmt
    ]
    facts["used_by"] = using
    return facts | format_values(fmt)
