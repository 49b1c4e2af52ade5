"""`tailrace partition list|show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context, without_spark
from tailrace.cli.table import OUTPUT

if TYPE_CHECKING:
    from tailrace.config import Config
    from tailrace.lake.paths import Lake
    from tailrace.lake.snapshot import Extent


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
    from tailrace.cli.summary import size

    config = load_config(context)
    rows: list[dict[str, object]] = []
    for name, (configured, extent) in sorted(_all(config, open_lake(context, config)).items()):
        amount = None if extent is None else size(extent.bytes) if output == "table" else extent.bytes
        rows.append({
            "name": name,
            "configured": configured,
            "rows": extent.rows if extent else None,
            "files": extent.files if extent else None,
            "size": amount,
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
    from tailrace.cli.listing import show_one
    from tailrace.cli.settings import load_config, open_lake
    from tailrace.cli.summary import size
    from tailrace.core import UsageError
    from tailrace.core.registry import nearest

    config = load_config(context)
    lake = open_lake(context, config)
    found = _all(config, lake)
    matches = [n for n in found if name in (n, n.partition(".")[2])]
    if len(matches) != 1:
        guess = nearest(name, {*found, *(n.partition(".")[2] for n in found)})
        hint = f"one of {', '.join(matches)}" if matches else f"did you mean '{guess}'?" if guess else None
        problem = "several partitions are" if matches else "no partition is"
        raise UsageError(f"{problem} called '{name}'", code="usage.unknown-partition", hint=hint)
    full = matches[0]
    configured, extent = found[full]
    facts: dict[str, object] = {"name": full, "configured": configured}
    if extent is not None:
        facts |= {"rows": extent.rows, "files": extent.files, "size": size(extent.bytes)}
        facts |= {"first": extent.first, "last": extent.last}
    table, _, partition = full.partition(".")
    spec = next((p for p in config.partitions if p.full_name == full), None)
    if spec is not None:
        facts |= {"filter": spec.filter, "tp_index": spec.tp_index, "where": str(spec.where)}
        facts["sources"] = [
            {"name": s.name, "kind": s.kind, "paths": s.args.get("paths"), "where": str(s.where)} for s in spec.sources
        ]
    facts |= _collected(lake, table, partition)
    show_one(facts, output)


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
        **{f"artifacts {state}": count for state, count in sorted(states.items())},
        "collected": [
            {"source": r["source"], "last": r["at_max"], "artifacts": r["uri_count"], "rows": r["rows_sum"]}
            for r in last.to_pylist()
        ],
    }
