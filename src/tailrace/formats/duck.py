"""The one DuckDB connection of a process: casts and expressions on Arrow batches."""

from __future__ import annotations

import os
from functools import cache

import duckdb


def con() -> duckdb.DuckDBPyConnection:
    """A connection in memory, UTC, one thread; made anew after a fork."""
    return _connection(os.getpid())


@cache
def _connection(_process: int) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("set TimeZone = 'UTC'")
    return connection
