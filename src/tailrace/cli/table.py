"""`tailrace table list|show`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_tables
from tailrace.cli.options import Context, output_option, without_spark
from tailrace.cli.other_lake import lake_options

if TYPE_CHECKING:
    from tailrace.cli.holdings import Holding
    from tailrace.cli.listing import Row
    from tailrace.config import Config
    from tailrace.config.model import TableSpec
    from tailrace.core import Column
    from tailrace.lake.paths import Lake
    from tailrace.lake.snapshot import Snapshot

COLUMNS = ("name", "plugin", "partitions", "rows", "files", "size", "changed", "description")


@click.group("table")
def command() -> None:
    """List tables, or show one."""


@command.command("list", short_help="All tables: built in, configured, or in the lake.")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_tables)
@lake_options(False, "Of another lake, alone: a URL, a directory, or a workspace.")
@output_option
@without_spark()
def list_tables(
    context: Context, names: tuple[str, ...], address: str | None, connection: str | None, output: str
) -> None:
    """All tables: built in, configured, or present in the lake. NAME may hold wildcards."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.other_lake import lake_at, note_empty
    from tailrace.cli.settings import load_config, open_lake

    config = load_config(context)
    lake = open_lake(context, config) if address is None else lake_at(context, config, address, connection)
    rows = table_rows(config, lake, names)
    if address is not None:
        rows = [row for row in rows if row["rows"] is not None]
    show_rows(rows, COLUMNS, output)
    if not rows:
        note_empty(context, lake)


def table_rows(config: Config, lake: Lake, names: Sequence[str] = ()) -> list[Row]:
    """What is known of each table, or of those that the names fit."""
    from tailrace.cli.holdings import holdings
    from tailrace.cli.matching import listed
    from tailrace.config.live import live_partitions
    from tailrace.core.registry import all_table_names

    stored = holdings(lake)
    declared = {spec.name: spec for spec in config.tables}
    everything = sorted({*all_table_names(), *declared, *stored})
    partitions: dict[str, list[str]] = {}
    for name in dict.fromkeys(spec.full_name for spec in (*config.partitions, *live_partitions(config))):
        table, _, partition = name.partition(".")
        partitions.setdefault(table, []).append(partition)
    return [
        _row(name, declared.get(name), stored.get(name)) | {"partitions": partitions.get(name, [])}
        for name in listed("table", names, everything)
    ]


def _row(name: str, spec: TableSpec | None, stored: Holding | None) -> Row:
    from tailrace.cli.holdings import amounts
    from tailrace.cli.packages import provider
    from tailrace.core.registry import table_doc, table_names

    own = spec.description if spec else ""
    package = provider("table", name, table_names())
    damaged = stored is not None and stored.problem is not None
    return {
        "name": name,
        "plugin": package or ("custom" if spec else None),
        "partitions": [],
        **amounts(stored.total if stored else None),
        "state": "damaged" if damaged else "declared" if package or spec else "orphaned",
        "description": own or (table_doc(name) if package else "" if spec else "(no longer declared)"),
    }


@command.command("show", short_help="Columns, size and partitions of a table.")
@click.argument("name", shell_complete=complete_tables)
@output_option
@without_spark()
def show_table(context: Context, name: str, output: str) -> None:
    """Columns, size and partitions of one table; with wildcards, of several."""
    from tailrace.cli.listing import show_several
    from tailrace.cli.matching import chosen, is_pattern
    from tailrace.cli.settings import load_config, open_lake
    from tailrace.core.registry import ALIASES

    config = load_config(context)
    lake = open_lake(context, config)
    found = chosen("table", ALIASES.get(name, name), known_tables(config, lake))
    show_several([table_facts(config, lake, each) for each in found], output, as_list=is_pattern(name))


def known_tables(config: Config, lake: Lake) -> list[str]:
    """Built in, configured, or in the lake."""
    from tailrace.core.registry import all_table_names
    from tailrace.lake.snapshot import tables

    return sorted({*all_table_names(), *(spec.name for spec in config.tables), *tables(lake)})


def table_facts(config: Config, lake: Lake, name: str) -> Row:
    """All that is known of one table."""
    from tailrace.cli.holdings import holdings
    from tailrace.config import tables_for
    from tailrace.core import TP_COLUMNS
    from tailrace.core.registry import has_table

    table = tables_for(config, name) if has_table(name) or config.table(name) else None
    stored = holdings(lake, [name]).get(name)
    facts = _row(name, config.table(name), stored)
    if table is not None:
        from tailrace.cli.describe import format_words

        facts["format"] = format_words(table.format)
        facts["presets"] = [f"format.{name}.{preset.name}" for preset in table.presets]
    seen = stored.snapshot if stored else None
    if seen is not None:
        facts["version"] = seen.version
    facts["partitions"] = _partitions(config, name, stored)
    shared = {column.name for column in TP_COLUMNS}
    own = [column for column in table.columns if column.name not in shared] if table else []
    return facts | {"columns": _columns(own, seen) + [_column(column) for column in TP_COLUMNS]}


def _partitions(config: Config, table: str, stored: Holding | None) -> list[Row]:
    """Configured ones, those that a sink fills, and those that only the lake knows."""
    from tailrace.cli.holdings import amounts
    from tailrace.config.live import live_partitions

    extents = {extent.partition: extent for extent in (stored.partitions if stored else ())}
    states = {spec.name: "live" for spec in live_partitions(config) if spec.table == table}
    states |= {spec.name: "configured" for spec in config.partitions if spec.table == table}
    return [
        {"name": name, "state": states.get(name, "orphaned"), **amounts(extents.get(name))}
        for name in sorted({*states, *map(str, extents)})
    ]


def _column(column: Column) -> Row:
    return {"name": column.name, "type": str(column.type), "required": column.required, "description": column.doc}


def _columns(own: list[Column], stored: Snapshot | None) -> list[Row]:
    """Declared columns, then those that only the lake knows."""
    rows = [_column(c) for c in own]
    known = {c.name for c in own}
    for field in stored.schema if stored else ():
        if field.name not in known and not field.name.startswith("tp_"):
            kind = (field.metadata or {}).get(b"tailrace.type", b"").decode() or str(field.type)
            rows.append({"name": field.name, "type": kind, "required": False, "description": ""})
    return rows
