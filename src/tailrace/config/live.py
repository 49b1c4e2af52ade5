"""Partitions that sinks of live data fill."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tailrace.config.declare_live import SINKS
from tailrace.config.model import Config, OtherBlock, PartitionSpec
from tailrace.config.tables import table_name
from tailrace.config.values import Reference


def live_partitions(config: Config) -> Iterator[PartitionSpec]:
    """Those of all `sink "lake"` blocks that are in use. One without a table is an error, told with its block."""
    for block in config.of("sink"):
        if block.type == "lake" and block.args.get("enabled", True) and "table" in block.args:
            yield live_partition(config, block)


def live_partition(config: Config, block: OtherBlock) -> PartitionSpec:
    """The partition of a sink: what its own block says of it, and the sink's filter and index where it has them."""
    table = block.args["table"]
    table = table_name(table.path[-1] if isinstance(table, Reference) else str(table))
    name = str(block.args.get("partition") or SINKS["lake"].attributes["partition"].default)
    given = {key: str(block.args[key]) for key in ("filter", "tp_index") if block.args.get(key)}
    for spec in config.partitions:
        if (spec.table, spec.name) == (table, name):
            return replace(spec, **given)  # type: ignore[arg-type]
    return PartitionSpec(
        table, name, (), given.get("filter"), given.get("tp_index"), block.where, str(block.args.get("description", ""))
    )
