from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.lake.files import DataFile, stats_json
from tailrace.lake.identity import artifact_prefix, tp_ids
from tailrace.lake.ledger import Entry
from tailrace.lake.paths import Lake, data_path, stored_value
from tailrace.lake.types import schema_fingerprint

SCHEMA = pa.schema(
    [
        pa.field("body", pa.string(), metadata={"tailrace.type": "json", "comment": "As sent."}),
        pa.field("n", pa.int64()),
        pa.field("tp_id", pa.string()),
        pa.field("tp_partition", pa.string()),
        pa.field("tp_index", pa.string()),
        pa.field("tp_date", pa.date32()),
    ]
)
DAY = date(2024, 2, 29)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture
def schema() -> pa.Schema:
    return SCHEMA


@pytest.fixture
def write_file() -> Callable[..., DataFile]:
    return write


@pytest.fixture
def make_entry() -> Callable[..., Entry]:
    return entry


def write(
    lake: Lake,
    run: str,
    uris: Sequence[str],
    *,
    table: str = "t",
    partition: str = "p",
    index: str | None = None,
    day: date = DAY,
    rows: int = 5,
    name: str = "0",
    schema: pa.Schema = SCHEMA,
) -> DataFile:
    """A data file with `rows` rows of each artifact."""
    ids = pa.concat_arrays([tp_ids([artifact_prefix(uri)], np.zeros(rows, np.int32), np.arange(rows)) for uri in uris])
    count, stored = len(ids), stored_value(index)
    values = {
        "body": ["{}"] * count,
        "n": range(count),
        "tp_id": ids,
        "tp_partition": [partition] * count,
        "tp_index": [stored] * count,
        "tp_date": [day] * count,
    }
    columns = [pa.array(values[f.name], f.type) if f.name in values else pa.nulls(count, f.type) for f in schema]
    path = f"{data_path(partition, index, day)}/{run}-{name}.parquet"
    target = lake.table_root(table).path / path
    target.parent.mkdir(parents=True, exist_ok=True)
    plain = ["body", "tp_id"]
    pq.write_table(
        pa.table(columns, schema=schema),
        target,
        compression="zstd",
        row_group_size=8,
        use_dictionary=[f.name for f in schema if f.name not in plain],
        column_encoding=dict.fromkeys(plain, "DELTA_LENGTH_BYTE_ARRAY"),
    )
    metadata = pq.read_metadata(target)
    stats = stats_json(metadata, schema)
    return DataFile(path, target.stat().st_size, partition, stored, day, count, stats, schema_fingerprint(schema))


def entry(uri: str, version: str = "1", day: date = DAY, rows: int = 5, **more: object) -> Entry:
    return Entry(uri, version, 10, "ok", datetime(2024, 3, 1), rows=rows, dates=(day,), **more)  # type: ignore[arg-type]
