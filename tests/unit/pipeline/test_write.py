"""Which files come of rows, and what is in them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.core import Common, Jsonl, Table, col, struct
from tailrace.lake.place import LocalPlace
from tailrace.pipeline import write
from tailrace.pipeline.enrich import Enricher
from tailrace.pipeline.job import Job, WrittenFile
from tailrace.pipeline.shape import Origin, Shaped
from tailrace.pipeline.write import LakeWriter

START = datetime(2024, 1, 1)
TABLE = Table(
    name="t",
    doc="",
    format=Jsonl(),
    columns=(col("n", "integer"), col("agent"), col("host"), col("who", struct(col("name"), col("age", "integer")))),
    common=Common(time=("at",), ips=("host",)),
)
TEXT = pa.string()
KINDS = {"n": pa.int32(), "agent": TEXT, "host": TEXT, "who": pa.struct([("name", pa.string()), ("age", pa.int32())])}


def shaped(**columns: list[Any]) -> Shaped:
    rows = len(next(iter(columns.values())))
    times = pa.array([START + timedelta(seconds=i) for i in range(rows)], pa.timestamp("us"))
    arrays = {name: pa.array(values, KINDS[name]) for name, values in columns.items()}
    return Shaped(arrays, times, None, pa.array(np.arange(rows)), np.zeros(rows, np.int32))


def written(root: Path, *several: Shaped) -> list[WrittenFile]:
    job = Job(TABLE, "p", (TABLE.format,), "run", START, LocalPlace(str(root)), LocalPlace(str(root / "quarantine")))
    origin = Origin(0, "0123456789abcdef", "file", None, "/logs/a", "file:///logs/a")
    writer = LakeWriter(job, "unit", Enricher(TABLE), [origin])
    for one in several:
        writer.add(one)
    return writer.close()


def test_a_file_has_no_column_that_is_null_throughout(tmp_path: Path) -> None:
    (file,) = written(tmp_path, shaped(n=[1, None], host=["192.0.2.1", "::1"]))
    rows = pq.read_table(tmp_path / file.path, partitioning=None)
    assert {"n", "host", "tp_ips", "tp_id"} <= set(rows.column_names)
    assert not {"agent", "tp_source_name", "tp_akas"} & set(rows.column_names)
    assert rows["tp_ips"].to_pylist() == [["192.0.2.1"], ["::1"]]
    stats = json.loads(file.stats)
    assert stats["minValues"]["n"] == 1
    assert stats["minValues"]["tp_timestamp"] == "2024-01-01T00:00:00.000000"
    assert stats["nullCount"]["n"] == 1
    assert stats["nullCount"]["agent"] == 2
    assert stats["nullCount"]["who"] == {"name": 2, "age": 2}


def test_a_field_of_a_struct_that_no_row_has_can_be_asked_for(tmp_path: Path) -> None:
    (file,) = written(tmp_path, shaped(n=[1, None]))
    kinds = "MAP {'who': {'name': 'who', 'type': 'STRUCT(name VARCHAR, age INTEGER)', 'default_value': NULL}}"
    asked = f"SELECT who.name FROM read_parquet('{tmp_path / file.path}', schema = {kinds})"
    assert duckdb.sql(asked).fetchall() == [(None,), (None,)]


def test_a_column_that_comes_later_begins_a_file_with_all_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "BUFFER_BYTES", 0)
    files = written(tmp_path, shaped(n=[1]), shaped(n=[2]), shaped(n=[3], host=["a"]), shaped(who=[{"name": "b"}]))
    assert [f.rows for f in files] == [2, 2]
    tables = [pq.read_table(tmp_path / f.path, partitioning=None) for f in files]
    assert "host" not in tables[0].column_names
    assert tables[0]["n"].to_pylist() == [1, 2]
    assert {*(c.name for c in TABLE.columns), "tp_akas"} <= set(tables[1].column_names)
    assert tables[1]["n"].to_pylist() == [3, None]
    assert tables[1]["who"].to_pylist() == [None, {"name": "b", "age": None}]


def test_texts_that_never_return_are_written_without_a_dictionary(tmp_path: Path) -> None:
    second = [f"10/Oct/2000:13:{i // 60:02}:{i % 60:02} +0000" for i in range(600)]
    for texts, encodings in ((second, {"PLAIN", "RLE"}), (second[:60] * 10, {"PLAIN", "RLE", "RLE_DICTIONARY"})):
        (file,) = written(tmp_path, shaped(n=[1] * 600, agent=texts))
        columns = pq.read_metadata(tmp_path / file.path).row_group(0)
        assert columns.column(1).path_in_schema == "agent"
        assert set(columns.column(1).encodings) == encodings
