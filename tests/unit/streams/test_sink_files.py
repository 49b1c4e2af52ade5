"""What the sink's files look like: codecs, row groups, filters, payloads, footers."""

from __future__ import annotations

import json
import os
import threading
import time
from itertools import pairwise

import duckdb
import flatwrite as fw
import polars as pl
import pyarrow.parquet as pq
import pytest
from livesink import DAY, NOW, Sink, day, frames

from tailrace.streams import publish, sink_files
from tailrace.streams.kinds import schema
from tailrace.streams.tree import files

CODECS = {"snappy": "SNAPPY", "gzip": "GZIP", "lz4": "LZ4", "zstd": "ZSTD", "uncompressed": "UNCOMPRESSED"}
TODAY = f"42/{day(NOW)}"


PROBE = "SELECT count(*), count(*) FILTER (bloom_filter_excludes) FROM parquet_bloom_probe(?, 'device_id', ?)"


def asked(sql, *values):
    with duckdb.connect() as engine:
        return engine.execute(sql, list(values)).fetchall()


@pytest.fixture
def sink(tmp_path):
    return Sink(tmp_path)


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_read_by_every_engine(tmp_path, codec):
    sink = Sink(tmp_path, compression=codec)
    sink.events(*(fw.event(n) for n in range(100)))
    path = sink.options.path / f"{TODAY}/events.parquet"
    group = pq.ParquetFile(path).metadata.row_group(0)
    assert group.column(8).compression == CODECS[codec]
    assert asked(f"SELECT count(*), min(timestamp) FROM '{path}'") == [(100, NOW)]
    assert len(pl.read_parquet(path)) == 100
    if codec == "lz4":
        assert asked(f"SELECT DISTINCT compression FROM parquet_metadata('{path}')") == [("LZ4_RAW",)]


