"""`tailrace format list|show`."""

from __future__ import annotations

from collections.abc import Container
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
    from tailrace.cli.settings import all_tables
    from tailrace.config.declare_formats import FORMATS
    from tailrace.config.packaged import all_format_types
    from tailrace.core.registry import table_names

    rows = [
        _row(kind, None, _origin("format", kind, FORMATS), declared.doc, None)
        for kind, declared in all_format_types().items()
    ]
    for table in all_tables(None).values():
        origin = _origin("table", table.name, table_names())
        if table.presets:
            rows.append(_row(table.name, None, origin, f"What {table.name} reads unless told otherwise.", None))
        rows += [_row(table.name, preset.name, origin, preset.doc, preset.format) for preset in table.presets]
    for spec in config.formats:
        rows.append(_row(spec.type, spec.name, str(spec.where), spec.description, spec.format))
    return {f"{row['type']}.{row['name']}" if row["name"] else str(row["type"]): row for row in rows}


def _origin(kind: str, name: str, built_in: Container[str]) -> str:
    from tailrace.cli.packages import OWN, provider

    package = provider(kind, name, built_in)
    return "built in" if package == OWN else f"package {package}"


def _row(kind: str, name: str | None, location: str, description: str, fmt: Format | None) -> Row:
    return {"type": kind, "name": name, "location": location, "description": description, "format": fmt}


def _facts(config: Config, row: Row) -> Row:
    from tailrace.cli.describe import attribute_rows, format_values
    from tailrace.config.declare_formats import OF_TABLE
    from tailrace.config.packaged import all_format_types

    fmt: Format | None = row["format"]  # type: ignore[assignment]
    facts = {name: value for name, value in row.items() if name != "format"}
    if fmt is None:
        declared = all_format_types().get(str(row["type"]))
        return facts | {"properties": attribute_rows(declared.attributes if declared else OF_TABLE)}
    using = [p.full_name for p in config.partitions if any(source.format == fmt for source in p.sources)] + [
        f"table.{table.name}" for table in config.tables if table.format == fmt
    ]
    facts["used_by"] = using
    return facts | format_values(fmt)
