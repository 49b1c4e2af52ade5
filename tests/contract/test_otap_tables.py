"""Statements about OTAP tables, their files and reconstruction; numbers are those of the list in docs/windows.md."""

from __future__ import annotations

import json
import os
import random
import threading
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from layoutread import Chunks
from otaptables import simple, tables_of, told_by_tables, write
from otlprequests import (
    Told,
    json_request,
    proto_of_json,
    proto_request,
    random_request,
    told_by_proto,
    told_by_request,
)
from upstreamfiles import Exporter

from tailrace.core.errors import DataError
from tailrace.lake.place import LocalPlace
from tailrace.windows.batches import LARGEST_BATCH, batches
from tailrace.windows.files import list_table, new_name
from tailrace.windows.ingest import read_file, read_stream
from tailrace.windows.reading import read_parts
from tailrace.windows.schema import ATTRS, LARGEST_ID, LOGS, TABLES, Tables
from tailrace.windows.to_json import lines
from tailrace.windows.to_proto import messages
from tailrace.windows.writer import OtapWriter


def test_a06_only_whole_files_of_the_right_name_are_read(tmp_path: Path) -> None:
    write(tmp_path, simple("shop", ["a", "b"]))
    (whole,) = (tmp_path / "logs").rglob("*.parquet")
    for name in (f"{whole.name}#1", "_SUCCESS", f".{whole.name}.crc", ".hidden.parquet", "other.parquet"):
        (whole.parent / name).write_bytes(b"not a table")
    (tmp_path / "logs" / "_part_id=empty").mkdir()
    (tmp_path / "logs" / "_temporary").mkdir()
    assert told_by_tables(tmp_path) == told_by_request(simple("shop", ["a", "b"]))
    broken = whole.with_name(new_name())
    broken.write_bytes(whole.read_bytes()[:-20])
    with pytest.raises(DataError, match="not a whole Parquet file") as failure:
        told_by_tables(tmp_path)
    assert broken.name in str(failure.value)


def test_a07_an_absent_table_is_an_empty_one(tmp_path: Path) -> None:
    request = simple("shop", ["a", "b"], attributes=False)
    del request[0]["attributes"]
    del request[0]["scopes"][0]["attributes"]
    write(tmp_path, request)
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    (part,) = read_parts(LocalPlace(str(tmp_path)))
    assert [len(part.tables.of(name)) for name in TABLES] == [2, 0, 0, 0]
    assert part.tables.log_attrs.schema == ATTRS
    assert told_by_tables(tmp_path) == told_by_request(request)
    assert list(read_parts(LocalPlace(str(tmp_path / "nothing")))) == []


def test_a08_files_of_different_writers_are_read_together(tmp_path: Path) -> None:
    plain, coded = Exporter(tmp_path, "one"), Exporter(tmp_path, "two", dictionaries=True, event_name=False)
    requests = [simple("shop", ["a", "b"]), simple("bank", ["c"], attributes=False), simple("post", ["d", "e"])]
    plain.export(tables_of(requests[0]))
    plain.flush()
    coded.export(tables_of(requests[2]))
    coded.flush()
    unidentified = Exporter(tmp_path, "three")
    unidentified.export(tables_of(requests[1]))
    unidentified.flush()
    write(tmp_path, simple("ours", ["f"]))
    types = {pq.read_schema(path).field("id").type for path in (tmp_path / "logs").rglob("*.parquet")}
    assert types == {pa.uint16(), pa.uint32()}
    parts = list(read_parts(LocalPlace(str(tmp_path))))
    assert {part.part_id for part in parts} >= {"one", "two", "three"}
    assert all(part.tables.logs.schema == LOGS for part in parts)
    assert {part.part_id: part.unresolved for part in parts if part.unresolved} == {"three": 1}
    told = told_by_tables(tmp_path)
    for request in (requests[0], requests[2], simple("ours", ["f"])):
        assert told_by_request(request) <= told
    assert told.total() == 6


