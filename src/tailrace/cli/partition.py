"""`tailrace partition list|show`; what changes partitions is in `partition_changes` and `partition_delete`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_partitions
from tailrace.cli.options import Context, output_option, without_spark
from tailrace.cli.other_lake import lake_options
from tailrace.cli.partition_changes import history, restore
from tailrace.cli.partition_delete import delete

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.config import Config, PartitionSpec
    from tailrace.lake.extents import Extent
    from tailrace.lake.paths import Lake

COLUMNS = ("name", "state", "rows", "files", "size", "first", "last", "missing_days", "changed")


@dataclass(frozen=True, slots=True)
class Known:
    """A partition as the configuration and the lake know it."""

    spec: PartitionSpec | None
    extent: Extent | None
    damaged: bool = False

    @property
    def state(self) -> str:
        """`live`: a sink fills it; `orphaned`: rows that nothing in the configuration collects any more."""
        if self.damaged or self.spec is None:
            return "damaged" if self.damaged else "orphaned"
        return "configured" if self.spec.sources else "live"


class VerbFirst(click.Group):
    """Tells whoever writes the name before the verb, as in `collection prod source list`, how it goes."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, *rest = args
        known: dict[tuple[str, ...], str] = {
            ("collect",): f"collect {name}",
            ("source", "list"): f"source list --partition {name}",
            ("source",): f"source list {' '.join(rest[1:2])} --partition {name} --artifacts",
            **{(verb,): f"{ctx.info_name} {verb} {name}" for verb in self.commands},
        }
        meant = known.get(tuple(rest[:2])) or known.get(tuple(rest[:1]))
        if meant and name not in self.commands:
            ctx.fail(f"the name comes last: tailrace {meant}")
        return super().resolve_command(ctx, args)


@click.group("partition", cls=VerbFirst)
def command() -> None:
    """List partitions, show one, or change what they hold."""


for _verb in (delete, history, restore):
    command.add_command(_verb)


@command.command("list", short_help="All partitions, with rows, size, days and gaps.")
@click.argument("names", metavar="[SEL]...", nargs=-1, shell_complete=complete_partitions)
@lake_options(False, "Of another lake, alone: a URL, a directory, or a workspace.")
@output_option
@without_spark()
def list_partitions(
    context: Context, names: tuple[str, ...], address: str | None, connection: str | None, output: str
) -> None:
    """All partitions: configured ones, live ones that a sink fills, and orphaned ones that only the lake knows.

    SEL may hold wildcards.
    """
    from tailrace.cli.hints import note_nothing
    from tailrace.cli.listing import show_rows
    from tailrace.cli.other_lake import lake_at, note_empty
    from tailrace.cli.settings import load_config, open_lake

    config = load_config(context)
    if address is not None:
        other = lake_at(context, config, address, connection)
        theirs = [row for row in partition_rows(config, other, names) if row["rows"] is not None]
        show_rows(theirs, COLUMNS, output)
        if not theirs:
            note_empty(context, other)
        return
    rows = partition_rows(config, open_lake(context, config), names)
    show_rows(rows, COLUMNS, output)
    if not rows:
        note_nothing(context)


def partition_rows(config: Config, lake: Lake, names: Sequence[str] = ()) -> list[Row]:
    """What is known of each partition, or of those that the names fit."""
    from tailrace.cli.matching import listed

    found = _known(config, lake)
    return [_row(name, found[name]) for name in listed("partition", names, sorted(found))]


def _row(name: str, known: Known) -> Row:
    from tailrace.cli.holdings import amounts

    return {
        "name": name,
        "state": known.state,
        "configured": known.spec is not None,
        **amounts(known.extent),
        "missing_days": known.extent.missing_days if known.extent else None,
        "description": known.spec.description if known.spec else "",
    }


@command.command("show", short_help="Sources, size, days and last collection of one.")
@click.argument("name", metavar="TABLE.PARTITION", shell_complete=complete_partitions)
@output_option
@without_spark()
def show_partition(context: Context, name: str, output: str) -> None:
    """Sources, size, days and last collection of one partition; with wildcards, of several."""
    from tailrace.cli.listing import show_several
    from tailrace.cli.matching import chosen, is_pattern
    from tailrace.cli.settings import load_config, open_lake

    config = load_config(context)
    lake = open_lake(context, config)
    found = _known(config, lake)
    shown = [_facts(config, lake, each, found[each]) for each in chosen("partition", name, sorted(found))]
    show_several(shown, output, as_list=is_pattern(name))


def _facts(config: Config, lake: Lake, name: str, known: Known) -> Row:
    from tailrace.cli.collected import told_by_ledger
    from tailrace.cli.source import source_row

    facts = _row(name, known)
    collected = told_by_ledger(lake, *name.split("."))
    spec = known.spec
    if spec is not None:
        facts |= {"filter": spec.filter, "tp_index": spec.tp_index or "default", **spec.resting}
        if spec.dedupe:
            facts["dedupe"] = list(spec.dedupe)
        facts["where"] = str(spec.where)
        last = {str(row["source"]): row["last"] for row in collected.get("collected_by_source", ())}  # type: ignore[attr-defined]
        facts["sources"] = [
            {**source_row(config, spec, source), "collected": last.get(source.name)} for source in spec.sources
        ]
    if known.extent is not None and known.extent.gaps:
        facts["gaps"] = [
            {"from": first, "to": last, "days": (last - first).days + 1} for first, last in known.extent.gaps
        ]
    return facts | collected


def _known(config: Config, lake: Lake) -> dict[str, Known]:
    from tailrace.cli.holdings import holdings
    from tailrace.config.live import live_partitions

    specs_of = {spec.full_name: spec for spec in (*live_partitions(config), *config.partitions)}
    found = {name: Known(spec, None) for name, spec in specs_of.items()}
    specs = dict(found)
    for table, holding in holdings(lake).items():
        if holding.problem is not None:
            found |= {n: Known(known.spec, None, True) for n, known in specs.items() if n.partition(".")[0] == table}
        for extent in holding.partitions:
            name = f"{table}.{extent.partition}"
            found[name] = Known(specs[name].spec if name in specs else None, extent)
    return found
