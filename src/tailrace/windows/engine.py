"""A window's SQL, run by DuckDB on the window's rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import duckdb
import pyarrow as pa

from tailrace.core.errors import QueryError, one_line
from tailrace.windows.data import VIEW_SCHEMAS, WindowData
from tailrace.windows.schema import TABLES
from tailrace.windows.views import views

RESULT = "result"
"The answer, under this name beside the tables."


@contextmanager
def opened(data: WindowData, *, sentinels: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of the window alone: nothing else can be read or written from SQL."""
    connection = _connection(threading.get_ident(), sentinels)
    for name in TABLES:
        connection.register(f"{name}_rows", getattr(data, name))
    try:
        yield connection
    finally:
        # The rows go with the window; the connection stays.
        for name in (RESULT, *(f"{name}_rows" for name in TABLES)):
            connection.unregister(name)


@cache
def _connection(_thread: int, sentinels: bool) -> duckdb.DuckDBPyConnection:
    """One for a thread and all its windows: to make one, with its views, takes longer than a small window."""
    connection = duckdb.connect(config={"threads": 1, "enable_external_access": False})
    for name in TABLES:
        connection.register(f"{name}_rows", VIEW_SCHEMAS[name].empty_table())
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {name}_rows")
    for name, query in views(sentinels=sentinels).items():
        connection.execute(f"CREATE VIEW {name} AS {query}")
    return connection


def answered(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    """The rows of a rewritten query, which are then there as a table too."""
    try:
        found = connection.execute(query).to_arrow_table()
    except duckdb.Error as error:
        hint = "tables: logs, log_attrs, resource_attrs, scope_attrs, log_attributes, resource_attributes …"
        raise QueryError(one_line(error), code="query.failed", hint=hint) from None
    connection.register(RESULT, found)
    return found
