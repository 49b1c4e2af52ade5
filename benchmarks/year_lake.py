"""A lake of one year of CloudTrail: thirty accounts, a file a day each or for all, as many rows as are asked for.

    python benchmarks/year_lake.py --rows 2000000 --root /somewhere --shape day

One day is collected by the real command. What it stored is written for every other day with other times and ids, by
the code that writes files of the lake, and committed as collections commit, a week at a time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from generate import DATA
from run import CACHE
from synthetic_cloudtrail import events

TABLE = "aws_cloudtrail_log"
PARTITION = "prod"
FIRST_DAY = date(2025, 1, 1)
DAYS, HOURS = 365, 24
ACCOUNTS = tuple(str(111_213_141_516 + 27_716_253_949 * n % 888_000_000_000) for n in range(30))
WEEK = 7
IDS = ("tp_id", "event_id", "request_id")
VERSION = 2
"Raised when the rows change, so that no stale data are measured."
SHAPES = {"account": 'tp_index = "recipient_account_id"', "day": ""}
"What has a file for each day, and how a partition says so: each account, or all of them together."
CONFIG = """
partition "{table}" "{partition}" {{
  {index}
  source "file" {{ paths = ["{logs}"] }}
}}
"""
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


@dataclass(frozen=True, slots=True)
class Year:
    """A home whose lake nobody changes."""

    home: Path
    rows: int
    shape: str
    needle: str
    "An `event_id` of some row in the middle of the year."

    @property
    def data(self) -> Path:
        return self.home / "data" / "default" / f"tp_table={TABLE}"


def year(rows: int, root: Path = DATA, shape: str = "account") -> Year:
    """About so many rows; made once."""
    home = root / f"year-{rows}-{shape}-v{VERSION}"
    facts = home / "expected.json"
    if not facts.exists():
        shutil.rmtree(home, ignore_errors=True)
        template = _template(home, max(rows // (DAYS * len(ACCOUNTS)), HOURS), SHAPES[shape])
        needle = _write(home, template)
        shutil.rmtree(home / "logs")
        shutil.rmtree(home / "template")
        facts.write_text(json.dumps({"rows": template.num_rows * DAYS, "needle": needle}))
    told = json.loads(facts.read_text())
    return Year(home, told["rows"], shape, told["needle"])


def _template(home: Path, each: int, index: str) -> pa.Table:
    """What is stored of one day of all accounts, so many rows of each."""
    (home / "logs").mkdir(parents=True)
    midnight = datetime(FIRST_DAY.year, FIRST_DAY.month, FIRST_DAY.day, tzinfo=UTC)
    for hour in range(HOURS):
        for place in range(len(ACCOUNTS)):
            number = hour * len(ACCOUNTS) + place
            count = each // HOURS + (hour < each % HOURS)
            delivered = midnight + timedelta(hours=hour, minutes=30)
            text, _ = events(number, count, delivered, np.random.default_rng([17, number]), ACCOUNTS)
            (home / "logs" / f"{number:04}.json.gz").write_bytes(gzip.compress(text, 1))
    config = home / "template" / "config"
    config.mkdir(parents=True)
    (config / "year.tpc").write_text(CONFIG.format(table=TABLE, partition=PARTITION, index=index, logs=home / "logs"))
    tailrace = str(Path(sys.executable).with_name("tailrace"))
    where = ["--home", str(home / "template"), "--config-path", str(config)]
    command = [tailrace, *where, "collect", "--no-compact", "--no-progress", "--output", "json"]
    subprocess.run(command, env=os.environ | CACHE, check=True, stdout=subprocess.DEVNULL)
    found = [path for path in (home / "template").rglob("*.parquet") if "tp_date=" in str(path)]
    rows = pa.concat_tables((pq.read_table(path, partitioning=None) for path in found), promote_options="permissive")
    assert rows.num_rows == each * len(ACCOUNTS), rows.num_rows
    return rows


def _write(home: Path, template: pa.Table) -> str:
    """All days; tells one of the ids."""
    from tailrace.lake.commit import Change, PartitionWriter
    from tailrace.lake.log import checkpoint
    from tailrace.lake.paths import Lake
    from tailrace.lake.runs import new_run_id
    from tailrace.lake.snapshot import snapshot
    from tailrace.lake.table import open_table

    lake, run = Lake(home), new_run_id()
    schema = snapshot(Lake(home / "template"), TABLE).schema
    writer = PartitionWriter(lake, TABLE, PARTITION, run, schema)
    writer.recover()
    pq.write_table(template, home / "template.parquet")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        make = partial(_day, str(home), schema, run)
        pending: list[Any] = []
        for number, files in enumerate(pool.map(make, range(DAYS), chunksize=2), 1):
            pending += files
            if number % WEEK == 0 or number == DAYS:
                writer.commit(Change([], pending))
                pending = []
    writer.finish()
    (home / "template.parquet").unlink()
    root = lake.table_root(TABLE)
    checkpoint(open_table(root), root)
    middle = (home / "data").rglob(f"tp_date={FIRST_DAY + timedelta(days=DAYS // 2)}/*.parquet")
    ids = pq.read_table(min(middle), columns=["event_id"], partitioning=None).column(0)
    return str(ids[len(ids) // 2].as_py())


def _day(home: str, schema: pa.Schema, run: str, number: int) -> list[Any]:
    """The files of one day, one for each index."""
    from tailrace.lake.files import DataFile
    from tailrace.lake.paths import Lake
    from tailrace.lake.types import schema_fingerprint
    from tailrace.pipeline.merged_files import MergedFiles, Shape

    day = FIRST_DAY + timedelta(days=number)
    root = Lake(Path(home)).table_root(TABLE)
    rng = np.random.default_rng([23, number])
    fingerprint = schema_fingerprint(schema)
    made: list[Any] = []
    for index, rows in _by_index(home).items():
        shape = Shape(TABLE, PARTITION, run, root, schema, tuple(rows.column_names), frozenset(IDS[1:]))
        files = MergedFiles(shape, index, day, f"{number:03}-{index}", rows.num_rows)
        files.write_all(_moved(rows, day, number, rng))
        made += files.close()
    return [DataFile(f.path, f.size, PARTITION, f.index, f.day, f.rows, f.stats, fingerprint) for f in made]


@cache
def _by_index(home: str) -> dict[str, pa.Table]:
    """The rows of the one day that was collected; each process reads them once."""
    rows = pq.read_table(f"{home}/template.parquet")
    indexes = rows.column("tp_index")
    return {
        index: rows.filter(pc.equal(indexes, index)).combine_chunks()
        for index in sorted(pc.unique(indexes).to_pylist())
    }


def _moved(rows: pa.Table, day: date, number: int, rng: np.random.Generator) -> pa.Table:
    """The same rows on another day, with ids of their own."""
    later = pa.scalar(timedelta(days=number), pa.duration("us"))
    columns = []
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if name in IDS:
            column = _fresh(column, rng)
        elif name == "tp_date":
            column = pa.repeat(pa.scalar(day, pa.date32()), rows.num_rows)
        elif pa.types.is_timestamp(column.type) and name != "tp_ingest_timestamp":
            column = pc.add(column, later)
        columns.append(column)
    return pa.table(columns, names=rows.column_names)


def _fresh(ids: pa.ChunkedArray, rng: np.random.Generator) -> pa.Array:
    """Random hexadecimal digits, with dashes where the first id has them; all ids are of one length."""
    first = np.frombuffer(ids[0].as_py().encode(), np.uint8)
    made: npt.NDArray[np.uint8] = _DIGITS[rng.integers(0, 16, (len(ids), len(first)), np.uint8)]
    made[:, first == ord("-")] = ord("-")
    ends = np.arange(0, made.size + 1, len(first), dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(ids), [None, pa.py_buffer(ends), pa.py_buffer(made)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--root", type=Path, default=DATA)
    parser.add_argument("--shape", choices=SHAPES, default="account")
    asked = parser.parse_args()
    print(year(asked.rows, asked.root, asked.shape))
