from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from tailrace.lake.files import STATS_TEXT, round_up, stats_json
from tailrace.lake.types import schema_fingerprint, type_name

JSON = pa.field("raw", pa.string(), metadata={"tailrace.type": "json"})
SCHEMA = pa.schema(
    [
        pa.field("status", pa.int32()),
        pa.field("name", pa.string()),
        pa.field("body", pa.string(), metadata={"tailrace.type": "json"}),
        pa.field("who", pa.struct([("arn", pa.string()), JSON, ("deep", pa.struct([("n", pa.int64())]))])),
        pa.field("big", pa.decimal128(38, 0)),
        pa.field("money", pa.decimal128(18, 2)),
        pa.field("ratio", pa.float64()),
        pa.field("flag", pa.bool_()),
        pa.field("blob", pa.binary()),
        pa.field("tp_ips", pa.list_(pa.string())),
        pa.field("tp_timestamp", pa.timestamp("us")),
        pa.field("day", pa.date32()),
        pa.field("tp_date", pa.date32()),
    ]
)


def stats_of(rows: list[dict[str, Any]], row_group_size: int = 2) -> dict[str, Any]:
    sink = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), sink, row_group_size=row_group_size)
    loaded: dict[str, Any] = json.loads(stats_json(pq.read_metadata(sink), SCHEMA))
    return loaded


def test_statistics_cover_what_can_prune_and_nothing_else() -> None:
    rows: list[dict[str, Any]] = [
        {
            "status": 200 + i,
            "name": f"n{i}",
            "body": "{}",
            "who": {"arn": "a", "raw": "[]", "deep": {"n": i}} if i else None,
            "big": Decimal(10**37 + i),
            "money": Decimal(i) / 4,
            "ratio": [1.5, float("nan"), -2.0][i],
            "flag": True,
            "blob": b"x",
            "tp_ips": ["1.2.3.4"],
            "tp_timestamp": datetime(2024, 1, 1 + i, 1, 2, 3, 4),
            "day": date(1969, 12, 30 + i) if i < 2 else None,
            "tp_date": date(2024, 1, 1),
        }
        for i in range(3)
    ]
    stats = stats_of(rows)
    assert stats["numRecords"] == 3
    assert stats["minValues"] == {
        "status": 200,
        "name": "n0",
        "who": {"arn": "a", "deep": {"n": 1}},
        "big": 10**37,
        "money": 0.0,
        "ratio": -2.0,
        "tp_timestamp": "2024-01-01T01:02:03.000004",
        "day": "1969-12-30",
    }
    assert stats["maxValues"] == {
        "status": 202,
        "name": "n2",
        "who": {"arn": "a", "deep": {"n": 2}},
        "big": 10**37 + 2,
        "money": 0.5,
        "tp_timestamp": "2024-01-03T01:02:03.000004",
        "day": "1969-12-31",
    }
    assert stats["nullCount"]["who"] == {"arn": 1, "deep": {"n": 1}}
    assert stats["nullCount"]["day"] == 1
    assert "body" not in stats["nullCount"]
    assert "tp_date" not in stats["nullCount"]


def test_columns_without_values_have_a_null_count_only() -> None:
    stats = stats_of([{}, {}, {}])
    assert stats["minValues"] == {}
    assert stats["nullCount"]["name"] == 3


def test_no_rows() -> None:
    assert stats_of([])["numRecords"] == 0


@given(st.lists(st.one_of(st.none(), st.text(max_size=40)), max_size=8), st.integers(1, 3))
def test_text_bounds_hold_every_value(values: list[str | None], row_group_size: int) -> None:
    stats = stats_of([{"name": v} for v in values], row_group_size)
    filled = [v for v in values if v is not None]
    assert stats["nullCount"].get("name", 0) == len(values) - len(filled)
    if filled:
        assert stats["minValues"]["name"] <= min(filled)
        assert "name" not in stats["maxValues"] or max(filled) <= stats["maxValues"]["name"]


@given(st.text(min_size=30, max_size=40))
def test_rounding_up_stays_short_and_above(text: str) -> None:
    upper = round_up(text)
    assert upper is None or (len(upper) <= STATS_TEXT and upper >= text and upper.encode())


def test_rounding_up_at_the_edges_of_unicode() -> None:
    last = chr(0x10FFFF)
    assert round_up(last * 40) is None
    assert round_up("a" + last * 40) == "b"
    assert round_up("\ud7ff" * 33) == "\ud7ff" * 31 + "\ue000"
    assert round_up("z" * 33) == "z" * 31 + "{"


@given(st.lists(st.floats(), min_size=1, max_size=6))
def test_float_bounds_never_hide_a_row(values: list[float]) -> None:
    stats = stats_of([{"ratio": v} for v in values])
    assert "ratio" not in stats["maxValues"]
    low = stats["minValues"].get("ratio")
    assert low is None or all(not v < low for v in values)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=5))
def test_moments_beyond_the_calendar_have_no_bounds(values: list[int]) -> None:
    sink = BytesIO()
    table = pa.table({"tp_timestamp": pa.array(values, pa.int64()).cast(pa.timestamp("us"))})
    pq.write_table(table, sink)
    stats = json.loads(stats_json(pq.read_metadata(sink), table.schema))
    assert stats["numRecords"] == len(values)


def test_types_in_deltas_words() -> None:
    assert type_name(pa.dictionary(pa.int32(), pa.large_string())) == "string"
    assert type_name(pa.struct([("a", pa.list_(pa.int8()))])) == "struct<a:array<byte>>"
    assert type_name(pa.decimal128(20, 0)) == "decimal(20,0)"
    assert type_name(pa.timestamp("us")) == "timestamp_ntz"


def test_fingerprints_ignore_layout_and_metadata_but_not_types() -> None:
    plain = pa.schema([("a", pa.string()), ("b", pa.int64())])
    other = pa.schema([pa.field("a", pa.dictionary(pa.int8(), pa.string()), metadata={"x": "y"}), ("b", pa.int64())])
    assert schema_fingerprint(plain) == schema_fingerprint(other)
    assert schema_fingerprint(plain) != schema_fingerprint(pa.schema([("a", pa.string()), ("b", pa.int32())]))
