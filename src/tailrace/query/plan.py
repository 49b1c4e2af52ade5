"""Which views a statement scans, and with which filters: it is bound against empty tables, and the plan is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tailrace.lake.quoting import literal, quoted
from tailrace.query.conditions import Condition, conditions, scans_of
from tailrace.query.duck import duckdb
from tailrace.query.limits import Limits, confine
from tailrace.query.opening import opened
from tailrace.query.settings import adapt

if TYPE_CHECKING:
    from tailrace.lake.listing import Columns

CATALOG = "memory"
"DuckDB's name of a database that is in no file."
_STUBS = "tailrace_stub"
_LEFT_OUT = "statistics_propagation"
"The optimizer that would find that an empty table has no rows."
Key = tuple[str, str]
"Schema and name of a view."
Scans = dict[Key, list[list[Condition]]]


def address(key: Key) -> str:
    """A view's full name, wherever the user's own path leads."""
    return ".".join((CATALOG, *map(quoted, key)))


def scans(
    connection: duckdb.DuckDBPyConnection, statement: str, path: str, views: Mapping[Key, Columns], *, adapted: bool
) -> Scans | None:
    """Each scan of each view; None where DuckDB has no plan of the statement.

    `adapted`: statements may have changed what others mean, by settings or variables.
    """
    schemas = {schema for schema, _ in views}
    numbered = {f"t{number}": key for number, key in enumerate(views)}
    found: Scans = {key: [] for key in views}
    with _apart(connection) as cursor:
        try:
            for schema in (*schemas, _STUBS):
                cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {CATALOG}.{quoted(schema)}")
            if adapted:
                adapt(cursor, connection)
            for name, key in numbered.items():
                columns = ", ".join(f"{quoted(shape.name)} {shape.type}" for shape in views[key].shapes)
                cursor.execute(f"CREATE TABLE {CATALOG}.{_STUBS}.{name} ({columns})")
                cursor.execute(f"CREATE OR REPLACE VIEW {address(key)} AS FROM {CATALOG}.{_STUBS}.{name}")
            cursor.execute(f"SET search_path = {literal(path)}")
            plan = cursor.execute(f"EXPLAIN (FORMAT json) {statement}").fetchall()
        except duckdb.Error:
            return None
    for node in json.loads(plan[0][1]):
        for name, filters in scans_of(node, _STUBS):
            key = numbered[name]
            found[key].append(conditions(filters, (shape.name for shape in views[key].shapes)))
    return found


@contextmanager
def _apart(connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """A second look at the same database; nothing that is made through it stays."""
    cursor = connection.cursor()
    ((left_out,),) = cursor.execute("SELECT current_setting('disabled_optimizers')").fetchall()
    if left_out != _LEFT_OUT:
        cursor.execute(f"SET disabled_optimizers = '{_LEFT_OUT}'")
    cursor.execute("BEGIN")
    try:
        yield cursor
    finally:
        cursor.execute("ROLLBACK")
        if left_out != _LEFT_OUT:
            cursor.execute("RESET disabled_optimizers")
        cursor.close()


def planner(schema: str, limits: Limits) -> duckdb.DuckDBPyConnection:
    """A database to plan in, for where no setting can be changed any more and nothing else is made by statements."""
    connection = opened()
    connection.execute(f"SET disabled_optimizers = '{_LEFT_OUT}'")
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {CATALOG}.{quoted(schema)}")
    confine(connection, limits)
    return connection
