"""Statements about reconstruction: what goes in comes out, in files for everybody; numbers as in docs/windows.md."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datafusion import SessionContext
from layoutread import Chunks
from otaptables import simple, tables_of, told_by_tables, write
from otlprequests import (
    Request,
    Told,
    json_request,
    proto_of_json,
    proto_request,
    random_request,
    told_by_proto,
    told_by_request,
)

from tailrace.lake.place import LocalPlace
from tailrace.windows.batches import LARGEST_BATCH, batches
from tailrace.windows.ingest import read_file, read_stream
from tailrace.windows.reading import read_parts
from tailrace.windows.schema import ATTRS, LARGEST_ID, TABLES, Tables
from tailrace.windows.to_json import lines
from tailrace.windows.to_proto import messages
from tailrace.windows.writer import OtapWriter


def test_a24_what_goes_in_comes_out(tmp_path: Path) -> None:
    """A thousand requests in protobuf and the same in JSON; protobuf, JSON and tables come out."""
    dice = random.Random(24)
    requests = [random_request(dice) for _ in range(1_000)]
    expected: Told = Counter()
    for request in requests:
        expected += told_by_request(request)
    assert expected.total() > 2_000
    framed = b"".join(_framed(proto_request(request)) for request in requests)
    documents = "\n".join(map(json_request, requests)).encode()
    for name, data in (("proto", framed), ("json", documents)):
        (tmp_path / name).write_bytes(data)
        with OtapWriter(LocalPlace(str(tmp_path / f"{name}-tables"))) as writer, (tmp_path / name).open("rb") as raw:
            for read in read_file(raw, name):
                assert read.bad == []
                writer.write(read.tables)
        assert told_by_tables(tmp_path / f"{name}-tables") == expected
    out: Told = Counter()
    again: Told = Counter()
    for part in read_parts(LocalPlace(str(tmp_path / "proto-tables"))):
        for line in lines(part.tables, 1_000):
            out += told_by_proto(proto_of_json(line.decode()))
        for batch in batches(part.tables, 1_000):
            again += told_by_proto(b"".join(messages(batch)))
    assert out == expected
    assert again == expected


RECORD = {"time": 5, "observed": 7, "severity": 9, "severity_text": "INFO", "body": "x", "attributes": (("a", 1),)}
SCOPE = {"name": "s", "version": "1", "attributes": (("scope", True),), "records": [RECORD]}
FULL = {"attributes": (("service.name", "shop"),), "scopes": [SCOPE]}
FIXTURES: dict[str, Request] = {
    "full resource and scope": [FULL],
    "no resource": [{"scopes": [SCOPE]}],
    "no scope": [{"attributes": (("service.name", "shop"),), "scopes": [{"records": [RECORD]}]}],
    "no resource, no scope": [{"scopes": [{"records": [RECORD]}]}],
    "no attributes": [{"scopes": [{"records": [RECORD | {"attributes": ()}]}]}],
    "nothing": [],
    "no scope logs": [{"attributes": (("service.name", "shop"),), "scopes": []}],
    "no log records": [{"scopes": [{"name": "s", "records": []}]}],
    "a body that is an empty text": [{"scopes": [{"records": [RECORD | {"body": ""}]}]}],
    "many records, no resource": [{"scopes": [{"name": "s", "records": [RECORD] * 4}]}],
    "many scopes, no resource": [{"scopes": [SCOPE, SCOPE | {"name": "t"}, {"records": [RECORD]}]}],
    "many resources, mixed": [FULL, {"scopes": [SCOPE]}, {"attributes": (("x", (("k", [1]),)),), "scopes": [SCOPE]}],
    "varying": [
        {"scopes": [{"records": [RECORD | {"attributes": tuple((f"k{n}", n) for n in range(m))} for m in range(9)]}]}
    ],
}


@pytest.mark.parametrize("name", FIXTURES)
def test_a24_shapes_that_exporters_are_tested_with(name: str, tmp_path: Path) -> None:
    request = FIXTURES[name]
    expected = told_by_request(request)
    for form, data in (("proto", proto_request(request)), ("json", json_request(request).encode())):
        with OtapWriter(LocalPlace(str(tmp_path / form))) as writer:
            for read in read_stream(Chunks([data])):
                assert read.bad == []
                writer.write(read.tables)
        assert told_by_tables(tmp_path / form) == expected


def _framed(message: bytes) -> bytes:
    from otlpwrite import varint

    return varint(len(message)) + message


OTLP_SETS = (
    "otlp2parquet-testdata/logs.jsonl", "otlp2parquet-testdata/logs.pb", "otlp2parquet-testdata/log.json",
    "otlp-proto-examples/logs.json", "otlp-proto-examples/events.json", "lnav-logfiles/logfile_otel_collector.jsonl",
    "fluentbit-otlp/runtime/data/opentelemetry/routing_logs.json",
)  # fmt: skip


@pytest.mark.parametrize("name", OTLP_SETS)
def test_a24_real_logs_come_out_as_they_went_in(name: str, real_logs: Path, tmp_path: Path) -> None:
    data = (real_logs / name).read_bytes()
    texts = [data.decode()] if name.endswith(".json") else data.decode().splitlines() if name[-1] == "l" else []
    expected = told_by_proto(b"".join(map(proto_of_json, texts)) if texts else data)
    assert expected
    with OtapWriter(LocalPlace(str(tmp_path))) as writer:
        for read in read_stream(Chunks([data])):
            assert read.bad == []
            writer.write(read.tables)
    assert told_by_tables(tmp_path) == expected


def test_a25_types_zeros_and_nanoseconds() -> None:
    values = (None, "x", 7, 1.5, True, (("k", 1),), [1, "y"], b"z")
    record = {"time": 2**53 + 1, "observed": 1_790_000_040_000_000_001, "trace": bytes(range(16)), "span": bytes(8)}
    record |= {"attributes": tuple((str(code), value) for code, value in enumerate(values))}
    tables = tables_of([{"scopes": [{"records": [record]}]}])
    assert tables.log_attrs["type"].to_pylist() == list(range(8))
    assert tables.logs["time_unix_nano"].cast(pa.int64()).to_pylist() == [2**53 + 1]
    assert tables.logs["span_id"].to_pylist() == [None]
    (line,) = lines(tables)
    told = json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
    assert told["traceId"] == bytes(range(16)).hex()
    assert told["observedTimeUnixNano"] == "1790000040000000001"
    # A null in the active column is the type's zero; without CBOR a map is no value.
    nulls = [pa.nulls(8, field.type) if field.name not in ("parent_id", "key", "type") else None for field in ATTRS]
    columns = [
        tables.log_attrs[field.name] if array is None else array for field, array in zip(ATTRS, nulls, strict=True)
    ]
    bare = Tables(tables.logs, pa.table(columns, schema=ATTRS), tables.resource_attrs, tables.scope_attrs)
    zeros = (None, "", 0, 0.0, None, None, None, b"")
    record["attributes"] = tuple((str(code), value) for code, value in enumerate(zeros))
    assert told_by_proto(b"".join(messages(bare))) == told_by_request([{"scopes": [{"records": [record]}]}])


def test_a26_batches_have_dense_ids_and_no_log_is_split() -> None:
    """Sampled logs have ids far apart."""
    count = 140_000
    ids = pa.array([0, 10**6, 4 * 10**9, *range(1, count - 2)], pa.uint32())
    one = tables_of(simple("shop", ["a"]))
    rows = one.logs.take(pa.array([0] * count)).set_column(0, "id", ids)
    parents = pa.concat_arrays([ids, ids]).take(pa.array([n % count for n in range(2 * count)]))
    attributes = one.log_attrs.take(pa.array([0] * count + [1] * count)).set_column(0, ATTRS.field(0), parents)
    made = list(batches(Tables(rows, attributes, one.resource_attrs, one.scope_attrs)))
    assert [len(batch.logs) for batch in made] == [LARGEST_BATCH, LARGEST_BATCH, count - 2 * LARGEST_BATCH]
    for batch in made:
        assert batch.logs["id"].to_pylist() == list(range(len(batch.logs)))
        assert batch.log_attrs["parent_id"].to_pylist() == [n // 2 for n in range(2 * len(batch.logs))]
        assert batch.resource_attrs["parent_id"].to_pylist() == [0]


def test_a27_ids_are_unique_in_a_partition_and_files_are_for_everybody(tmp_path: Path) -> None:
    requests = [simple("shop", ["a", "b"]), simple("bank", ["c"], attributes=False), simple("post", ["d"])]
    write(tmp_path, *requests)
    (part,) = read_parts(LocalPlace(str(tmp_path)))
    assert part.tables.logs["id"].to_pylist() == [0, 1, None, 3]
    assert [r["id"] for r in part.tables.logs["resource"].to_pylist()] == [0, 0, 2, 3]
    for name in TABLES:
        (path,) = (tmp_path / name).rglob("*.parquet")
        metadata = pq.ParquetFile(path).metadata.metadata
        assert metadata[b"otap.ids"] == b"partition"
        assert metadata[b"_part_id"].decode() == part.part_id
        counted = duckdb.sql(f"select count(*), count(distinct _part_id) from read_parquet('{tmp_path}/{name}/*/*')")
        assert counted.fetchall() == [(len(part.tables.of(name)), 1)]
        context = SessionContext()
        context.register_parquet(name, str(path))
        assert context.sql(f"select count(*) as n from {name}").to_pydict() == {"n": [len(part.tables.of(name))]}


def test_a27_beyond_32_bits_a_new_partition_begins(tmp_path: Path) -> None:
    tables = tables_of(simple("shop", ["a", "b"]))
    with OtapWriter(LocalPlace(str(tmp_path)), part_id="first") as writer:
        writer.write(tables)
        writer._next_id = LARGEST_ID - 1
        writer.write(tables)
        writer.write(tables)
    parts = {part.part_id: part.tables.logs["id"].to_pylist() for part in read_parts(LocalPlace(str(tmp_path)))}
    assert parts.pop("first") == [0, 1, LARGEST_ID - 1, LARGEST_ID]
    assert list(parts.values()) == [[0, 1]]
    assert list(told_by_tables(tmp_path).values()) == [3, 3]
