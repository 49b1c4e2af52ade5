"""The tables of a lake as a query sees them, each opened once and only when it is asked for."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from tailrace.core.errors import LakeError, UsageError
from tailrace.core.schemas import DEFAULT_SCHEMA
from tailrace.query.filters import Schema, Scope

if TYPE_CHECKING:
    from tailrace.core import Table
    from tailrace.lake.listing import Columns, Listing
    from tailrace.lake.materialized import Kept, Refreshed
    from tailrace.lake.paths import Lake, Tier
    from tailrace.lake.snapshot import Snapshot
    from tailrace.lake.versions import Moment


class Tables:
    """All tables, stored or declared, as they are or were."""

    def __init__(
        self,
        lake: Lake,
        declared: Callable[[], Mapping[str, Table]],
        scope: Scope,
        tiers: Callable[[], Sequence[Tier]] = tuple,
    ) -> None:
        self.lake = lake
        self.tiers = cache(lambda: tuple(tiers()) or lake.tiers)
        "Places that are asked for when a file rests in one."
        self.declared = cache(declared)
        "Tables that exist by declaration; they are empty until something is collected."
        self.scope = scope
        self.opened: dict[str, Listing | None] = {}
        self.travels: str | None = None
        "The one table of which a version is asked for."

    @cached_property
    def stored(self) -> frozenset[str]:
        """Tables of the lake, with or without rows."""
        from tailrace.lake.stored import tables

        return frozenset(tables(self.lake))

    @cached_property
    def names(self) -> frozenset[str]:
        """Every table there is."""
        # Names that differ in case only are one to DuckDB: rows come before a declaration without any.
        folded = {name.lower() for name in self.stored}
        return self.stored.union(name for name in self.declared() if name.lower() not in folded)

    def forget(self) -> None:
        """What was found so far."""
        self.opened.clear()
        for name in ("stored", "names"):
            self.__dict__.pop(name, None)

    def travel(self, tables: Collection[str]) -> None:
        """A version is asked for, and these tables are named: it has to be one, and always the same."""
        named = {*tables, *((self.travels,) if self.travels else ())}
        if len(named) > 1:
            raise UsageError(
                f"--at {self.scope.at} is a version of one table, and there are {', '.join(sorted(named))}",
                code="usage.version-of-several",
                hint=f"write --at {min(named)}={self.scope.at}, once for each table, or --at with a time",
            )
        self.travels = next(iter(named), None)

    def at(self, table: str) -> Moment | None:
        """Of when a table is to be seen; None: as it is."""
        for name, moment in self.scope.at_of:
            if name == table:
                return moment
        return None if isinstance(self.scope.at, int) and table != self.travels else self.scope.at

    def snapshot(self, table: str) -> Listing | None:
        """What is stored of a table; None where nothing is, or was then."""
        if table not in self.opened:
            seen = self._opened(table) if table in self.stored else None
            self.opened[table] = seen and self._with_tiers(seen)
        return self.opened[table]

    def _opened(self, table: str) -> Listing | None:
        at = self.at(table)
        if at is None:
            from tailrace.lake.kept_snapshot import kept_snapshot

            return kept_snapshot(self.lake, table)
        from tailrace.lake.arrow_listing import listing_of
        from tailrace.lake.snapshot import snapshot_at

        seen = snapshot_at(self.lake, table, at)
        return None if seen is None else listing_of(seen)

    def _with_tiers(self, seen: Listing) -> Listing:
        """Of a table with files that rest elsewhere: able to find them."""
        tiers = tuple(self.tiers_of(seen))
        return replace(seen, root=replace(self.lake, tiers=tiers).table_root(seen.table)) if tiers else seen

    def tiers_of(self, seen: Listing) -> Sequence[Tier]:
        """Configured places, where a file of the table may rest in one of them."""
        return self.tiers() if seen.moved else ()

    def columns(self, table: str) -> Columns:
        """Those of a table that is not stored, or was not then."""
        from tailrace.core.arrow import arrow_schema
        from tailrace.lake.sql import columns_of
        from tailrace.lake.table import stored_schema

        stored = stored_schema(self.lake, table)
        return columns_of(arrow_schema(self.declared()[table]) if stored is None else stored)


class Shown:
    """The tables as one schema shows them, and of it what the command line leaves."""

    def __init__(self, tables: Tables, schema: Schema) -> None:
        self.tables = tables
        self.schema = schema
        self.seen: dict[str, Listing | None] = {}

    def forget(self) -> None:
        """What was found so far."""
        self.seen.clear()
        for name in ("kept", "_refreshed"):
            self.__dict__.pop(name, None)

    def names(self) -> frozenset[str]:
        """Every table that the schema has."""
        return frozenset(name for name in (*self.tables.names, *self.kept) if self.schema.holds(name))

    def snapshot(self, table: str) -> Listing | None:
        """A table with the files that may hold rows to be seen; None where nothing is stored, or was then."""
        if table not in self.seen:
            whole = self._kept(table) if self.schema.materialized else self._live(table)
            self.seen[table] = whole and replace(whole, files=self.tables.scope.of(table, whole.files))
        return self.seen[table]

    def columns(self, table: str) -> Columns:
        """Those of a table, whether it has rows or not."""
        snapshot = self.snapshot(table)
        return self.tables.columns(table) if snapshot is None else snapshot.columns

    def is_old(self, table: str) -> bool:
        """Is it a version whose files may be gone?"""
        return not self.schema.materialized and self.tables.at(table) is not None

    @cached_property
    def kept(self) -> dict[str, Kept]:
        """Tables of the snapshot that a materialised schema shows."""
        return {kept.table: kept for kept in self._refreshed.tables} if self.schema.materialized else {}

    @cached_property
    def _refreshed(self) -> Refreshed:
        from tailrace.lake.materialized import refreshed

        found = refreshed(self.tables.lake, self.schema.name)
        if found is None:
            name = self.schema.name
            hint = f"`tailrace schema refresh {shlex.quote(name)}` writes what it shows"
            raise LakeError(f"schema {name} has never been refreshed", code="lake.never-refreshed", hint=hint)
        return found

    def _live(self, table: str) -> Listing | None:
        whole = self.tables.snapshot(table)
        return whole and replace(whole, files=self.schema.of(whole.files, self.tables.tiers_of(whole)))

    def _kept(self, table: str) -> Listing | None:
        from tailrace.lake.arrow_listing import listing_of
        from tailrace.lake.materialized import kept_table

        if self.tables.at(table) is not None:
            raise UsageError(
                f"schema {self.schema.name} is a snapshot and has no versions",
                code="usage.at-of-snapshot",
                hint=f"ask for {DEFAULT_SCHEMA}.{table}",
            )
        kept = self.kept.get(table)
        if kept is None:
            return None
        return listing_of(kept_table(self.tables.lake, self.schema.name, self._refreshed.run, kept))


def live_tables(lake: Lake, schema: Schema) -> list[Snapshot]:
    """The stored tables of a schema as they are now, with the files that it lets through."""
    from tailrace.lake.arrow_listing import files_of, rows_of
    from tailrace.lake.snapshot import snapshot, tables

    found = (snapshot(lake, name) for name in tables(lake) if schema.holds(name))
    return [replace(table, files=rows_of(table.files, schema.of(files_of(table.files), lake.tiers))) for table in found]
