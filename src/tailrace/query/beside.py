"""Tables beside the lake, such as those of sinks: each a view in a schema of its own, made anew for each statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from tailrace.lake.quoting import quoted
from tailrace.query import bodies
from tailrace.query.conditions import Condition
from tailrace.query.plan import CATALOG, Key, Scans, address
from tailrace.query.statement import Statement

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from tailrace.lake.listing import Columns

Bounds = Mapping[str, tuple[int, int]]
"Least and greatest values of columns."


class Look(Protocol):
    """Parquet files that hold what a table holds now, as long as this is not closed."""

    @property
    def paths(self) -> Sequence[str]: ...

    @property
    def close(self) -> Callable[[], object]: ...


@dataclass(frozen=True, slots=True)
class BesideTable:
    """A table that is somewhere else; who looks says which rows may matter, by bounds of their columns."""

    schema: str
    name: str
    columns: pa.Schema
    look: Callable[[Callable[[Bounds], bool]], Look]

    @property
    def key(self) -> Key:
        return self.schema, self.name

    @property
    def shapes(self) -> Columns:
        from tailrace.lake.sql import columns_of

        return columns_of(self.columns)


class Beside:
    """All of them; `declared` is asked only when a statement may mean one.

    Names of their schemas begin with `prefix`: nothing is asked before a statement has it. `readable` tells the
    directories of their files, to an engine that may read no others.
    """

    def __init__(
        self,
        prefix: str = "",
        declared: Callable[[], Iterable[BesideTable]] = tuple,
        readable: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.prefix, self.declared, self.readable = prefix, declared, readable
        self.made: dict[Key, BesideTable] = {}
        "Those that statements have named so far."
        self._looks: dict[Key, Look] = {}
        "What the views that were made last read."

    def told(self, schema: str) -> str | None:
        """Which schemas there are, for whoever means one of these; None where another kind is meant."""
        if not self.prefix or not schema.lower().startswith(self.prefix):
            return None
        names = ", ".join(dict.fromkeys(table.schema for table in self.declared()))
        others = "`tailrace window query DIR` asks the tables of a sink of OTAP"
        return f"of sinks there are {names}; {others}" if names else f"no sink has a schema here; {others}"

    def list(self, connection: duckdb.DuckDBPyConnection, statement: Statement) -> set[Key]:
        """Views without rows for what the statement may mean, or lists: names are there, nothing is looked at yet."""
        if not self.prefix or not (self.prefix in statement.lowered or statement.lists_all_schemas):
            return set()
        found: set[Key] = set()
        for table in self.declared():
            is_new = table.key not in self.made and statement.mentions(table.schema)
            if is_new or statement.lists_all_schemas:  # what a transaction made may have been rolled back
                self.made[table.key] = table
                _make(connection, table.key, bodies.nothing(table.shapes))
                found.add(table.key)
        return found

    def wanted(self, statement: Statement, path: Callable[[], Sequence[str]], indirect: bool) -> dict[Key, BesideTable]:
        """Tables that the statement may read; `indirect`: through a view or macro of the user's, which names them."""
        if not self.made or not statement.reads:
            return {}
        bare = set(path())
        return {
            key: table
            for key, table in self.made.items()
            if indirect
            or (statement.mentions(table.name) and (statement.mentions(table.schema) or table.schema in bare))
        }

    def make(
        self,
        connection: duckdb.DuckDBPyConnection,
        wanted: Mapping[Key, BesideTable],
        scans: Callable[[Mapping[Key, Columns]], Scans | None],
    ) -> None:
        """Views of what these tables hold now; `scans` says which rows a statement asks for."""
        asked = _Asked({key: table.shapes for key, table in wanted.items()}, scans)
        for key, table in wanted.items():
            found = table.look(lambda bounds, key=key: asked.is_needed(key, bounds))  # type: ignore[misc]
            before = self._looks.pop(key, None)
            self._looks[key] = found
            paths = found.paths
            _make(connection, key, bodies.rows_of(paths, table.shapes) if paths else bodies.nothing(table.shapes))
            if before is not None:
                before.close()


@dataclass
class _Asked:
    """Which rows a statement asks for: found out when somebody wants to know."""

    columns: Mapping[Key, Columns]
    scans: Callable[[Mapping[Key, Columns]], Scans | None]

    @cached_property
    def found(self) -> Scans:
        return self.scans(self.columns) or {}

    def is_needed(self, key: Key, bounds: Bounds) -> bool:
        scans = self.found.get(key)
        return not scans or any(all(_may_hold(one, bounds) for one in scan) for scan in scans)


def _may_hold(condition: Condition, bounds: Bounds) -> bool:
    """For any value between the bounds."""
    within = bounds.get(condition.column)
    if within is None or not all(type(value) in (int, Decimal) for value in condition.values):
        return True
    low, high = within
    match condition.operator:
        case "=":
            return any(low <= value <= high for value in condition.values)
        case ">":
            return bool(high > condition.values[0])
        case ">=":
            return bool(high >= condition.values[0])
        case "<":
            return bool(low < condition.values[0])
        case "<=":
            return bool(low <= condition.values[0])
    return True


def _make(connection: duckdb.DuckDBPyConnection, key: Key, body: str) -> None:
    with connection.cursor() as cursor:  # beside any transaction of the user's
        cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {CATALOG}.{quoted(key[0])}")
    connection.execute(f"CREATE OR REPLACE VIEW {address(key)} AS {body}")
