"""The one DuckDB connection of a thread: casts and expressions on Arrow batches."""

from __future__ import annotations

import os
import threading
from functools import cache

import duckdb


def con() -> duckdb.DuckDBPyConnection:
    """A connection in memory, UTC, for this thread alone (a busy one refuses others); made anew after a fork."""
    return _connection(os.getpid(), threading.get_ident())


@cache
def _connection(_process: int, _thread: int) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("set TimeZone = 'UTC'")
    return connection
