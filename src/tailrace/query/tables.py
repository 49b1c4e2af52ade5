"""The tables of a lake as a query sees them, each opened once and only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from tailrace.core.errors import UsageError
from tailrace.query.filters import Schema, Scope

if TYPE_CHECKING:
    import pyarrow as pa

    from tailrace.core import Table
    from tailrace.lake.paths import Lake
    from tailrace.lake.snapshot import Snapshot
    from tailrace.lake.versions import Moment


class Tables:
    """All tables, stored or declared, as they are or were."""

    def __init__(self, lake: Lake, declared: Callable[[], Mapping[str, Table]], scope: Scope) -> None:
        self.lake = lake
        self.declared = cache(declared)
        "Tables that exist by declaration; they are empty until something is collected."
        self.scope = scope
        self.opened: dict[str, Snapshot | None] = {}
        self.travels: str | None = None
        "The one table of which a version is asked for."

    def names(self) -> frozenset[str]:
        """Every table there is."""
        from tailrace.lake.snapshot import tables

        stored = tables(self.lake)
        # Names that differ in case only are one to DuckDB: rows come before a declaration without any.
        folded = {name.lower() for name in stored}
        return frozenset({*(n for n in self.declared() if n.lower() not in folded), *stored})

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

    def snapshot(self, table: str) -> Snapshot | None:
        """What is stored of a table; None where nothing is, or was then."""
        if table not in self.opened:
            from tailrace.lake.snapshot import snapshot, snapshot_at, tables

            at = self.at(table)
            if table not in tables(self.lake):
                self.opened[table] = None
            else:
                self.opened[table] = snapshot(self.lake, table) if at is None else snapshot_at(self.lake, table, at)
        return self.opened[table]

    def columns(self, table: str) -> pa.Schema:
        """Those of a table that is not stored, or was not then."""
        from tailrace.core.arrow import arrow_schema
        from tailrace.lake.table import stored_schema

        stored = stored_schema(self.lake, table)
        return arrow_schema(self.declared()[table]) if stored is None else stored


@dataclass(frozen=True, slots=True)
class Shown:
    """The tables as one schema shows them, and of it what the command line leaves."""

    tables: Tables
    schema: Schema
    seen: dict[str, Snapshot | None] = field(default_factory=dict)

    def snapshot(self, table: str) -> Snapshot | None:
        """A table with the files that may hold rows to be seen; None where nothing was ever stored."""
        if table not in self.seen:
            whole = self.tables.snapshot(table)
            self.seen[table] = whole and replace(whole, files=self.tables.scope.of(table, self.schema.of(whole.files)))
        return self.seen[table]

    def columns(self, table: str) -> pa.Schema:
        """Those of a table, whether it has rows or not."""
        snapshot = self.snapshot(table)
        return self.tables.columns(table) if snapshot is None else snapshot.schema
