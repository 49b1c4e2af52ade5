"""Parquet: what Arrow writes is read back, other types are fitted, and nothing is lost on the way."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layoutread import Chunks

from tailrace.core import Column, Common, Parquet, Table, col, struct
from tailrace.formats import decoder
from tailrace.formats.base import Batch, CorruptStream

TIME = datetime(2024, 6, 10, 6, 13, 20, 123456)


def written(values: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(values, file, **options)
    return file.getvalue()


def batches(data: bytes, *columns: Column, fmt: Parquet | None = None, null: str | None = None) -> Iterator[Batch]:
    fmt = fmt or Parquet()
    table = Table("t", "", fmt, columns, Common(time=()), null=null)
    for batch in decoder(table, fmt).decode(Chunks([data])):
        for array in batch.columns.values():
            array.validate(full=True)
            assert len(array) == batch.rows
        yield batch


def one(values: dict[str, Any], *columns: Column, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first row of a file with these columns, and its `tp_extra`."""
    data = written(values if isinstance(values, pa.Table) else pa.table(values))
    (batch,) = batches(data, *columns, **more)
    row = {name: array[0].as_py() for name, array in batch.columns.items()}
    return row, json.loads(batch.extra[0].as_py()) if batch.extra is not None else {}


def test_rows_come_in_batches_and_positions_go_on() -> None:
    data = written(pa.table({"n": range(40_000)}), row_group_size=15_000)
    found = list(batches(data, col("n", "bigint")))
    assert len(found) > 2
    assert [p for b in found for p in b.positions.tolist()] == list(range(40_000))
    assert [n for b in found for n in b.columns["n"].to_pylist()] == list(range(40_000))
    assert found[0].raw(7) == b'{"n":7}'


def test_names_are_found_loosely_and_by_map() -> None:
    given = {"srcAddr": ["a"], "Dst-Port": [1], "start": ["x"]}
    columns = (col("src_addr"), col("dst_port", "integer"), col("began"))
    row, extra = one(given, *columns, fmt=Parquet((("began", "start"),)))
    assert row == {"src_addr": "a", "dst_port": 1, "began": "x"}
    assert extra == {}


@pytest.mark.parametrize(
    ("values", "column", "expected"),
    [
        (pa.array([7], pa.int8()), col("v", "bigint"), 7),
        (pa.array([7], pa.uint64()), col("v", "integer"), 7),
        (pa.array([1.0]), col("v", "integer"), 1),
        (pa.array(["12"]), col("v", "integer"), 12),
        (pa.array([12]), col("v"), "12"),
        (pa.array([True]), col("v"), "true"),
        (pa.array([TIME], pa.timestamp("ns")), col("v", "timestamp"), TIME),
        (pa.array([TIME.replace(tzinfo=UTC)], pa.timestamp("us", "UTC")), col("v", "timestamp"), TIME),
        (pa.array([1_718_000_000]), col("v", "timestamp", time="epoch_s"), datetime(2024, 6, 10, 6, 13, 20)),
        (pa.array(["2024-06-10T06:13:20.123456Z"]), col("v", "timestamp"), TIME),
        (pa.array([date(2024, 6, 10)]), col("v", "timestamp"), datetime(2024, 6, 10)),
        (pa.array([TIME]), col("v", "date"), date(2024, 6, 10)),
        (pa.array(["a"]).dictionary_encode(), col("v"), "a"),
        (pa.array([b"a"]), col("v"), "a"),
        (pa.array([b"\xff"]), col("v"), "/w=="),
        (pa.array([b"\xff"]), col("v", "blob"), b"\xff"),
        (pa.array([["a", "b"]]), col("v", "varchar[]"), ["a", "b"]),
        (pa.array([[1, 2]]), col("v", "varchar[]"), ["1", "2"]),
        (pa.array([{"a": 1, "b": [1.5]}]), col("v", "json"), '{"a":1,"b":[1.5]}'),
        (pa.array([{"a": 1}]), col("v"), '{"a":1}'),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), col("v", "json"), '{"k":1}'),
        (pa.array([float("nan")]), col("v", "json"), '"nan"'),
        (pa.array([[float("nan")]]), col("v", "json"), "[null]"),
        (pa.array([None], pa.null()), col("v", "integer"), None),
        (pa.array(["-"]), col("v", "integer", null_if="-"), None),
    ],
)  # fmt: skip
def test_types_are_fitted(values: pa.Array, column: Column, expected: object) -> None:
    row, extra = one({"v": values}, column)
    assert row["v"] == expected
    assert extra == {}


@pytest.mark.parametrize(
    ("values", "column", "kept"),
    [
        (pa.array(["many"]), col("v", "integer"), "many"),
        (pa.array([2**40]), col("v", "integer"), str(2**40)),
        (pa.array([1.5]), col("v", "integer"), "1.5"),
        (pa.array([300]), col("v", "utinyint"), "300"),
        (pa.array([12]), col("v", "timestamp"), "12"),
        (pa.array(["{"]), col("v", "json"), "{"),
    ],
)
def test_misfits_are_null_and_kept(values: pa.Array, column: Column, kept: str) -> None:
    row, extra = one({"v": values}, column)
    assert row["v"] is None
    assert extra == {"tp_misfit": {"v": kept}}


