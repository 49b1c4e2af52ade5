"""An empty database of DuckDB, made as one is asked for, or ahead of that.

To make one takes as long as to import all that a query needs besides DuckDB, and runs beside it: Python is not needed.
"""

from __future__ import annotations

import threading

from tailrace.query.duck import duckdb


class _Ahead(threading.Thread):
    """Makes one database."""

    def __init__(self) -> None:
        super().__init__(name="opening")
        self.made: duckdb.DuckDBPyConnection | None = None
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            self.made = _made()
        except Exception as error:
            self.failure = error

    def taken(self) -> duckdb.DuckDBPyConnection:
        self.join()
        if self.made is None:
            assert self.failure is not None
            raise self.failure
        return self.made


_begun: list[_Ahead] = []


def begin() -> None:
    """Somebody is going to ask for one."""
    ahead = _Ahead()
    ahead.start()
    _begun.append(ahead)


def opened() -> duckdb.DuckDBPyConnection:
    """An empty database whose times are UTC."""
    return _begun.pop().taken() if _begun else _made()


def _made() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    # Of all its cursors: what a statement means is asked through another one than what it answers.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    # To a Python without a file, such as `python -c`, it would draw between the rows of an answer.
    connection.execute("SET enable_progress_bar = false")
    # Times are stored without zone and mean UTC: `now()` has to be of the same kind to be compared with them.
    connection.execute("CREATE MACRO now() AS (get_current_timestamp() AT TIME ZONE 'UTC')")
    return connection
