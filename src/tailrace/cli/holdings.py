"""What the lake holds, for lists: a table that is damaged is noted, and the others are still listed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tailrace.cli.listing import Row
from tailrace.core.errors import LakeError

if TYPE_CHECKING:
    from tailrace.lake.extents import Extent
    from tailrace.lake.paths import Lake
    from tailrace.lake.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Holding:
    """One stored table as its Delta log tells it."""

    snapshot: Snapshot | None
    total: Extent | None
    partitions: tuple[Extent, ...] = ()
    problem: LakeError | None = None


def holdings(lake: Lake, wanted: Iterable[str] | None = None) -> dict[str, Holding]:
    """By table, those of `wanted` that exist, or all; what cannot be read is said on stderr."""
    # A lake without tables is listed without the libraries that read one.
    if not lake.data_root.exists():
        return {}
    from tailrace.lake.snapshot import tables

    names = tables(lake)
    found = {name: _holding(lake, name) for name in (names if wanted is None else set(wanted).intersection(names))}
    for name, holding in sorted(found.items()):
        if holding.problem is not None:
            click.secho(f"warning[{holding.problem.code}]: ", fg="yellow", nl=False, err=True)
            click.echo(f"table {name} is damaged: {holding.problem}", err=True)
    return found


def _holding(lake: Lake, name: str) -> Holding:
    from tailrace.lake.extents import partition_extents, table_extent
    from tailrace.lake.snapshot import snapshot

    try:
        seen = snapshot(lake, name)
    except LakeError as error:
        return Holding(None, None, (), error)
    return Holding(seen, table_extent(seen), tuple(partition_extents(seen)))


def amounts(extent: Extent | None) -> Row:
    """Rows, files, size and time of the last collection; unknown where nothing is stored."""
    if extent is None:
        return dict.fromkeys(("rows", "files", "size", "first", "last", "collected"))
    return {
        "rows": extent.rows,
        "files": extent.files,
        "size": extent.bytes,
        "first": extent.first,
        "last": extent.last,
        "collected": extent.collected,
    }