def test_a10_attributes_are_found_by_id_not_by_name_or_time(tmp_path: Path) -> None:
    write(tmp_path, simple("shop", ["a"]), simple("bank", ["b"]), rows_per_file=1)
    for path in (tmp_path / "log_attrs").rglob("*.parquet"):
        created = int(path.name.split("-")[1])
        path.rename(path.with_name(path.name.replace(str(created), str(created + 600_000))))
    expected = told_by_request(simple("shop", ["a"])) + told_by_request(simple("bank", ["b"]))
    assert told_by_tables(tmp_path) == expected


def test_a11_whoever_sees_logs_sees_their_attributes(tmp_path: Path) -> None:
    """A writer rotates its files while a reader reads: no log is ever without its attributes."""
    rotations = 20
    tables = tables_of(simple("shop", ["a"]))
    ended = threading.Event()

    def rotate() -> None:
        with OtapWriter(LocalPlace(str(tmp_path)), rows_per_file=1) as writer:
            for _ in range(rotations):
                writer.write(tables)
        ended.set()

    writer = threading.Thread(target=rotate)
    writer.start()
    looks = 0
    while not ended.is_set():
        logs = list(list_table(LocalPlace(str(tmp_path)), "logs"))
        children = sum(1 for _ in list_table(LocalPlace(str(tmp_path)), "log_attrs"))
        assert children >= len(logs)
        looks += 1
    writer.join()
    assert looks > 1
    told = told_by_tables(tmp_path)
    assert list(told.values()) == [rotations]


@pytest.mark.parametrize("resources", [1, 2, 4])
def test_a21_upstream_files_resources_are_recovered(resources: int, tmp_path: Path) -> None:
    dice = random.Random(resources)
    exporter = Exporter(tmp_path, "core-0")
    expected: Told = Counter()
    total = 0
    for batch in range(50):
        request = [
            simple(f"{batch}/{number}", ["x"] * dice.randrange(1, 6))[0]
            for number in range(dice.randrange(1, resources + 1))
        ]
        expected += told_by_request(request)
        tables = tables_of(request)
        total += len(tables.logs)
        exporter.export(tables)
        if dice.random() < 0.2:
            exporter.flush()
    exporter.flush()
    assert sum(part.unresolved for part in read_parts(LocalPlace(str(tmp_path)))) == 0
    assert told_by_tables(tmp_path) == expected
    # The join of the specification is right in the first batch only.
    joined = duckdb.sql(
        f"""select count(*) from read_parquet('{tmp_path}/logs/*/*.parquet') l
        join read_parquet('{tmp_path}/resource_attrs/*/*.parquet') r on r.parent_id = l.resource.id
        join read_parquet('{tmp_path}/log_attrs/*/*.parquet') a on a.parent_id = l.id and a.key = 'of'
        where r.str = a.str"""
    ).fetchall()
    assert joined[0][0] <= 5 * resources < total


def test_a21_what_cannot_be_told_is_counted_and_never_wrong(tmp_path: Path) -> None:
    dice = random.Random(5)
    exporter = Exporter(tmp_path, "core-0")
    expected: Told = Counter()
    for batch in range(60):
        request = [
            simple(f"{batch}/{n}", ["x"] * dice.randrange(1, 4), attributes=dice.random() < 0.7)[0]
            for n in range(dice.randrange(1, 4))
        ]
        expected += told_by_request(request)
        exporter.export(tables_of(request))
    exporter.flush()
    (part,) = read_parts(LocalPlace(str(tmp_path)))
    assert 0 < part.unresolved < len(part.tables.logs)
    told = told_by_tables(tmp_path)
    wrong = told - expected
    assert wrong.total() == part.unresolved
    assert not [record for record in wrong if "service.name" in record]


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


def test_a_writer_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupted() -> None:
        with OtapWriter(LocalPlace(str(tmp_path))) as writer:
            writer.write(tables_of(simple("shop", ["a"])))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [name for _, _, names in os.walk(tmp_path) for name in names] == []
