"""What the Parquet sink promises, by number; docs/live.md says it in words."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import duckdb
import flatwrite as fw
import polars as pl
import pyarrow.parquet as pq
import pytest
from liveserver import DEVICE, EVENT, KEY, OTHER, serving
from livesink import DAY, HOUR, NOW, Sink, day, frames, lines

from tailrace.config.load import load_texts
from tailrace.config.places import ConfigErrors, Text
from tailrace.core.errors import LockedError
from tailrace.streams import records
from tailrace.streams.driver import Driver, SinkDriver
from tailrace.streams.kinds import KINDS, LEVELS, schema
from tailrace.streams.records import address
from tailrace.streams.sink_options import SinkOptions
from tailrace.streams.spool import SpoolLimits

TODAY = f"42/{day(NOW)}"
MIXED = (fw.events([fw.event(n) for n in range(30)]), fw.logs([fw.log(n) for n in range(20)]),
         fw.snapshots([fw.snapshot(n) for n in range(10)]))  # fmt: skip


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    return Sink(tmp_path)


def asked(sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as engine:
        found: list[tuple[object, ...]] = engine.execute(sql).fetchall()
        return found


def chdb(sql: str) -> str:
    """In a process of its own: its threads do not end with a connection."""
    program = "import sys, chdb; print(chdb.query(sys.argv[1], 'CSV'))"
    run = subprocess.run([sys.executable, "-c", program, sql], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.strip()


def test_01_every_file_opens_in_every_engine(sink):
    """Spark reads them in tests/spark/test_live.py."""
    sink.send(frames(*MIXED))
    for kind, count in zip(KINDS, (30, 20, 10), strict=True):
        path = sink.options.path / f"{TODAY}/{kind}.parquet"
        assert path.is_file()
        assert pq.read_table(path).num_rows == len(pl.read_parquet(path)) == count
        assert asked(f"SELECT count(*) FROM '{path}'") == [(count,)]
    globbed = f"{sink.options.path}/42/2023-11-*/events.parquet"
    assert asked(f"SELECT event_type, count(*) FROM '{globbed}' GROUP BY 1") == [("track", 30)]
    assert len(pl.scan_parquet(f"{sink.options.path}/**/events.parquet").collect()) == 30
    assert chdb(
        f"SELECT count(*), min(timestamp) FROM file('{sink.options.path}/{TODAY}/events.parquet', Parquet)"
    ) == (f"30,{NOW}")


def test_03_five_sends_leave_all_rows_in_one_file(sink):
    for turn in range(5):
        sink.events(*(fw.event(1000 * turn + n) for n in range(1000)))
    assert sink.tree() == [f"{TODAY}/events.parquet"]
    assert len({row["event_name"] for row in sink.rows(f"{TODAY}/events.parquet")}) == 5000


def test_04_rows_from_before_and_after_a_restart(sink):
    sink.events(fw.event(1))
    sink.restart()
    sink.events(fw.event(2))
    assert len(sink.rows(f"{TODAY}/events.parquet")) == 2


def test_05_directories_are_of_utc(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        for rotation, wanted in (("daily", ""), ("hourly", "22/")):
            sink = Sink(tmp_path / rotation, rotation=rotation)
            sink.events(fw.event())
            assert sink.tree() == [f"42/2023-11-14/{wanted}events.parquet"]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert SinkOptions("x", tmp_path).rotation == "daily"


def test_06_a_row_s_own_time_says_its_period(tmp_path):
    midnight = NOW // DAY * DAY
    sink = Sink(tmp_path / "event")
    sink.events(fw.event(timestamp=midnight - 1), fw.event(timestamp=midnight))
    assert len(sink.tree()) == 2
    hourly = Sink(tmp_path / "hourly", rotation="hourly")
    hourly.events(fw.event(timestamp=midnight + 14 * HOUR - 1), fw.event(timestamp=midnight + 14 * HOUR))
    assert [name.split("/")[2] for name in hourly.tree()] == ["13", "14"]
    arrival = Sink(tmp_path / "arrival", partition_by="processing_time")
    arrival.events(fw.event(timestamp=midnight - 1), at=midnight + 5)
    assert arrival.tree() == [f"42/{day(midnight)}/events.parquet"]


def test_07_late_rows_join_their_day_and_impossible_times_do_not(sink):
    sink.events(*(fw.event(timestamp=NOW - 26 * HOUR + n) for n in (0, 2)), at=NOW - 26 * HOUR)
    sink.events(fw.event(timestamp=NOW - 26 * HOUR + 1), at=NOW)
    rows = sink.rows(f"42/{day(NOW - 26 * HOUR)}/events.parquet")
    assert [row["timestamp"] - NOW + 26 * HOUR for row in rows] == [0, 1, 2]
    driver = SinkDriver(sink.options)
    assert driver.counts()["late_rows"] == 1
    for stamp in (0, 2**63, NOW + DAY + 1, NOW - 8 * DAY):
        sink.events(fw.event(timestamp=stamp))
    assert len(sink.tree()) == 1
    assert {row["reason"].split(":")[0] for row in sink.quarantined()} == {"time"}
    assert len(sink.quarantined()) == 4


def test_08_a_sealed_period_is_one_file_and_an_idle_one_nothing(sink):
    sink.send()
    assert not list(sink.options.path.iterdir())
    for turn in range(3):
        sink.events(fw.event(turn))
    sink.publisher.seal(NOW + 30 * DAY)
    assert sink.tree() == [f"{TODAY}/events.parquet"]


def test_09_a_second_writer_is_refused_and_a_dead_one_in_nobody_s_way(tmp_path):
    options = SinkOptions("s", tmp_path / "parquet")
    program = (
        "import sys, os, signal\nfrom pathlib import Path\nfrom tailrace.streams.driver import Driver\n"
        "from tailrace.streams.sink_options import SinkOptions\n"
        "driver = Driver(Path(sys.argv[1]), [SinkOptions('s', Path(sys.argv[2]))])\n"
        "print('held', flush=True)\nsys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "spool"), str(options.path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(LockedError, match="held by process"):
            Driver(tmp_path / "spool", [options])
        process.kill()
    Driver(tmp_path / "spool", [options])._held.close()


def test_10_columns_are_those_of_the_document(sink):
    sink.send(frames(*MIXED))
    for kind in KINDS:
        file = pq.ParquetFile(sink.options.path / f"{TODAY}/{kind}.parquet")
        assert file.schema_arrow.remove_metadata() == schema(kind)
        for row in file.read().to_pylist():
            assert all(len(row[name]) == 16 for name in ("device_id", "session_id", "source_ip") if row.get(name))
    assert address("1.2.3.4") == bytes(10) + b"\xff\xff\x01\x02\x03\x04"


def test_11_row_groups_have_statistics_and_follow_each_other(tmp_path):
    sink = Sink(tmp_path, row_group_size=500)
    for turn in range(4):
        sink.events(*(fw.event(n * 4 + turn) for n in range(500)))
    sink.publisher.seal(NOW + 30 * DAY)
    metadata = pq.ParquetFile(sink.options.path / f"{TODAY}/events.parquet").metadata
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [500] * 4
    assert all(group.column(n).statistics.has_min_max for group in groups for n in range(5))
    stamps = [group.column(0).statistics for group in groups]
    assert all(before.max <= after.min for before, after in pairwise(stamps))


CODECS = {"snappy": "SNAPPY", "gzip": "GZIP", "lz4": "LZ4_RAW", "zstd": "ZSTD", "uncompressed": "UNCOMPRESSED"}


def test_13_codecs(tmp_path):
    for codec, wanted in CODECS.items():
        sink = Sink(tmp_path / codec, compression=codec)
        sink.events(fw.event())
        path = sink.options.path / f"{TODAY}/events.parquet"
        assert asked(f"SELECT DISTINCT compression FROM parquet_metadata('{path}')") == [(wanted,)]
        assert len(pl.read_parquet(path)) == pq.read_table(path).num_rows == 1
    every = f"{tmp_path}/*/parquet/{TODAY}/events.parquet"
    assert chdb(f"SELECT count(*) FROM file('{every}', Parquet)") == "5"
    with pytest.raises(ConfigErrors, match="snappy, gzip, lz4, zstd"):
        configured('compression = "brotli"')


def test_14_payloads_as_json_or_as_sent(tmp_path):
    for form, wanted in (("json", [b'{"a":1}', b'{"message":"text"}']), ("binary", [b'{"a":1}', b"text"])):
        sink = Sink(tmp_path / form, data_format=form)
        sink.events(fw.event(0, payload=b'{"a":1}'), fw.event(1, payload=b"text"))
        assert [row["payload"] for row in sink.rows(f"{TODAY}/events.parquet")] == wanted
        footer = pq.read_metadata(sink.options.path / f"{TODAY}/events.parquet").metadata
        assert footer[b"tailrace.data_format"] == form.encode()
        assert footer[b"tailrace.schema_version"] == b"1"


def test_19_one_target_that_cannot_be_written_stops_only_itself(sink):
    (sink.options.path / "7").write_text("in the way")
    sink.send(frames(fw.events([fw.event(1)]), workspace=7), frames(*MIXED))
    assert [name for name in sink.tree() if name != "7"] == [f"{TODAY}/{kind}.parquet" for kind in sorted(KINDS)]
    assert sink.publisher.counts["write_errors"] == 1
    (sink.options.path / "7").unlink()
    sink.publisher.publish(10)
    assert len(sink.rows(f"7/{day(NOW)}/events.parquet")) == 1
    assert len(sink.rows(f"{TODAY}/events.parquet")) == 30


def test_21_batches_that_are_sent_again_are_stored_once(tmp_path):
    same, other = fw.events([fw.event(1)], batch_id=9), fw.events([fw.event(2)], batch_id=9)
    nameless = fw.events([fw.event(3)])
    with serving(tmp_path) as served:
        for message in (same, same, other, nameless, nameless):
            assert served.post("/v1/ingest", message, Content_Type="application/x-tell")[0] == 202
        assert served.count("deduplicated_batches") == 1
        assert len(served.rows("events")) == 4


def test_22_overload_is_told_and_nothing_dropped(tmp_path):
    with serving(tmp_path, limits=SpoolLimits(high_mark=100, reserve=0)) as served:
        assert served.post("/v1/events", EVENT)[0] == 202
        assert served.post("/v1/events", EVENT)[0] == 503
        served.listening.intake.spool.limits = SpoolLimits(reserve=0)
        assert served.post("/v1/events", EVENT)[0] == 202
        assert len(served.rows("events")) == 2


def test_24_two_keys_on_one_connection(tmp_path):
    keys = (fw.KEY, bytes.fromhex(OTHER), b"\x99" * 16)
    with serving(tmp_path) as served:
        with socket.create_connection(served.place("tcp.t"), timeout=20) as connection:
            connection.sendall(fw.framed(*(fw.events([fw.event(n)], key=key) for n, key in enumerate(keys))))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        assert served.count("auth_failures") == 1
        assert [row["workspace_id"] for row in served.rows("events")] == [42, 7]


def test_26_all_levels_keep_their_names(sink):
    sink.send(frames(fw.logs([fw.log(n, level=n) for n in range(9)])))
    over_http = b"\n".join(b'{"message":"m","level":"%s"}' % level.encode() for level in LEVELS)
    sink.send(lines(over_http, records.LOG_LINES, workspace=7))
    assert [row["level"] for row in sink.rows(f"{TODAY}/logs.parquet")] == list(LEVELS)
    assert [row["level"] for row in sink.rows(f"7/{day(NOW)}/logs.parquet")] == list(LEVELS)


def test_28_snapshots_are_stored_and_nothing_is_dropped_silently(sink):
    metric = fw.batch(b"x" * 40, fw.METRIC)
    sink.send(frames(fw.snapshots([fw.snapshot()]), metric), frames(fw.events([fw.event()]), workspace=0))
    assert len(sink.rows(f"{TODAY}/snapshots.parquet")) == 1
    assert [row["reason"] for row in sink.quarantined()] == [
        "workspace: 0 is nobody's", "flatbuffers: batches of metric are not stored",
    ]  # fmt: skip


def test_29_answers_of_http(tmp_path):
    with serving(tmp_path, http='max_body = "10MiB"') as served:
        status, told = served.post("/v1/events", b"\n".join([EVENT, b"{", EVENT]))
        assert (status, told["accepted"], told["rejected"], told["errors"][0]["line"]) == (207, 2, 1, 2)
        assert served.post("/v1/events", b"{")[0] == served.post("/v1/events", b"")[0] == 400
        assert served.post("/v1/events", EVENT, Authorization="Bearer 0")[0] == 401
        assert served.post("/v1/ingest", b"x", Content_Type="text/plain")[0] == 415
        assert served.post("/v1/events", EVENT + b" " * (9 << 20))[0] == 202
        assert served.post("/v1/events", EVENT + b" " * (11 << 20))[0] == 413
        rows = served.rows("events")
    assert {(row["workspace_id"], row["source_ip"]) for row in rows} == {(42, address("127.0.0.1"))}
    assert len(rows) == 3


def test_30_bodies_of_the_node_and_browser_clients(tmp_path):
    flat = {"type": "track", "event": "e", "device_id": DEVICE.replace("-", ""), "plan": "pro"}
    with serving(tmp_path) as served:
        assert served.post("/v1/events", json.dumps(flat).encode(), Content_Type="application/x-ndjson")[0] == 202
        body = json.dumps(flat).encode()
        assert served.post(f"/v1/events?token={KEY}", body, Content_Type="text/plain", Authorization="")[0] == 202
        assert [json.loads(row["payload"]) for row in served.rows("events")] == [{"plan": "pro"}] * 2


def test_36_nothing_is_lost_between_received_and_written(sink):
    driver = SinkDriver(sink.options)
    rows = [fw.event(n) for n in range(50)] + [fw.event(timestamp=0), fw.event(name=b"\xff")]
    sink.events(*rows)
    counts = driver.counts()
    assert counts["rows_received"] + counts["decode_errors"] == 52
    assert sink.publisher.counts["event_rows_written"] + counts["rows_quarantined"] == 52


def configured(text: str) -> object:
    given = Text("x.toml", f'[sinks.x]\ntype = "parquet"\npath = "p"\n{text}'.encode(), "/")
    return load_texts([given], now=datetime(2024, 1, 1), environ={})


def test_40_unknown_keys_are_refused_with_the_nearest_name():
    with pytest.raises(ConfigErrors, match="compresion") as refused:
        configured('compresion = "zstd"')
    assert "compression" in str(refused.value.errors[0].hint)
