"""What `doctor` looks at in a lake: tiers, tables, and what lies beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.cli.findings import Finding, on_disk, told
from tailrace.cli.options import Context

if TYPE_CHECKING:
    from tailrace.config import Config
    from tailrace.lake.inspection import Flaw
    from tailrace.lake.paths import Lake, Tier

MANY_FILES = 100_000
MOST_FILES = 10
"Broken files of a table that are told one by one."


def tiers(context: Context) -> Iterator[Finding]:
    from tailrace.cli.settings import load_config
    from tailrace.cli.tiers import declared_tiers
    from tailrace.core import ConfigError

    try:
        config = load_config(context)
    except ConfigError:
        return  # said already
    for name, tier in declared_tiers(config):
        yield from told(f"tier {name}", _tier(context, config, f"tier {name}", tier))


def _tier(context: Context, config: Config, name: str, opened: Callable[[], Tier]) -> Iterator[Finding]:
    """Days can be moved there, and those that were are there."""
    from tailrace.cli.settings import open_lake
    from tailrace.lake.mounted import require_mounted

    tier = opened()
    place = tier.place
    lake = open_lake(context, config)
    require_mounted(lake, tier)
    if not place.is_local:
        found = "holds files" if place.exists() else "is empty so far"
        yield Finding(name, "ok", f"{place} {found}")
        return
    yield on_disk(name, Path(str(place)), str(place), "choose another `path`, or mount it")


def lake(context: Context, *, deep: bool) -> Iterator[Finding]:
    """All tables of the workspace, wherever it lies."""
    from tailrace.cli.settings import load_config, open_lake
    from tailrace.cli.summary import count
    from tailrace.core import ConfigError
    from tailrace.lake.intents import partitions
    from tailrace.lake.snapshot import tables

    try:
        lake = open_lake(context, load_config(context))
    except ConfigError:  # said already; what rests in the workspace can be looked at all the same
        lake = open_lake(context)
    names = tables(lake)
    root, held = lake.data_root, count(len(names), "table") if names else "no table yet"
    if root.is_local:  # not always on the disk of the home
        yield on_disk("lake", Path(str(root)), f"{root} holds {held}", "make it writable, or choose another home")
    else:
        yield Finding("lake", "ok", f"{root} holds {held}")
    for name in names:
        yield from told(name, _table(lake, name, deep))
    for table, partition in partitions(lake):
        yield from told(f"{table}.{partition}", _beside(lake, table, partition, deep))


def _beside(lake: Lake, table: str, partition: str, deep: bool) -> Iterator[Finding]:
    """What there is of a partition besides its rows."""
    from tailrace.lake.inspection import broken_quarantine, damaged_runs, lost_commits

    name = f"{table}.{partition}"
    for flaw in damaged_runs(lake, table, partition):
        yield Finding(name, "error", f"{flaw.where}: {flaw.what}", flaw.hint)
    is_gone = False
    for flaw in lost_commits(lake, table, partition):
        is_gone = True
        yield Finding(name, "error", f"{flaw.where}: {flaw.what}", flaw.hint)
    if not is_gone:  # without the log the ledger says nothing
        yield from _some(name, broken_quarantine(lake, table, partition, deep=deep))


def _some(name: str, broken: Iterator[Flaw]) -> Iterator[Finding]:
    """The first of them one by one, and how many more there are."""
    for flaw in islice(broken, MOST_FILES):
        yield Finding(name, "error", f"{flaw.where}: {flaw.what}", flaw.hint)
    if more := sum(1 for _ in broken):
        yield Finding(
            name, "error", f"{more:,} more files are broken", "`tailrace doctor` tells of them when these are mended"
        )


def _table(lake: Lake, name: str, deep: bool) -> Iterator[Finding]:
    from tailrace.cli.summary import size
    from tailrace.lake.extents import table_extent
    from tailrace.lake.inspection import broken_files
    from tailrace.lake.snapshot import snapshot

    found = snapshot(lake, name)
    extent = table_extent(found)
    broken = [*_some(name, broken_files(found, deep=deep))]
    yield from broken
    detail = f"{extent.rows:,} rows in {extent.files:,} files, {size(extent.bytes)}"
    if not broken and extent.files > MANY_FILES:
        yield Finding(name, "warning", detail, "so many files make commits and queries slow: `tailrace compact`")
    elif not broken:
        yield Finding(name, "ok", f"{detail}{', all of them read' if deep else ''}")