def test_unknown_columns_are_kept_as_what_they_are() -> None:
    given = {"n": [1], "x": [2], "s": ['a"b'], "f": [0.5], "o": [{"k": [True]}], "none": pa.array([None], pa.string())}
    row, extra = one(given, col("n", "bigint"))
    assert row == {"n": 1}
    assert extra == {"x": 2, "s": 'a"b', "f": 0.5, "o": {"k": [True]}}


def test_structs_are_fitted_at_every_depth() -> None:
    inner = [{"accountId": "1", "cert": {"size": "large", "issuer": "x"}, "more": 1}]
    identity = struct(col("account_id", "bigint"), col("cert", struct(col("size", "integer"), col("issuer"))))
    row, extra = one({"identity": inner}, col("identity", identity))
    assert row["identity"] == {"account_id": 1, "cert": {"size": None, "issuer": "x"}}
    assert extra == {"identity": {"more": 1}, "tp_misfit": {"identity.cert.size": "large"}}


def test_expressions_see_fields_as_text() -> None:
    row, extra = one({"a": [1], "b": ["x"]}, col("c", sql="concat(a, b)"))
    assert row == {"a": "1", "b": "x"}
    assert extra == {}


VALUES = st.lists(
    st.fixed_dictionaries({
        "name": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        "n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "x": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "at": st.none() | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
    }),
    max_size=30,
)  # fmt: skip
SCHEMA = pa.schema([("name", pa.string()), ("n", pa.int64()), ("x", pa.float64()), ("at", pa.timestamp("us"))])


@settings(max_examples=50, deadline=None)
@given(rows=VALUES, codec=st.sampled_from(["none", "snappy", "gzip", "zstd"]), groups=st.integers(1, 20))
def test_what_is_written_is_read_back(rows: list[dict[str, Any]], codec: str, groups: int) -> None:
    data = written(pa.Table.from_pylist(rows, SCHEMA), compression=codec, row_group_size=groups)
    columns = (col("name"), col("n", "bigint"), col("x", "double"), col("at", "timestamp"))
    found = [row for b in batches(data, *columns) for row in pa.RecordBatch.from_pydict(b.columns).to_pylist()]
    assert found == rows


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_noise_is_corrupt_or_read(data: st.DataObject) -> None:
    whole = written(pa.table({"name": ["a", "b"] * 20, "n": range(40)}))
    at = data.draw(st.integers(0, len(whole)))
    noise = data.draw(st.binary(min_size=1, max_size=20))
    for broken in (noise, whole[:at], whole[:at] + noise + whole[at + len(noise) :]):
        complaint = complaint_of(broken)
        assert complaint is None or complaint.startswith("parquet: ")


def complaint_of(data: bytes) -> str | None:
    """Why the file cannot be read; None: it can."""
    try:
        list(batches(data, col("name"), col("n", "bigint")))
    except CorruptStream as error:
        return str(error)
    return None


def test_an_empty_file_holds_nothing() -> None:
    assert list(batches(b"")) == []


def test_a_name_that_a_file_has_twice() -> None:
    arrays = [pa.array([1]), pa.array(["x"]), pa.array([7]), pa.array([TIME])]
    (batch,) = batches(written(pa.Table.from_arrays(arrays, names=["a", "a", "b", "at"])), A, col("b", "bigint"), AT)
    assert {name: values[0].as_py() for name, values in batch.columns.items()} == {"a": "1", "b": 7, "at": TIME}
    assert json.loads(batch.extra[0].as_py()) == {"a#2": "x"}
    assert json.loads(batch.raw(0)) == {"a": 1, "a#2": "x", "b": 7, "at": TIME.isoformat()}


FAR = {
    "microseconds": pa.array([2**62], pa.timestamp("us")),
    "milliseconds": pa.array([2**62], pa.timestamp("ms")),
    "days": pa.array([2**31 - 1], pa.int32()).cast(pa.date32()),
}


@pytest.mark.parametrize("values", FAR.values(), ids=FAR)
def test_times_that_python_does_not_know_can_be_shown(values: pa.Array) -> None:
    (batch,) = batches(written(pa.table({"at": values, "n": [1]})), AT)
    assert json.loads(batch.raw(0)).keys() == {"at", "n"}
    assert batch.columns["at"].to_pylist() == [None]  # and neither stored nor one that came round
    assert "out of range" in json.loads(batch.extra[0].as_py())["tp_misfit"]["at"]


def test_a_zone_that_nobody_knows() -> None:
    (batch,) = batches(written(pa.table({"at": pa.array([0], pa.timestamp("us", "No/Where"))})), AT)
    assert batch.columns["at"].to_pylist() == [datetime(1970, 1, 1)]
    assert "1970-01-01" in json.loads(batch.raw(0))["at"]


A, AT = col("a"), col("at", "timestamp")
