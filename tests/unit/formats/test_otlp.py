"""OpenTelemetry's logs: what a writer by the book writes is read back, from JSON and protobuf alike."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layoutread import Chunks
from otlpwrite import Record, json_resource_logs, resource_logs, span, varint

from tailrace.core.registry import find_table
from tailrace.formats import decoder
from tailrace.formats.base import RAW_LIMIT, Batch
from tailrace.formats.otlp_frames import framing_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT | st.floats(-1e9, 1e9) | st.binary(max_size=6)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6
)
ATTRIBUTES = st.dictionaries(TEXT, VALUES, max_size=5)
RECORDS: st.SearchStrategy[Record] = st.fixed_dictionaries(
    {"time": st.integers(1, 2**62)},
    optional={
        "observed": st.integers(1, 2**62),
        "severity": st.integers(1, 24),
        "severity_text": TEXT.filter(bool),
        "event_name": TEXT.filter(bool),
        "body": VALUES,
        "attributes": ATTRIBUTES.filter(bool),
        "dropped": st.integers(1, 2**32 - 1),
        "flags": st.integers(1, 2**32 - 1),
        "trace": st.binary(min_size=16, max_size=16),
        "span": st.binary(min_size=8, max_size=8),
    },
)
GROUPS = st.lists(st.tuples(ATTRIBUTES, TEXT.filter(bool), st.lists(RECORDS, min_size=1, max_size=4)), max_size=4)


def decoded(*chunks: bytes) -> list[Batch]:
    table = find_table("otlp_log")
    assert table is not None
    batches = []
    for batch in decoder(table, table.format).decode(Chunks(chunks)):
        for array in batch.columns.values():
            array.validate(full=True)
            assert len(array) == batch.rows
        assert all(len(bad.raw) <= RAW_LIMIT for bad in batch.bad)
        assert all(isinstance(batch.raw(row), bytes) for row in range(batch.rows))
        batches.append(batch)
    places = [p for b in batches for p in (*b.positions.tolist(), *(bad.position for bad in b.bad))]
    assert places == list(range(len(places)))
    return batches


def rows_of(batches: list[Batch]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for batch in batches:
        columns = {name: array.to_pylist() for name, array in batch.columns.items()}
        rows += [{name: values[row] for name, values in columns.items()} for row in range(batch.rows)]
    for row in rows:
        for name in ("attributes", "resource_attributes", "scope_attributes"):
            row[name] = json.loads(row[name]) if row[name] else None
    return rows


def bad_of(batches: list[Batch]) -> list[str]:
    return [bad.reason for batch in batches for bad in batch.bad]


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return {key: plain(inner) for key, inner in value.items()} if isinstance(value, dict) else value


@settings(max_examples=30, deadline=None)
@given(groups=GROUPS)
def test_json_and_protobuf_are_read_back_equal(groups: list[tuple[dict[str, Any], str, list[Record]]]) -> None:
    message = b"".join(resource_logs(*group) for group in groups)
    document = json.dumps({"resourceLogs": [json_resource_logs(*group) for group in groups]}).encode()
    rows = rows_of(decoded(message))
    assert rows == rows_of(decoded(document))
    sent = [(resource, scope, record) for resource, scope, records in groups for record in records]
    assert len(rows) == len(sent)
    for row, (resource, scope, record) in zip(rows, sent, strict=True):
        assert row["time_unix_nano"] == record["time"]
        assert row["observed_time_unix_nano"] == record.get("observed")
        assert row["severity_number"] == record.get("severity")
        assert row["scope_name"] == scope
        assert row["resource_attributes"] == (plain(resource) or None)
        assert row["attributes"] == plain(record.get("attributes"))
        assert (row["flags"], row["dropped_attributes_count"]) == (record.get("flags"), record.get("dropped"))
        body = plain(record.get("body"))
        assert (json.loads(row["body"]) if body is not None and not isinstance(body, str) else row["body"]) == body
        trace = record.get("trace", b"")
        assert row["trace_id"] == (trace.hex() if any(trace) else None)


RECORD: Record = {"time": 1_718_000_000_000_000_000, "body": "x", "attributes": {"a": 1}, "severity": 9}
MESSAGE = resource_logs({"service.name": "shop"}, "cart", [RECORD, RECORD])


def framed(kind: str, *messages: bytes) -> bytes:
    if kind == "none":
        return b"".join(messages)
    lengths = varint if kind == "varint" else lambda size: struct.pack(">I", size)
    return b"".join(lengths(len(message)) + message for message in messages)


@pytest.mark.parametrize("kind", ["none", "varint", "fixed"])
def test_messages_with_and_without_lengths(kind: str) -> None:
    data = framed(kind, MESSAGE, resource_logs({}, "b", [RECORD]), MESSAGE)
    assert framing_of(data[:32]) == kind
    whole = rows_of(decoded(data))
    assert len(whole) == 5
    assert whole == rows_of(decoded(*(data[at : at + 1] for at in range(len(data)))))


@pytest.mark.parametrize("kind", ["varint", "fixed"])
def test_empty_messages_hold_nothing(kind: str) -> None:
    assert len(rows_of(decoded(framed(kind, MESSAGE, b"", MESSAGE)))) == 4


def test_a_message_of_ten_bytes_is_told_from_its_tag() -> None:
    tiny = span(1, span(2, span(2, b"\x10\x09\x18\x01")))
    assert len(tiny) == 10
    assert framing_of(framed("varint", tiny, tiny, tiny)) == "varint"
    assert framing_of(span(1, span(3, b"schema:1")) + tiny) == "none"


@pytest.mark.parametrize("kind", ["none", "varint", "fixed"])
def test_records_before_a_cut_are_kept(kind: str) -> None:
    data = framed(kind, MESSAGE, MESSAGE)
    batches = decoded(data[: len(data) - 3])
    assert len(rows_of(batches)) >= 2
    assert set(bad_of(batches)) == {"otlp: the message ends inside a field"}


def test_a_broken_record_costs_no_other() -> None:
    logs = b"".join(span(2, body) for body in (b"\x18\x05", b"\x7f\xff\xff", b"\x18\x06"))
    batches = decoded(span(1, span(2, logs)))
    assert (len(rows_of(batches)), len(bad_of(batches))) == (2, 1)


def test_ids_of_another_length_and_broken_attributes_are_told() -> None:
    odd = span(9, b"\x01\x02") + span(6, b"\x0a\xff\xff")
    (batch,) = decoded(span(1, span(2, span(2, odd))))
    assert batch.extra is not None
    told = json.loads(batch.extra[0].as_py())["tp_misfit"]
    assert told["trace_id"] == "0102"
    assert "attributes" in told
    assert batch.flagged == 1


def test_many_records_and_attributes_take_the_wide_path() -> None:
    records = [RECORD | {"attributes": {f"k{n}": n for n in range(i % 40)}, "body": {"n": i}} for i in range(200)]
    rows = rows_of(decoded(resource_logs({}, "s", records)))
    assert [json.loads(row["body"])["n"] for row in rows] == list(range(200))
    assert [len(row["attributes"] or {}) for row in rows] == [i % 40 for i in range(200)]


@settings(max_examples=80, deadline=None)
@given(noise=st.binary(max_size=200), at=st.integers(0, 400), kind=st.sampled_from(["none", "varint", "fixed"]))
def test_noise_is_survived(noise: bytes, at: int, kind: str) -> None:
    decoded(noise)
    data = framed(kind, *[MESSAGE] * 3)
    decoded(data[:at] + noise + data[at + len(noise) :])
    decoded((b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[' + noise)[:at])


def test_nesting_is_bounded() -> None:
    value = span(1, b"deep")
    for _ in range(300):
        value = span(5, span(1, value))
    (row,) = rows_of(decoded(span(1, span(2, span(2, span(5, value))))))
    assert row["body"].startswith("[[[[")


def test_lengths_that_lie_allocate_nothing() -> None:
    batches = decoded(b"\x0a" + varint(2**40) + b"rest")
    assert rows_of(batches) == []
    assert bad_of(batches) == ["otlp: a message of more than 67108864 bytes"]


def test_messages_in_pieces_are_put_together() -> None:
    """As protobuf has it: a resource, scope, body or value that comes twice is one message."""

    def pair(key: str, *values: bytes) -> bytes:
        return span(1, key.encode()) + b"".join(span(2, value) for value in values)

    text, nothing = span(1, b"x"), b""
    record = span(5, text) + span(5, nothing) + span(6, pair("a", text, nothing))
    scope = span(1, span(1, b"lib")) + span(1, span(2, b"1.0")) + span(2, record)
    resource = span(1, span(1, pair("r", text))) + span(1, span(1, pair("s", text))) + span(2, scope)
    (row,) = rows_of(decoded(span(1, resource)))
    assert row["resource_attributes"] == {"r": "x", "s": "x"}
    assert (row["scope_name"], row["scope_version"]) == ("lib", "1.0")
    assert (row["body"], row["attributes"]) == ("x", {"a": "x"})
