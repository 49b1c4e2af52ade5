"""What a compaction has to do, as Delta logs and configuration tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import click

from tailrace.core import ConfigError, LakeError, TimeRange

if TYPE_CHECKING:
    import pyarrow as pa

    from tailrace.cli.options import Context
    from tailrace.config import PartitionSpec
    from tailrace.lake.compaction import CompactionPlan
    from tailrace.lake.paths import Lake


NOTHING: Mapping[str, int] = MappingProxyType({})


class Plans(NamedTuple):
    """What can be done, and why the rest cannot."""

    plans: list[CompactionPlan]
    problems: list[LakeError]
    "Of tables whose logs cannot be read; it has been said what they are."
    in_tiers: Mapping[str, int] = NOTHING
    "By partition, days that rest in tiers and keep the `tp_index` that they have."


def plans_for(lake: Lake, names: Sequence[str], window: TimeRange) -> Plans:
    """Small files of the partitions that are named, or of all."""
    from tailrace.cli.holdings import holdings, partition_names
    from tailrace.cli.matching import listed
    from tailrace.lake.compaction import plan_compaction

    held = holdings(lake)
    chosen = [name.partition(".") for name in listed("partition", names, sorted(partition_names(lake, held)))]
    plans = []
    for table, holding in sorted(held.items()):
        partitions = [partition for owner, _, partition in chosen if owner == table]
        if holding.snapshot is not None and partitions:
            plans.append(plan_compaction(holding.snapshot, partitions, window))
    meant = {owner for owner, _, _ in chosen}
    problems = [holding.problem for table, holding in held.items() if table in meant and holding.problem is not None]
    return Plans([plan for plan in plans if plan.merges], problems)


def reindexing_plans(context: Context, names: Sequence[str], window: TimeRange) -> tuple[Lake, Plans]:
    """Rows that have another `tp_index` than the configuration says now, and small files."""
    from tailrace.cli.holdings import holdings
    from tailrace.cli.settings import load_config, open_lake
    from tailrace.config import select
    from tailrace.config.tables import tables_for
    from tailrace.lake.reindexing import left_in_tiers, plan_reindex

    config = load_config(context)
    lake = open_lake(context, config)
    by_table: dict[str, list[PartitionSpec]] = {}
    for spec in select(config, names):
        by_table.setdefault(tables_for(config, spec.table).name, []).append(spec)
    plans, problems = [], []
    in_tiers: dict[str, int] = {}
    for table, holding in sorted(holdings(lake, by_table).items()):
        if holding.snapshot is None:
            problems += [holding.problem] if holding.problem is not None else []
            continue
        stored = {extent.partition for extent in holding.partitions}
        found = [spec for spec in by_table[table] if spec.name in stored]
        indexes = {spec.name: index_column(spec, holding.snapshot.schema) for spec in found}
        plans.append(plan_reindex(holding.snapshot, indexes, window))
        left = left_in_tiers(holding.snapshot, indexes, window)
        in_tiers |= {f"{table}.{partition}": days for partition, days in left.items()}
    if not names and not context.quiet:
        _note_unconfigured(lake, {(table, spec.name) for table, specs in by_table.items() for spec in specs})
    return lake, Plans([plan for plan in plans if plan.merges], problems, in_tiers)


def index_column(spec: PartitionSpec, schema: pa.Schema) -> str | None:
    """The stored column that `tp_index` comes from; None where the partition has none."""
    name = spec.tp_index
    if name is None or name.partition(".")[0] in schema.names:
        return name
    of_path = any(name in source.path_fields() for source in spec.sources)
    told = "is a part of paths, which stored rows do not have as a column" if of_path else "is no stored column"
    raise ConfigError(
        f"tp_index '{name}' of partition {spec.full_name} {told}",
        code="config.unknown-column",
        where=str(spec.where),
        hint=f"`tailrace collect {spec.full_name} --overwrite --from …` reads the logs again",
    )


def _note_unconfigured(lake: Lake, known: set[tuple[str, str]]) -> None:
    from tailrace.cli.summary import count
    from tailrace.lake.intents import partitions

    others = [f"{table}.{partition}" for table, partition in partitions(lake) if (table, partition) not in known]
    if others:
        told = f"{count(len(others), 'partition')} without configuration stay as they are: {', '.join(others[:5])}"
        click.echo(told, err=True)
