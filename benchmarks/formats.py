"""Formats beside DuckDB: CPU time of one thread from the bytes of a file to typed columns in Arrow, row by row.

    python benchmarks/formats.py --rows 200000 --runs 3 --only json,jsonl

Runs of both alternate; medians are reported. What both read is compared: rows, and the sum of the sizes (a test
compares all values). DuckDB is connected before the clock starts, as a worker's own connection is, and both run with
the memory settings of a worker. Only Tailrace finds out where each line stands, and whether there are fields without
a column.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

import format_inputs
import report
from format_jobs import JOBS, Job
from tailrace.core import Table
from tailrace.formats import decoder
from tailrace.formats.base import Batch
from tailrace.formats.stream import open_streams
from tailrace.pipeline.options import WORKERS_MEMORY

Sums = tuple[int, int]
"Rows, and the sum of `size` where there is such a column."


def batches(table: Table, path: Path) -> Iterator[Batch]:
    """The file by Tailrace's engine for the table's format."""
    with path.open("rb") as raw:
        for _, stream in open_streams(raw, path.name):
            yield from decoder(table, table.format).decode(stream)


def ours(job: Job, path: Path) -> Sums:
    rows = size = 0
    for batch in batches(job.table, path):
        assert not batch.bad, batch.bad[0]
        rows += batch.rows
        size += _size(batch.columns.get("size"))
    return rows, size


def connected() -> duckdb.DuckDBPyConnection:
    """DuckDB on one thread."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
    return connection


def theirs(job: Job, path: Path, connection: duckdb.DuckDBPyConnection) -> Sums:
    rows = size = 0
    for batch in connection.sql(job.query.replace("$path", str(path))).to_arrow_reader(100_000):
        rows += batch.num_rows
        size += _size(batch.column("size") if "size" in batch.schema.names else None)
    return rows, size


def _size(column: pa.Array | None) -> int:
    return 0 if column is None else pc.sum(column).as_py() or 0


def cpu(read: Callable[[], Sums]) -> tuple[float, Sums]:
    """CPU seconds of this process, all of its threads, and what was read."""
    before = time.process_time()
    sums = read()
    return time.process_time() - before, sums


def compared(job: Job, path: Path, runs: int) -> report.Result:
    """Medians; a first run each is not counted."""
    mine: list[float] = []
    other: list[float] = []
    connection = connected()
    for number in range(runs + 1):
        seconds, found = cpu(lambda: ours(job, path))
        told = found
        if number:
            mine.append(seconds)
        if job.query:
            seconds, told = cpu(lambda: theirs(job, path, connection))
            if number:
                other.append(seconds)
        assert found == told, f"{job.name}: {found} here, {told} in DuckDB"
    micros = 1e6 / found[0]
    return {
        "format": job.name,
        "rows": found[0],
        "bytes": path.stat().st_size,
        "ours": statistics.median(mine) * micros,
        "theirs": statistics.median(other) * micros if other else None,
        "way": job.way,
        "limit": job.limit,
    }


def as_a_worker() -> None:
    """Begins again with the memory settings of a worker, which allocators read once."""
    if any(os.environ.get(name) != value for name, value in WORKERS_MEMORY.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | WORKERS_MEMORY)


def main() -> None:
    """Measure what the command line names, keep the rest, write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="names of formats, with commas between them")
    parser.add_argument("--dry", action="store_true", help="print the figures, keep nothing")
    args = parser.parse_args()
    pa.set_cpu_count(1)
    chosen = [job for job in JOBS if not args.only or job.name in args.only.split(",")]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        paths = format_inputs.write(Path(folder), args.rows)
        for job in chosen:
            results.append(compared(job, paths[job.input], args.runs))
            print(json.dumps(results[-1]), flush=True)
    if not args.dry:
        report.keep_named("formats", "format", results)
        report.write()


if __name__ == "__main__":
    as_a_worker()
    main()
