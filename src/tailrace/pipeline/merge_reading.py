"""Rows of stored files as DuckDB reads them: opening many small ones costs it half of what it costs Arrow."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import duckdb
import pyarrow as pa

from tailrace.lake.quoting import literal, quoted, scan
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.sql import stored_type
from tailrace.pipeline.merged_files import Shape

MEMORY = "512MB"
"What DuckDB may use in one task; beyond it, it sorts on disk."
BATCH = 32 * 1024
"Rows."
FILE = " file"
"Name of the column that says which of the files a row is from."
FETCHED_AT_ONCE = 8


def select(
    con: duckdb.DuckDBPyConnection, shape: Shape, paths: Sequence[str], names: Sequence[str], order: str = ""
) -> pa.RecordBatchReader:
    """Rows of the files; in their order and with `FILE`, unless another order is given."""
    types = {name: stored_type(shape.schema.field(name)) for name in names}
    columns = ", ".join(map(quoted, types))
    end = f" ORDER BY {order}" if order else ""
    more = "" if order else f", file_index AS {quoted(FILE)}"
    return con.sql(f"SELECT {columns}{more} FROM {scan(paths, types)}{end}").to_arrow_reader(BATCH)


def index_key(path: str) -> str:
    """An expression that puts rows of one `tp_index` together."""
    name, *inner = path.split(".")
    # DuckDB 2.0 fails when it looks inside a struct for a field that a file lacks: it gets such structs whole.
    value = f"[{quoted(name)}][1]" + "".join(f"[{literal(part)}]" for part in inner)
    return f"coalesce(nullif({value}::VARCHAR, ''), 'default')"


@contextmanager
def at_hand(shape: Shape, files: Sequence[ActiveFile]) -> Iterator[list[str]]:
    """Paths that DuckDB can open; what lies elsewhere is fetched."""
    if all(shape.root.has_near(file.path) for file in files):
        yield [shape.root.address(file.path) for file in files]
        return
    with tempfile.TemporaryDirectory(prefix="tailrace-merge-") as folder:

        def fetch(numbered: tuple[int, ActiveFile]) -> str:
            number, file = numbered
            target = f"{folder}/{number}.parquet"
            with shape.root.open(file.path) as source, open(target, "wb") as copy:
                copy.write(source.read())
            return target

        with ThreadPoolExecutor(FETCHED_AT_ONCE) as pool:
            paths = list(pool.map(fetch, enumerate(files)))
        yield paths


def connection() -> duckdb.DuckDBPyConnection:
    """One for all small merges of a thread; made anew after a fork."""
    return _kept(os.getpid(), threading.get_ident())


@cache
def _kept(_process: int, _thread: int) -> duckdb.DuckDBPyConnection:
    return connected("")


def connected(spilled: str) -> duckdb.DuckDBPyConnection:
    """The tasks are the parallelism: one thread each."""
    return duckdb.connect(config={"threads": 1, "memory_limit": MEMORY, "temp_directory": spilled})
