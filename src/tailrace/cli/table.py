"""`tailrace table list|show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context, without_spark

if TYPE_CHECKING:
    from tailrace.core import Column
    from tailrace.lake.snapshot import Snapshot

OUTPUT = click.option("--output", type=click.Choice(["table", "json"]), default="table", help="Form of the list.")


@click.group("table")
def command() -> None:
    """List tables, or show one."""


@command.command("list")
@OUTPUT
@without_spark()
def list_tables(context: Context, output: str) -> None:
    """All tables: built in, configured, or present in the lake."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.settings import all_tables, load_config, open_lake
    from tailrace.lake.snapshot import snapshot, table_extent, tables

    config = load_config(context)
    lake = open_lake(context, config)
    declared = all_tables(config)
    stored = set(tables(lake))
    partitions = {name: [p.name for p in config.partitions if p.table == name] for name in declared}
    rows: list[dict[str, object]] = []
    for name in sorted({*declared, *stored}):
        extent = table_extent(snapshot(lake, name)) if name in stored else None
        rows.append({
            "name": name,
            "partitions": partitions.get(name, []),
            "rows": extent.rows if extent else None,
            "files": extent.files if extent else None,
            "size": extent.bytes if extent else None,
            "description": declared[name].doc if name in declared else "",
        })  # fmt: skip
    show_rows(rows, ["name", "partitions", "rows", "files", "size", "description"], output)


@command.command("show")
@click.argument("name")
@OUTPUT
@without_spark()
def show_table(context: Context, name: str, output: str) -> None:
    """Columns, size and partitions of one table."""
    from tailrace.cli.listing import hint_at, show_one
    from tailrace.cli.settings import all_tables, load_config, open_lake
    from tailrace.core import TP_COLUMNS, UsageError
    from tailrace.core.registry import ALIASES
    from tailrace.lake.snapshot import partition_extents, snapshot, table_extent, tables

    config = load_config(context)
    lake = open_lake(context, config)
    declared = all_tables(config)
    name = ALIASES.get(name, name)
    stored = snapshot(lake, name) if name in tables(lake) else None
    if stored is None and name not in declared:
        hint = hint_at(name, {*declared, *tables(lake)}, "tailrace table list")
        raise UsageError(f"there is no table '{name}'", code="usage.unknown-table", hint=hint)
    shared = {c.name for c in TP_COLUMNS}
    own = [c for c in declared[name].columns if c.name not in shared] if name in declared else []
    facts: dict[str, object] = {"name": name, "description": declared[name].doc if name in declared else None}
    if stored is not None:
        extent = table_extent(stored)
        facts |= {"rows": extent.rows, "files": extent.files, "size": extent.bytes, "version": stored.version}
        facts["partitions"] = [
            {"name": e.partition, "rows": e.rows, "files": e.files, "size": e.bytes}
            | {"first": e.first, "last": e.last}
            for e in partition_extents(stored)
        ]
    facts["columns"] = _columns(own, stored) + [_column(c) for c in TP_COLUMNS]
    show_one(facts, output)


def _column(column: Column) -> dict[str, object]:
    return {"name": column.name, "type": str(column.type), "description": column.doc}


def _columns(own: list[Column], stored: Snapshot | None) -> list[dict[str, object]]:
    """Declared columns, then those that only the lake knows."""
    rows = [_column(c) for c in own]
    known = {c.name for c in own}
    for field in stored.schema if stored else ():
        if field.name not in known and not field.name.startswith("tp_"):
            kind = (field.metadata or {}).get(b"tailrace.type", b"").decode() or str(field.type)
            rows.append({"name": field.name, "type": kind, "description": ""})
    return rows