@pytest.mark.parametrize("size", [100, 1000])
def test_row_groups_have_statistics_and_follow_each_other(tmp_path, size):
    sink = Sink(tmp_path, row_group_size=size)
    for turn in range(4):
        sink.events(*(fw.event((n * 7919 + turn) % 2000) for n in range(500)))
    metadata = pq.ParquetFile(sink.options.path / f"{TODAY}/events.parquet").metadata
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [size] * (2000 // size)
    for name in ("timestamp", "batch_timestamp", "workspace_id", "event_type", "event_name", "device_id"):
        column = metadata.schema.names.index(name)
        assert all(group.column(column).statistics.has_min_max for group in groups)
    bounds = [(g.column(0).statistics.min, g.column(0).statistics.max) for g in groups]
    assert all(before[1] <= after[0] for before, after in pairwise(bounds))


def test_a_device_that_is_not_there_is_known_without_reading(tmp_path):
    """The bloom filter: minimum and maximum of random ids tell nothing."""
    sink = Sink(tmp_path, row_group_size=100)
    sink.events(*(fw.event(n, device=os.urandom(16)) for n in range(1000)))
    path = sink.options.path / f"{TODAY}/events.parquet"
    ((groups, excluded),) = asked(PROBE, str(path), b"\x80" * 16)
    assert groups == 10
    assert excluded >= 8


@pytest.mark.parametrize(("payload", "wanted"), [
    (b'{"a": 1}', b'{"a": 1}'), (b"", b"{}"), (b"plain text", b'{"message":"plain text"}'),
    (b"\xff\x00", b'{"base64":"/wA="}'), (b'{"a":\n1}', b'{"a":\n1}'), (b"[1]", b"[1]"), (b"{", b'{"message":"{"}'),
])  # fmt: skip
def test_json_payloads_are_json(tmp_path, payload, wanted):
    sink = Sink(tmp_path)
    sink.events(fw.event(payload=payload), fw.event(1))
    assert sink.rows(f"{TODAY}/events.parquet")[0]["payload"] == wanted
    binary = Sink(tmp_path / "b", data_format="binary")
    binary.events(fw.event(payload=payload, service="shop"))
    (row,) = binary.rows(f"{TODAY}/events.parquet")
    assert (row["payload"], row["service"]) == (payload, "shop")


@pytest.mark.parametrize(("payload", "wanted"), [
    (b'{"a":1}', {"service": "shop", "a": 1}), (b"{}", {"service": "shop"}), (b"", {"service": "shop"}),
    (b'{"service":"own"}', {"service": "own"}), (b'{"x":"\\"service\\""}', {"x": '"service"', "service": "shop"}),
    (b"[1]", {"value": [1], "service": "shop"}), (b' {"a":1}', {"a": 1, "service": "shop"}),
])  # fmt: skip
def test_the_service_of_an_event_is_in_its_payload(sink, payload, wanted):
    sink.events(fw.event(payload=payload, service="shop"), fw.event(1, payload=b'{"b":2}'))
    first, second = sink.rows(f"{TODAY}/events.parquet")
    assert json.loads(first["payload"]) == wanted
    assert second["payload"] == b'{"b":2}'


def test_the_service_of_very_many_events(tmp_path):
    sink = Sink(tmp_path)
    message = fw.events([fw.event(n, payload=b'{"text":"%s"}' % (b"x" * 150), service="shop") for n in range(100)])
    sink.send(frames(*[message] * 1000))
    payloads = pq.ParquetFile(sink.options.path / f"{TODAY}/events.parquet").read()["payload"]
    assert len(payloads) == 100_000
    assert payloads.unique().to_pylist() == [b'{"service":"shop","text":"%s"}' % (b"x" * 150)]


def test_the_footer_tells_what_is_inside(sink):
    sink.events(fw.event())
    told = pq.read_metadata(sink.options.path / f"{TODAY}/events.parquet").metadata
    assert told[b"tailrace.through"] == b"1"
    assert told[b"tailrace.data_format"] == b"json"
    assert told[b"tailrace.schema_version"] == b"1"


def test_large_files_get_more_row_groups_and_are_sorted_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(sink_files, "SMALL", 0)
    sink = Sink(tmp_path, row_group_size=100)
    for turn in range(4):
        sink.events(*(fw.event(n * 4 + turn, device=bytes([n % 250]) * 16) for n in range(150)))
    path = sink.options.path / f"{TODAY}/events.parquet"
    assert pq.ParquetFile(path).metadata.num_row_groups == 8
    for read in (_by_arrow, _by_duckdb, _by_polars):
        assert sorted(read(path)) == [f"page_view_{n:d}" for n in sorted(range(600), key=str)]
    assert asked(PROBE, str(path), b"\x05" * 16)[0][0] == 8
    assert sink.publisher.seal(NOW + 30 * DAY) == 1
    metadata = pq.ParquetFile(path).metadata
    bounds = [metadata.row_group(n).column(0).statistics for n in range(metadata.num_row_groups)]
    assert [b.max < a.min for b, a in pairwise(bounds)] == [True] * 5
    assert _by_arrow(path) == [f"page_view_{n}" for n in range(600)]
    assert pq.ParquetFile(path).schema_arrow.remove_metadata() == schema("events")
    sink.publisher.look_for_files(files(sink.options))
    assert sink.publisher.seal(NOW + 30 * DAY) == 0


def test_sorting_at_the_end_is_brief(tmp_path, monkeypatch):
    sink = Sink(tmp_path)
    for tenant in (1, 2, 3):
        sink.events(*(fw.event(n) for n in range(100 * tenant)), workspace=tenant)
    sizes = sorted(state.size for state in sink.publisher._states.values())
    monkeypatch.setattr(publish, "SORTED", sizes[1])
    assert sink.publisher.seal(NOW + 30 * DAY, seconds=0) == 0
    assert sink.publisher.seal(NOW + 30 * DAY, seconds=1) == 2
    assert sink.publisher.seal(NOW + 30 * DAY) == 1


def _sorted_slowly(monkeypatch):
    """A file is sorted, and that is told when it is let."""
    begun, goes_on, original = threading.Event(), threading.Event(), sink_files.FileWriter.seal

    def seal(*given):
        original(*given)
        begun.set()
        assert goes_on.wait(20)

    monkeypatch.setattr(sink_files.FileWriter, "seal", seal)
    return begun, goes_on


def test_while_a_file_is_sorted_others_are_published(tmp_path, monkeypatch):
    sink = Sink(tmp_path)
    begun, goes_on = _sorted_slowly(monkeypatch)
    sink.events(fw.event(2), fw.event(1))
    sink.publisher.seal_aside(NOW + 30 * DAY, begin=True)
    assert begun.wait(20)
    sink.events(fw.event(3), workspace=7)
    assert [row["event_name"] for row in sink.rows(f"7/{day(NOW)}/events.parquet")] == ["page_view_3"]
    path = sink.options.path / f"{TODAY}/events.parquet"
    sink.publisher.seal_aside(NOW + 30 * DAY, begin=True)
    assert not sink_files.state_of(path).sealed
    goes_on.set()
    _sealed(sink, path)
    assert _by_arrow(path) == ["page_view_1", "page_view_2"]
    _sealed(sink, sink.options.path / f"7/{day(NOW)}/events.parquet")
    assert sink.publisher.counts["write_errors"] == 0
    assert not list((sink.options.state / "staging").iterdir())


@pytest.mark.parametrize("what", ["renewed", "deleted"])
def test_what_was_sorted_of_a_file_that_changed_meanwhile_is_thrown_away(tmp_path, monkeypatch, what):
    sink = Sink(tmp_path)
    begun, goes_on = _sorted_slowly(monkeypatch)
    sink.events(fw.event(1), fw.event(2))
    path = sink.options.path / f"{TODAY}/events.parquet"
    sink.publisher.seal_aside(NOW + 30 * DAY, begin=True)
    assert begun.wait(20)
    if what == "renewed":
        sink.events(fw.event(3))
    else:
        sink.publisher.forget(files(sink.options))
        path.unlink()
    goes_on.set()
    sink.publisher._sealing.join(20)
    sink.publisher.seal_aside(NOW, begin=False)
    assert not list((sink.options.state / "staging").iterdir())
    assert path.exists() == (what == "renewed")
    if what == "renewed":
        _sealed(sink, path)
        assert _by_arrow(path) == ["page_view_1", "page_view_2", "page_view_3"]


def test_whoever_ends_does_not_wait_for_what_is_being_sorted(tmp_path, monkeypatch):
    sink = Sink(tmp_path)
    begun, goes_on = _sorted_slowly(monkeypatch)
    monkeypatch.setattr("tailrace.streams.sealing._PATIENCE", 0.01)
    sink.events(fw.event(2), fw.event(1))
    sink.publisher.seal_aside(NOW + 30 * DAY, begin=True)
    assert begun.wait(20)
    sealing = sink.publisher._sealing
    assert sink.publisher.seal(NOW + 30 * DAY) == 0
    goes_on.set()
    sealing.join(20)
    monkeypatch.undo()
    sink.restart()
    sink.publisher.look_for_files(files(sink.options))
    assert sink.publisher.seal(NOW + 30 * DAY) == 1


def _sealed(sink, path) -> None:
    deadline = time.monotonic() + 20
    while not sink_files.state_of(path).sealed:
        assert time.monotonic() < deadline
        sink.publisher.seal_aside(NOW + 30 * DAY, begin=True)
        time.sleep(0.01)


def _by_arrow(path):
    return pq.ParquetFile(path).read()["event_name"].to_pylist()


def _by_duckdb(path):
    return [name for (name,) in asked(f"SELECT event_name FROM '{path}'")]


def _by_polars(path):
    return pl.read_parquet(path)["event_name"].to_list()
