"""`tailrace store list|show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tailrace.cli.completing import names_of
from tailrace.cli.options import Context, output_option, without_spark

if TYPE_CHECKING:
    from tailrace.config import Config, OtherBlock
    from tailrace.lake.paths import Lake

Row = dict[str, Any]
"One line of an answer."

COLUMNS = ("name", "tiers", "paths", "retention", "active", "where")
DEFAULT = "default"
ORPHANED = "orphaned"
"Days rest where a tier was that the configuration has no more."
NOTHING: Row = {"rows": 0, "files": 0, "size": 0, "first": None, "last": None}


@click.group("store")
def command() -> None:
    """List stores, or show one."""


@command.command("list")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=names_of("store"))
@output_option
@without_spark()
def list_stores(context: Context, names: tuple[str, ...], output: str) -> None:
    """Stores, and where their days rest. NAME may hold wildcards."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.matching import listed
    from tailrace.cli.settings import load_config

    known = _known(context, load_config(context))
    rows = [known[name] for name in listed("store", names, known)]
    for row in rows:
        tiers = row["tiers"]
        assert isinstance(tiers, list)
        row |= {"tiers": [tier["name"] for tier in tiers], "paths": [tier["path"] for tier in tiers]}
    show_rows(rows, COLUMNS, output)


@command.command("show")
@click.argument("name", shell_complete=names_of("store"))
@output_option
@without_spark()
def show_store(context: Context, name: str, output: str) -> None:
    """The tiers of a store and what rests in them."""
    from tailrace.cli.listing import show_several
    from tailrace.cli.matching import chosen, is_pattern
    from tailrace.cli.settings import load_config, open_lake

    config = load_config(context)
    known = _known(context, config)
    amounts = _amounts(open_lake(context, config))
    shown = [known[each] for each in chosen("store", name, known)]
    for row in shown:
        tiers = row["tiers"]
        assert isinstance(tiers, list)
        row["tiers"] = [{**tier, **amounts.get((str(row["name"]), tier["name"]), NOTHING)} for tier in tiers]
        if row["name"] == DEFAULT:
            row["tiers"] += [{"name": ORPHANED, "path": path, **amounts[ORPHANED, path]} for path in _orphaned(amounts)]
    show_several(shown, output, as_list=is_pattern(name))


def _known(context: Context, config: Config) -> dict[str, Row]:
    """Every store by name; `default` is the workspace unless a block says otherwise."""
    from tailrace.cli.settings import open_lake
    from tailrace.config.declare import STORE

    data = open_lake(context, config).data_root
    workspace = {"name": "workspace", "path": str(data)}
    rows: dict[str, Row] = {
        DEFAULT: {"name": DEFAULT, **dict.fromkeys(STORE), "active": True, "where": None, "tiers": [workspace]}
    }
    for block in config.of("store"):
        rows[block.name] = {
            "name": block.name,
            **{name: block.args.get(name) for name in STORE},
            "active": True,
            "where": str(block.where),
            "tiers": [*map(_tier, block.blocks), *([workspace] if block.name == DEFAULT or not block.blocks else [])],
        }
    for name, row in rows.items():
        row["partitions"] = [p.full_name for p in config.partitions if _store_of(p.resting.get("store")) == name]
    return rows


def _orphaned(amounts: dict[tuple[str, str], Row]) -> list[str]:
    return sorted(path for store, path in amounts if store == ORPHANED)


def _amounts(lake: Lake) -> dict[tuple[str, str], Row]:
    """What rests where, by store and tier, as the Delta logs tell it; by path where no tier is configured."""
    from tailrace.lake.resting import path_of, tier_of
    from tailrace.lake.snapshot import snapshot, tables
    from tailrace.lake.table_place import is_elsewhere

    found: dict[tuple[str, str], Row] = {}
    for table in tables(lake):
        for file in snapshot(lake, table).files.select(["path", "rows", "size", "tp_date"]).to_pylist():
            tier = tier_of(file["path"], lake.tiers)
            place = (tier.store, tier.name) if tier else (DEFAULT, "workspace")
            if tier is None and is_elsewhere(file["path"]):
                place = (ORPHANED, path_of(file["path"]))
            row = found.setdefault(place, {**NOTHING, "first": file["tp_date"], "last": file["tp_date"]})
            row |= {
                "rows": row["rows"] + file["rows"],
                "files": row["files"] + 1,
                "size": row["size"] + file["size"],
                "first": min(row["first"], file["tp_date"]),
                "last": max(row["last"], file["tp_date"]),
            }
    return found


def _tier(block: OtherBlock) -> Row:
    from tailrace.cli.describe import with_defaults
    from tailrace.config.declare import TIER

    return {"name": block.name, **with_defaults(block.args, TIER)}


def _store_of(reference: object) -> str:
    return DEFAULT if reference is None else str(reference).rpartition(".")[2]
