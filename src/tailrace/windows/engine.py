"""A window's SQL, run by DuckDB on the window's rows."""

from __future__ import annotations

import atexit
import re
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb.func import PythonUDFType

from tailrace.core.errors import QueryError, one_line
from tailrace.lake.place import Place
from tailrace.windows.data import WindowData
from tailrace.windows.sampling import PREFIX
from tailrace.windows.schema import PART_ID, TABLES
from tailrace.windows.views import HIDDEN, VIEW_SCHEMAS, views

# What is executed gives rows of Arrow with a copy: of samples that is the shorter way, see `rows_of`.
warnings.filterwarnings("ignore", "Arrow output on a DB-API result")
RESULT = "result"
"The answer, under this name beside the tables."
_ANSWER = pa.table({PART_ID: pa.array([], pa.string()), "parent_id": pa.array([], pa.int64())})
_TABLES = "tables: logs, log_attrs, resource_attrs, scope_attrs, log_attributes, resource_attributes …"
_GUESS = re.compile(r'\nDid you mean "[^"\n]*"\?')
"DuckDB's own; it knows tables that are not for queries."
_IDLE: dict[tuple[bool, int | None, int], list[duckdb.DuckDBPyConnection]] = {}
"Connections that no window uses just now, by what they were made with."


@contextmanager
def opened(
    data: WindowData, *, sentinels: bool = True, memory: int | None = None, threads: int = 1
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of the window alone: nothing else can be read or written from SQL. `memory` is in bytes."""
    idle = _IDLE.setdefault((sentinels, memory, threads), [])
    try:
        connection = idle.pop()
    except IndexError:
        connection = _connection(sentinels, memory, threads)
    for name in TABLES:
        connection.register(f"{name}_rows", getattr(data, name))
    try:
        yield connection
    finally:
        # The rows go with the window; the connection stays.
        for name in (RESULT, *(f"{name}_rows" for name in TABLES)):
            connection.unregister(name)
        idle.append(connection)


def _connection(sentinels: bool, memory: int | None, threads: int) -> duckdb.DuckDBPyConnection:
    """One for many windows, one after the other: to make one, with its views, takes longer than a small window."""
    config: dict[str, str | bool | int | float | list[str]] = {"threads": threads, "enable_external_access": False}
    # DuckDB's own choice is the working directory; it makes this one when it needs it, and takes it away.
    config["temp_directory"] = f"{tempfile.gettempdir()}/tailrace-window-{uuid.uuid4().hex}"
    if memory is not None:
        config["memory_limit"] = f"{memory}B"
    connection = duckdb.connect(config=config)
    # It holds a function of Python, and that the connection: who ends without closing it is told of a leak.
    atexit.register(connection.close)
    for name in TABLES:
        connection.register(f"{name}_rows", VIEW_SCHEMAS[name].empty_table())
        hidden = ", ".join(HIDDEN[name])
        connection.execute(f"CREATE VIEW {name} AS SELECT * EXCLUDE ({hidden}) FROM {name}_rows")
    for name, query in views(sentinels=sentinels, prepared=True).items():
        connection.execute(f"CREATE VIEW {name} AS {query}")
    _count_invalid(connection)
    connection.register(RESULT, _ANSWER)
    connection.execute(f"CREATE VIEW selected_ids AS SELECT DISTINCT {PART_ID}, parent_id AS sampled_id FROM {RESULT}")
    return connection


_INVALID: dict[int, int] = {}
"Weights that counted as 1 though they were given, by connection."


def _count_invalid(connection: duckdb.DuckDBPyConnection) -> None:
    """`wrs_invalid(weight)` is 1, and counts how often that is so; DuckDB calls it for such weights alone."""
    key = id(connection)
    _INVALID[key] = 0

    def one(weights: pa.ChunkedArray) -> pa.ChunkedArray:
        values = weights.to_numpy()
        _INVALID[key] += int((~((values > 0) & (values < np.inf))).sum())
        return pa.chunked_array([pa.array(np.ones(len(values)))])

    kind = PythonUDFType.ARROW
    connection.create_function("wrs_invalid", one, ["DOUBLE"], "DOUBLE", type=kind, side_effects=True)


def invalid_weights(connection: duckdb.DuckDBPyConnection) -> int:
    """How many there were since this was last asked."""
    found, _INVALID[id(connection)] = _INVALID[id(connection)], 0
    return found


def rows_of(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    """What a query gives; QueryError where it gives nothing."""
    try:
        # What is executed copies its rows once more, what is only named is planned twice: a sample has a long plan and
        # few rows.
        found: pa.Table = (connection.execute if PREFIX in query else connection.sql)(query).to_arrow_table()
        return found
    except duckdb.OutOfMemoryException as error:
        hint = "allow it more with memory_limit, or let it look at less: a shorter window, fewer joins"
        raise QueryError(one_line(error), code="query.memory", hint=hint) from None
    except duckdb.Error as error:
        shown = _TABLES if isinstance(error, duckdb.CatalogException) else None
        raise QueryError(_GUESS.sub("", str(error)).strip(), code="query.failed", hint=shown) from None


def answered(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    """The rows of a rewritten query, which are then there as a table too."""
    found = rows_of(connection, query)
    connection.register(RESULT, found)
    return found


def given(connection: duckdb.DuckDBPyConnection, place: Place, folder: str) -> pa.Table:
    """An answer that lies there as Parquet, as if it had been given here."""
    names = [name for name in (place / folder).names() if name.endswith(".parquet")]
    found = pa.concat_tables(pq.read_table(place.open(f"{folder}/{name}")) for name in names)
    connection.register(RESULT, found)
    return found
