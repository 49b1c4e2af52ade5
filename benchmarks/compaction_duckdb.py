"""The rewrite of a compaction by DuckDB's COPY: small files of each day become one, sorted by time.

    python benchmarks/compaction_duckdb.py by_day|at_once SOURCE OUT

A column that is null in every row of a file is not in it, so columns have to be matched by name: without
`union_by_name` those that the first file lacks would be lost.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import duckdb

from columns import THREADS

READ = "hive_partitioning=false, union_by_name=true"
WRITTEN = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 131072"


def by_day(con: duckdb.DuckDBPyConnection, source: Path, out: Path) -> None:
    """A statement for every day."""
    for directory, _, names in os.walk(source):
        if not any(name.endswith(".parquet") for name in names) or "_delta_log" in directory:
            continue
        target = out / Path(directory).relative_to(source)
        target.mkdir(parents=True)
        rows = f"SELECT * FROM read_parquet('{directory}/*.parquet', {READ}) ORDER BY tp_timestamp"
        con.execute(f"COPY ({rows}) TO '{target}/all.parquet' ({WRITTEN})")


def at_once(con: duckdb.DuckDBPyConnection, source: Path, out: Path) -> None:
    """One statement for all of them."""
    place = "tp_partition, tp_index, tp_date"
    files = f"read_parquet('{source}/tp_partition=*/*/*/*.parquet', {READ})"
    rows = f"SELECT * FROM {files} ORDER BY {place}, tp_timestamp"
    con.execute(f"COPY ({rows}) TO '{out}' ({WRITTEN}, PARTITION_BY ({place}), WRITE_PARTITION_COLUMNS true)")


FORMS = {"by_day": by_day, "at_once": at_once}


def main() -> None:
    """One of them, from a cold start."""
    form, source, out = sys.argv[1:]
    with duckdb.connect() as con:
        con.execute(f"SET threads={THREADS}; SET enable_progress_bar=false; SET TimeZone='UTC'")
        FORMS[form](con, Path(source), Path(out))


if __name__ == "__main__":
    main()
