"""What the lake holds, for lists: a table that is damaged is noted, and the others are still listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click

from tailrace.cli.listing import Row
from tailrace.cli.redact import visible_error
from tailrace.core.errors import LakeError

if TYPE_CHECKING:
    from tailrace.lake.extents import Extent
    from tailrace.lake.paths import Lake
    from tailrace.lake.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Holding:
    """One stored table as its Delta log tells it."""

    total: Extent | None
    partitions: tuple[Extent, ...] = ()
    problem: LakeError | None = None
    look: Callable[[], Snapshot | None] = lambda: None

    @property
    def snapshot(self) -> Snapshot | None:
        """All that the log says of its files, which may have to be read for it; None: it cannot be."""
        return self.look()


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
            what = "is damaged" if ".damaged-" in holding.problem.code else "cannot be read"
            click.echo(f"table {name} {what}: {visible_error(holding.problem)}", err=True)
    return found


def partition_names(lake: Lake, held: Mapping[str, Holding]) -> set[str]:
    """Partitions that have rows; of a table whose log cannot be read, all that were ever collected."""
    from tailrace.lake.intents import partitions

    names = {f"{table}.{extent.partition}" for table, holding in held.items() for extent in holding.partitions}
    unknown = {table for table, holding in held.items() if holding.problem is not None}
    more = partitions(lake) if unknown else ()
    return names.union(f"{table}.{partition}" for table, partition in more if table in unknown)


def _holding(lake: Lake, name: str) -> Holding:
    from tailrace.lake.extents import partition_extents, table_extent
    from tailrace.lake.snapshot import snapshot
    from tailrace.lake.stored import large_checkpoint

    try:
        amounts = None if large_checkpoint(lake.table_root(name)) is None else _amounts(lake, name)
        seen = amounts or snapshot(lake, name)
    except LakeError as error:
        return Holding(None, (), error)
    look = partial(snapshot, lake, name) if amounts else lambda: seen
    return Holding(table_extent(seen), tuple(partition_extents(seen)), None, look)


def _amounts(lake: Lake, name: str) -> Snapshot | None:
    """Of a table of very many files."""
    from tailrace.lake.logged_files import logged_amounts

    return logged_amounts(lake, name)


def amounts(extent: Extent | None) -> Row:
    """Rows, files, size and time of the last change; unknown where nothing is stored."""
    if extent is None:
        return dict.fromkeys(("rows", "files", "size", "first", "last", "changed"))
    return {
        "rows": extent.rows,
        "files": extent.files,
        "size": extent.bytes,
        "first": extent.first,
        "last": extent.last,
        "changed": extent.changed,
    }
