"""A lake of many small files to compact: days of ten partitions, each as if collected twenty times.

One day is collected by the real command. What it stored is cut into slices and written for every day with other times
and ids, by the code that writes files of the lake, and committed as collections commit.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from generate import DATA
from run import CACHE, TABLES, tailrace_command
from synthetic_lines import nginx_lines

TABLE = TABLES["nginx"]
FIRST_DAY = date(2026, 1, 1)
PARTITIONS, FILES, ROWS = 10, 20, 250
COMMITS = 4
"Of each partition."
VERSION = 1
"Raised when the files change, so that no stale data are measured."


@dataclass(frozen=True, slots=True)
class SmallFiles:
    """A home whose lake is never changed: it is copied."""

    home: Path
    expected: dict[str, Any]

    @property
    def data(self) -> Path:
        return self.home / "data" / "default" / f"tp_table={TABLE}"


def small_files(days: int) -> SmallFiles:
    """So many days of all partitions together; made once."""
    home = DATA / f"small-files-{days}-v{VERSION}"
    facts = home / "expected.json"
    if not facts.exists():
        shutil.rmtree(home, ignore_errors=True)
        rows = _template(home)
        _write(home, rows, days)
        expected = {"days": days, "files": days * FILES, "rows": days * FILES * ROWS}
        facts.write_text(json.dumps(expected | {"content": _content(home)}))
    return SmallFiles(home, json.loads(facts.read_text()))


def _template(home: Path) -> pa.Table:
    """What is stored of one day."""
    text, _ = nginx_lines(FILES * ROWS, datetime(2026, 1, 1, tzinfo=UTC), np.random.default_rng(7))
    logs = home / "logs" / "web-00"
    logs.mkdir(parents=True)
    (logs / "access.log-20260101.gz").write_bytes(gzip.compress(text))
    command = tailrace_command(home / "template", "nginx", home / "logs")
    subprocess.run(command, env=os.environ | CACHE, check=True, stdout=subprocess.DEVNULL)
    found = list((home / "template").rglob("*.parquet"))
    rows = pa.concat_tables(pq.read_table(path, partitioning=None) for path in found if "tp_date=" in str(path))
    assert rows.num_rows == FILES * ROWS, rows.num_rows
    return rows


def _write(home: Path, rows: pa.Table, days: int) -> None:
    from tailrace.lake.commit import Change, PartitionWriter
    from tailrace.lake.paths import Lake
    from tailrace.lake.runs import new_run_id
    from tailrace.lake.snapshot import snapshot

    schema = snapshot(Lake(home / "template"), TABLE).schema
    lake, each = Lake(home), days // PARTITIONS
    assert each * PARTITIONS == days, f"a number of days that {PARTITIONS} divides"
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for number in range(PARTITIONS):
            run = new_run_id()
            writer = PartitionWriter(lake, TABLE, f"p{number}", run, schema)
            writer.recover()
            make = partial(_day, str(home), rows, schema, f"p{number}", run)
            files = [file for day in pool.map(make, range(each), chunksize=5) for file in day]
            for turn in range(COMMITS):
                writer.commit(Change([], files[turn::COMMITS]))
            writer.finish()
    shutil.rmtree(home / "template")


def _day(home: str, rows: pa.Table, schema: pa.Schema, partition: str, run: str, number: int) -> list[Any]:
    """The files of one day, each with every twentieth row."""
    from tailrace.lake.files import DataFile
    from tailrace.lake.paths import Lake
    from tailrace.lake.types import schema_fingerprint
    from tailrace.pipeline.merged_files import MergedFiles, Shape

    root = Lake(Path(home)).table_root(TABLE)
    day = FIRST_DAY + timedelta(days=number)
    rows = _moved(rows, partition, day, number)
    shape = Shape(TABLE, partition, run, root, schema, tuple(rows.column_names))
    fingerprint = schema_fingerprint(schema)
    made = []
    for slice_ in range(FILES):
        files = MergedFiles(shape, "default", day, f"{number:05d}-{slice_}", ROWS)
        files.write_all(rows.take(pa.array(np.arange(slice_, FILES * ROWS, FILES))))
        made += files.close()
    return [DataFile(f.path, f.size, partition, f.index, f.day, f.rows, f.stats, fingerprint) for f in made]


def _moved(rows: pa.Table, partition: str, day: date, number: int) -> pa.Table:
    """The same rows on another day, with other ids."""
    count = rows.num_rows
    prefix = f"{partition}{number:04d}"
    fixed = {
        "tp_partition": pa.repeat(pa.scalar(partition), count),
        "tp_date": pa.repeat(pa.scalar(day, pa.date32()), count),
        "tp_id": pc.binary_replace_slice(rows.column("tp_id").cast(pa.string()), 0, len(prefix), prefix),
    }
    later = pa.scalar(timedelta(days=number), pa.duration("us"))
    columns = []
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if name in fixed:
            column = fixed[name]
        elif pa.types.is_timestamp(column.type) and name != "tp_ingest_timestamp":
            column = pc.add(column, later)
        columns.append(column)
    return pa.table(columns, names=rows.column_names)


def _content(home: Path) -> str:
    return content_of([str(path) for path in (home / "data").rglob("*.parquet") if "tp_date=" in str(path)])


def content_of(files: list[str]) -> str:
    """Number of rows and of ids, and what all values hash to, column by column: other rows would have another sum."""
    import duckdb

    with duckdb.connect() as con:
        stored = con.read_parquet(files, hive_partitioning=False, union_by_name=True)
        values = ", ".join(f'"{name}"' for name in sorted(stored.columns))
        (told,) = stored.aggregate(f"count(*), count(DISTINCT tp_id), sum(hash({values})::HUGEINT)").fetchall()
    return " ".join(map(str, told))


if __name__ == "__main__":
    print(small_files(int(sys.argv[1])))
