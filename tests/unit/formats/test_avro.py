"""Avro: what a reference writer writes is read back, broken blocks cost no other, and nothing grows without bound."""

from __future__ import annotations

import io
import json
import struct
import zlib
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from layoutread import Chunks
from otlpwrite import varint

from tailrace.core import Avro, Common, Table, col
from tailrace.formats import decoder
from tailrace.formats.base import Batch, CorruptStream

SCHEMA = {
    "type": "record",
    "name": "line",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "name", "type": "string"},
        {"name": "n", "type": ["null", "long"]},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {"name": "list", "type": {"type": "array", "items": "int"}},
    ],
}
TABLE = Table(
    "t",
    "",
    Avro(),
    (
        col("at", "timestamp"),
        col("name"),
        col("n", "bigint"),
        col("amount", "decimal(12,2)"),
        col("tags", "json"),
        col("list", "integer[]"),
    ),
    Common(time=()),
)
ROW = {"at": datetime(2024, 6, 10, tzinfo=UTC), "name": "a", "n": 1, "amount": Decimal("1.50"), "tags": {}, "list": [1]}


def written(rows: list[dict[str, Any]], schema: Any = SCHEMA, **options: Any) -> bytes:
    file = io.BytesIO()
    fastavro.writer(file, schema, rows, sync_marker=b"0123456789abcdef", **options)
    return file.getvalue()


def decoded(*chunks: bytes, table: Table = TABLE) -> list[Batch]:
    batches = list(decoder(table, Avro()).decode(Chunks(chunks)))
    places = [p for b in batches for p in (*b.positions.tolist(), *(bad.position for bad in b.bad))]
    assert places == list(range(len(places)))
    return batches


def rows_of(batches: list[Batch]) -> list[dict[str, Any]]:
    return [
        {name: array[row].as_py() for name, array in batch.columns.items()}
        for batch in batches
        for row in range(batch.rows)
    ]


def bad_of(batches: list[Batch]) -> list[str]:
    return [bad.reason for batch in batches for bad in batch.bad]


RECORDS = st.lists(
    st.fixed_dictionaries({
        "at": st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC)),
        "name": st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        "n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "amount": st.decimals(-9999, 9999, places=2, allow_nan=False),
        "tags": st.dictionaries(st.text("abc", max_size=3), st.text("xyé", max_size=3), max_size=3),
        "list": st.lists(st.integers(-99, 99), max_size=3),
    }),
    max_size=20,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(rows=RECORDS, codec=st.sampled_from(["null", "deflate", "bzip2", "xz"]), size=st.integers(1, 500))
def test_what_is_written_is_read_back(rows: list[dict[str, Any]], codec: str, size: int) -> None:
    data = written(rows, codec=codec, sync_interval=size)
    found = rows_of(decoded(data))
    assert found == rows_of(decoded(*(data[at : at + 50] for at in range(0, len(data), 50))))
    assert [row["at"].replace(tzinfo=UTC) for row in found] == [row["at"] for row in rows]
    for name in ("name", "n", "amount", "list"):
        assert [row[name] for row in found] == [row[name] for row in rows]
    assert [json.loads(row["tags"]) for row in found] == [row["tags"] for row in rows]


def header(codec: str, schema: object = SCHEMA) -> bytes:
    entries = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode()}
    told = b"".join(counted(len(k)) + k.encode() + counted(len(v)) + v for k, v in entries.items())
    return b"Obj\x01" + counted(len(entries)) + told + counted(0) + b"0123456789abcdef"


def counted(value: int) -> bytes:
    return varint(value << 1 ^ value >> 63)


def block(body: bytes, count: int = 1) -> bytes:
    return counted(count) + counted(len(body)) + body + b"0123456789abcdef"


def body_of(row: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, SCHEMA, row)
    return file.getvalue()


def test_snappy_and_zstandard() -> None:
    body = body_of(ROW)
    snappy = pa.Codec("snappy").compress(body, asbytes=True) + struct.pack(">I", zlib.crc32(body))
    for codec, packed in (("snappy", snappy), ("zstandard", zstandard.compress(body))):
        (row,) = rows_of(decoded(header(codec) + block(packed)))
        assert (row["name"], row["amount"]) == ("a", Decimal("1.50"))
    wrong = snappy[:-1] + bytes([snappy[-1] ^ 1])
    assert bad_of(decoded(header("snappy") + block(wrong))) == ["avro: snappy: wrong checksum"]


def test_misfits_and_unknown_fields_are_kept() -> None:
    table = Table("t", "", Avro(), (col("name", "integer"),), Common(time=()))
    (batch,) = decoded(written([ROW]), table=table)
    assert batch.flagged == 1
    assert batch.extra is not None
    extra = json.loads(batch.extra[0].as_py())
    assert extra["tp_misfit"] == {"name": "a"}
    assert extra["n"] == 1


def test_a_broken_block_costs_no_other() -> None:
    good = block(body_of(ROW))
    lying = counted(1) + counted(7) + body_of(ROW) + b"0123456789abcdef"
    batches = decoded(header("null") + good + block(b"\xff" * 9) + good + lying + good + good[:-20])
    assert len(rows_of(batches)) == 3
    assert len(bad_of(batches)) == 3


@pytest.mark.parametrize("data", [b"PAR1", b"Obj\x01", b"Obj\x01\xff", header("lz9"), header("null", {"type": "what"})])
def test_what_is_no_such_file_is_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptStream, match=r"^avro: "):
        decoded(data)


NOTHING = {"type": "record", "name": "r", "fields": [{"name": "x", "type": {"type": "array", "items": "null"}}]}
ITSELF = {"type": "record", "name": "r", "fields": [{"name": "next", "type": ["null", "r"]}]}


@pytest.mark.parametrize("schema", [NOTHING, ITSELF])
def test_schemas_of_which_few_bytes_make_much_are_refused(schema: object) -> None:
    with pytest.raises(CorruptStream, match="the schema cannot be read"):
        decoded(header("null", schema) + block(b"\x00"))


def test_more_records_than_bytes_are_refused() -> None:
    empty = {"type": "record", "name": "r", "fields": []}
    batches = decoded(header("null", empty) + block(b"", 2**40))
    assert bad_of(batches) == [f"avro: {2**40} records in 0 bytes"]


@settings(max_examples=60, deadline=None)
@given(noise=st.binary(min_size=1, max_size=40), at=st.integers(0, 600))
def test_noise_in_blocks_is_survived(noise: bytes, at: int) -> None:
    data = header("null") + block(body_of(ROW)) * 4
    start = len(header("null")) + at
    batches = decoded(data[:start] + noise + data[start + len(noise) :])
    assert len(rows_of(batches)) + len(bad_of(batches)) > 0


def test_an_empty_file_holds_nothing() -> None:
    assert decoded(b"") == decoded() == []


def test_a_time_that_python_does_not_know_costs_no_other_record() -> None:
    (batch,) = decoder(TABLE, Avro()).decode(Chunks([written([ROW, ROW | {"at": 2**62}, ROW])]))
    assert (batch.rows, batch.bad) == (3, [])
    assert batch.columns["at"].is_valid().to_pylist() == [True, False, True]
    assert json.loads(batch.extra[1].as_py()) == {"tp_misfit": {"at": 2**62}}
