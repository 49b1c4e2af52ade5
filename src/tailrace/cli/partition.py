"""`tailrace partition list|show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context, without_spark
from tailrace.cli.table import OUTPUT
from tailrace.core import Delimited, Format, Json, Jsonl, Layout

if TYPE_CHECKING:
    from tailrace.config import Config, PartitionSpec
    from tailrace.lake.paths import Lake
    from tailrace.lake.snapshot import Extent

BLANKS = r"\s"


@click.group("partition")
def command() -> None:
    """List partitions, or show one."""


@command.command("list")
@OUTPUT
@without_spark()
def list_partitions(context: Context, output: str) -> None:
    """All partitions: configured ones, and those that only the lake knows."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.settings import load_config, open_lake

    config = load_config(context)
    rows: list[dict[str, object]] = []
    for name, (configured, extent) in sorted(_all(config, open_lake(context, config)).items()):
        rows.append({
            "name": name,
            "configured": configured,
            "rows": extent.rows if extent else None,
            "files": extent.files if extent else None,
            "size": extent.bytes if extent else None,
            "first": extent.first if extent else None,
            "last": extent.last if extent else None,
        })  # fmt: skip
    show_rows(rows, ["name", "configured", "rows", "files", "size", "first", "last"], output)


@command.command("show")
@click.argument("name", metavar="TABLE.PARTITION")
@OUTPUT
@without_spark()
def show_partition(context: Context, name: str, output: str) -> None:
    """Sources, size, days and last collection of one partition."""
    from tailrace.cli.listing import hint_at, show_one
    from tailrace.cli.settings import load_config, open_lake
    from tailrace.core import UsageError

    config = load_config(context)
    lake = open_lake(context, config)
    found = _all(config, lake)
    matches = [n for n in found if name in (n, n.partition(".")[2])]
    if len(matches) != 1:
        short = {n.partition(".")[2] for n in found}
        hint = f"one of {', '.join(matches)}" if matches else hint_at(name, {*found, *short}, "tailrace partition list")
        problem = "several partitions are" if matches else "no partition is"
        raise UsageError(f"{problem} called '{name}'", code="usage.unknown-partition", hint=hint)
    full = matches[0]
    configured, extent = found[full]
    facts: dict[str, object] = {"name": full, "configured": configured}
    if extent is not None:
        facts |= {"rows": extent.rows, "files": extent.files, "size": extent.bytes}
        facts |= {"first": extent.first, "last": extent.last}
    table, _, partition = full.partition(".")
    spec = next((p for p in config.partitions if p.full_name == full), None)
    if spec is not None:
        facts |= {"filter": spec.filter, "tp_index": spec.tp_index, "where": str(spec.where)}
        facts["sources"] = _sources(config, spec)
    facts |= _collected(lake, table, partition)
    show_one(facts, output)


def _sources(config: Config, spec: PartitionSpec) -> list[dict[str, object]]:
    from tailrace.config import tables_for

    own = tables_for(config, spec.table).format
    return [
        {
            "name": source.name,
            "kind": source.kind,
            "paths": source.args.get("paths"),
            "format": format_words(source.format or own) + ("" if source.format else " (the table's own)"),
            "where": str(source.where),
        }
        for source in spec.sources
    ]


def format_words(fmt: Format) -> str:
    """How the bytes are read, in words."""
    if isinstance(fmt, Json):
        return f"json, records under {fmt.records}" if fmt.records else "json"
    if isinstance(fmt, Jsonl):
        return "jsonl"
    if isinstance(fmt, Delimited):
        header = {None: "header if there is one", True: "with header", False: "no header"}[fmt.header]
        return f"delimited by {'blanks' if fmt.delimiter == BLANKS else repr(fmt.delimiter)}, {header}"
    kind = f"{fmt.dialect} layout" if isinstance(fmt, Layout) else type(fmt).__name__.lower()
    return f"{kind} {fmt.text if isinstance(fmt, Layout) else fmt.layout}"


def _all(config: Config, lake: Lake) -> dict[str, tuple[bool, Extent | None]]:
    from tailrace.lake.snapshot import partition_extents, snapshot, tables

    found: dict[str, tuple[bool, Extent | None]] = {p.full_name: (True, None) for p in config.partitions}
    for table in tables(lake):
        for extent in partition_extents(snapshot(lake, table)):
            name = f"{table}.{extent.partition}"
            found[name] = (name in found, extent)
    return found


def _collected(lake: Lake, table: str, partition: str) -> dict[str, object]:
    """What the ledger knows: artifacts by state, and when each source was last collected."""
    import pyarrow.compute as pc

    from tailrace.lake.intents import read_ledger

    entries = read_ledger(lake, table, partition).entries
    if not entries.num_rows:
        return {"artifacts": 0}
    states = {v["values"]: v["counts"] for v in pc.value_counts(entries["status"]).to_pylist()}
    last = entries.group_by("source", use_threads=False).aggregate([("at", "max"), ("rows", "sum"), ("uri", "count")])
    return {
        "artifacts": entries.num_rows,
        **{f"artifacts_{state}": count for state, count in sorted(states.items())},
        "collected": [
            {"source": r["source"], "last": r["at_max"], "artifacts": r["uri_count"], "rows": r["rows_sum"]}
            for r in last.to_pylist()
        ],
    }
