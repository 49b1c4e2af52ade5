"""JSON documents and lines: every shape gives the records that Python's own json finds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tailrace.core import Column, Common, Json, Jsonl, Struct, Table, camel, col, struct
from tailrace.core.arrow import arrow_type
from tailrace.formats.base import Batch
from tailrace.formats.json_decode import json_decoder

DATA = Path(os.environ.get("TAILRACE_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))
needs_data = pytest.mark.skipif(not DATA.exists(), reason="no sample logs")

PEOPLE = Table(
    name="people",
    doc="",
    format=Json(),
    columns=(
        col("time", "timestamp"),
        col("name"),
        col("age", "smallint"),
        col("member", "boolean"),
        col("score", "double"),
        col("more", "json"),
        col("tags", "varchar[]"),
        col("home", struct(col("city"), col("floor", "integer"))),
    ),
    common=Common(time=("time",)),
)
ISSUER = struct(col("type"), col("principal_id"), col("arn"), col("account_id"), col("user_name"))
TRAIL = Table(
    name="trail",
    doc="",
    format=Json(records="Records", keys="camel"),
    columns=(
        col("event_time", "timestamp"),
        *(col(n) for n in ("event_name", "event_source", "aws_region", "user_agent", "error_code")),
        *(col(n) for n in ("error_message", "event_type", "event_version", "event_category")),
        col("source_ip_address", src="sourceIPAddress"),
        col("event_id", src="eventID"),
        col("request_id", src="requestID"),
        col("recipient_account_id"),
        col("read_only", "boolean"),
        col("management_event", "boolean"),
        *(col(n, "json") for n in ("request_parameters", "response_elements", "additional_event_data", "resources")),
        col(
            "user_identity",
            struct(
                *(col(n) for n in ("type", "arn", "principal_id", "account_id", "access_key_id", "user_name")),
                col("invoked_by"),
                col(
                    "session_context",
                    struct(
                        col("session_issuer", ISSUER),
                        col("attributes", struct(col("creation_date"), col("mfa_authenticated"))),
                    ),
                ),
            ),
        ),
        col("tls_details", struct(col("tls_version"), col("cipher_suite"), col("client_provided_host_header"))),
    ),
    common=Common(time=("event_time",)),
)


class Bytes:
    """A stream over bytes in blocks of a given size."""

    truncated = False

    def __init__(self, data: bytes, size: int = 4 << 20) -> None:
        self._data, self._size = data, size

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(self._data), self._size):
            yield self._data[start : start + self._size]


def decode(table: Table, data: bytes, fmt: Json | Jsonl | None = None, size: int = 4 << 20) -> list[Batch]:
    fmt = fmt or table.format  # type: ignore[assignment]
    batches = list(json_decoder(table, fmt).decode(Bytes(data, size)))  # type: ignore[arg-type]
    for batch in batches:
        for column in table.columns:
            if column.sql is None:
                array = batch.columns[column.name]
                assert array.type == arrow_type(column.type)
                assert len(array) == batch.rows
                array.validate(full=True)
        assert batch.extra is None or len(batch.extra) == batch.rows
    return batches


def rows(batches: list[Batch]) -> list[dict[str, Any]]:
    return [
        {name: array[row].as_py() for name, array in batch.columns.items()}
        for batch in batches
        for row in range(batch.rows)
    ]


def extras(batches: list[Batch]) -> list[Any]:
    return [
        None if batch.extra is None or batch.extra[row].as_py() is None else json.loads(batch.extra[row].as_py())
        for batch in batches
        for row in range(batch.rows)
    ]


def positions(batches: list[Batch]) -> list[int]:
    return sorted([int(p) for b in batches for p in b.positions] + [x.position for b in batches for x in b.bad])


ANN = {
    "time": "2024-02-29T12:00:00Z",
    "name": "Ann",
    "age": 7,
    "member": True,
    "home": {"city": "Bonn", "floor": 2},
}
BOB = {"name": "Bob", "more": {"a": [1, "ü"]}, "tags": ["x", None], "score": 1.5}
ANN_ROW = {
    "time": datetime(2024, 2, 29, 12),
    "name": "Ann",
    "age": 7,
    "member": True,
    "score": None,
    "more": None,
    "tags": None,
    "home": {"city": "Bonn", "floor": 2},
}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("", "[{a},{b}]"),
        ("", " [ {a} ,\n {b} ]\n"),
        ("", "{a}\n{b}\n"),
        ("", "{a}{b}"),
        ("", "{a}\r\n\r\n{b}"),
        ("", "[{a}]\n[{b}]"),
        ("Records", '{{"Records":[{a},{b}]}}'),
        ("Records", '{{"digest":{{"Records":[1]}},"Records":[{a},{b}],"tail":[{{"Records":[]}}]}}'),
        ("Records", '{{"Records":[{a}]}}\n{{"Records":[{b}]}}'),
        ("Records", '{{"Records":null}}{{"Records":[{a},{b}]}}'),
        ("Records", "[{a},{b}]"),
        ("Records", "{a}\n{b}"),
        ("Records", '{a}\n{{"Records":[{b}]}}'),
        ("x.y", '{{"x":{{"z":1,"y":[{a},{b}]}}}}'),
    ],
)
@pytest.mark.parametrize("size", [1 << 20, 7])
def test_shapes_of_documents(path: str, text: str, size: int) -> None:
    data = text.format(a=json.dumps(ANN), b=json.dumps(BOB, ensure_ascii=False)).encode()
    batches = decode(PEOPLE, data, Json(records=path), size)
    first, second = rows(batches)
    assert first == ANN_ROW
    assert (second["name"], second["tags"], json.loads(second["more"])) == ("Bob", ["x", None], BOB["more"])
    assert positions(batches) == [0, 1]
    assert all(batch.raw(0) for batch in batches if batch.rows)
    assert not any(batch.bad or batch.extra for batch in batches)


@pytest.mark.parametrize(
    "data", [b"", b" \n", b"[]", b'{"Records":[]}', b'{"Records": null}', b'{"a":1,"Records":[ ]}']
)
def test_nothing_to_store(data: bytes) -> None:
    batches = decode(PEOPLE, data, Json(records="Records"))
    assert sum(b.rows + len(b.bad) for b in batches) == 0


def test_lines_have_byte_offsets() -> None:
    lines = [json.dumps(ANN), "", " ", "nonsense", json.dumps(BOB), "[1]", '{"name":"cut']
    data = "\n".join(lines).encode()
    (batch,) = decode(PEOPLE, data, Jsonl())
    assert [r["name"] for r in rows([batch])] == ["Ann", "Bob"]
    assert batch.skipped == 2
    assert [data[b.position :].split(b"\n")[0] for b in batch.bad] == [b"nonsense", b"[1]", b'{"name":"cut']
    assert [batch.raw(row) for row in (0, 1)] == [lines[0].encode(), lines[4].encode()]
    assert [data[p:].split(b"\n")[0] for p in batch.positions] == [batch.raw(0), batch.raw(1)]


def test_a_value_over_two_lines_is_no_line() -> None:
    (batch,) = decode(PEOPLE, b'{"name":\n"x"}{"name":"y"}\n', Jsonl())
    assert (batch.rows, len(batch.bad)) == (0, 2)


def test_large_documents_are_cut() -> None:
    more = [{"text": '},{"name":"no"}' * count, "list": [{"name": "in"}, {"name": "in"}]} for count in range(5)]
    people = [{"name": f"n{i}", "more": more[i % 5]} for i in range(50_000)]
    lines = "\n".join(map(json.dumps, people))
    for text in (json.dumps({"v": 1, "Records": people}), json.dumps(people, indent=1), lines):
        assert len(text) > 4 << 20
        batches = decode(PEOPLE, text.encode(), Json(records="Records"), 1 << 20)
        assert len(batches) < 30
        assert [name for b in batches for name in b.columns["name"].to_pylist()] == [p["name"] for p in people]
        assert positions(batches) == list(range(len(people)))
        assert json.loads(batches[1].raw(5)) == people[int(batches[1].positions[5])]


def expected(columns: tuple[Column, ...], record: dict[str, Any]) -> dict[str, Any]:
    out = {}
    for column in columns:
        value = record.get(column.src or camel(column.name))
        if value is not None and isinstance(column.type, Struct):
            value = expected(column.type.columns, value)
        elif value is not None and column.type == "timestamp":
            value = datetime.fromisoformat(value).astimezone(UTC).replace(tzinfo=None)
        out[column.name] = value
    return out


def seen(columns: tuple[Column, ...], row: dict[str, Any]) -> dict[str, Any]:
    return {
        c.name: json.loads(row[c.name]) if c.type == "json" and row[c.name] is not None else row[c.name]
        for c in columns
    }


def unknown(columns: tuple[Column, ...], record: dict[str, Any]) -> dict[str, Any]:
    known = {c.src or camel(c.name): c for c in columns}
    out = {}
    for key, value in record.items():
        column = known.get(key)
        if column is None:
            out[key] = value
        elif isinstance(column.type, Struct) and value is not None and (inner := unknown(column.type.columns, value)):
            out[key] = inner
    return out


def records_of(text: str) -> list[Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(document, list):
        return document
    return document.get("Records", [document])


@needs_data
@pytest.mark.parametrize("folder", ["cloudtrail-stratus", "cloudtrail-traildiscover", "otrf-aws"])
def test_real_trails_equal_json_loads(folder: str) -> None:
    decoder = json_decoder(TRAIL, Json(records="Records", keys="camel"))
    paths = [path for path in sorted((DATA / folder).rglob("*.json*")) if path.is_file()]
    assert paths
    for path in paths:
        records = records_of(path.read_text())
        batches = list(decoder.decode(Bytes(path.read_bytes())))
        assert sum(b.flagged + len(b.bad) for b in batches) == 0
        for record, row, extra in zip(records, rows(batches), extras(batches), strict=True):
            assert seen(TRAIL.columns, row) == expected(TRAIL.columns, record), path
            assert (extra or {}) == unknown(TRAIL.columns, record), path


@needs_data
def test_malformed_samples_are_salvaged() -> None:
    data = (DATA / "opensearch-catalog/observability/aws_cloudtrail/data/samples-large.json").read_bytes()
    batches = decode(TRAIL, data)
    assert sum(b.rows for b in batches) >= 838
    assert len(positions(batches)) == len(set(positions(batches)))
    lost = sum(b.length for batch in batches for b in batch.bad)
    assert lost < 4_000
