"""What the Parquet sink promises, by number: files, columns, row groups (1 to 15); docs/live.md says it in words."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import duckdb
import flatwrite as fw
import polars as pl
import pyarrow.parquet as pq
import pytest
from livesink import DAY, HOUR, MIXED, NOW, TODAY, Sink, asked, chdb, configured, day, engine_over, frames

from tailrace.config.places import ConfigErrors
from tailrace.core.errors import LockedError, QueryError
from tailrace.streams.driver import Driver, SinkDriver
from tailrace.streams.kinds import KINDS, schema
from tailrace.streams.records import address
from tailrace.streams.sink_options import SinkOptions


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    return Sink(tmp_path)


def test_01_every_file_opens_in_every_engine(sink, monkeypatch):
    """The document's own questions; Spark is asked in tests/spark/test_live.py."""
    sink.send(frames(*MIXED))
    monkeypatch.chdir(sink.options.path.parent)
    for kind, count in zip(KINDS, (30, 20, 10), strict=True):
        path = f"parquet/{TODAY}/{kind}.parquet"
        assert Path(path).is_file()
        assert pq.read_table(path).num_rows == len(pl.read_parquet(path)) == count
        assert asked(f"SELECT count(*) FROM '{path}'") == [(count,)]
    counted = asked("SELECT event_type, COUNT(*) FROM 'parquet/42/2023-11-*/events.parquet' GROUP BY 1")
    assert counted == [("track", 30)]
    assert asked(f"SELECT count(*) FROM 'parquet/**/logs.parquet' WHERE timestamp > {NOW + 9}") == [(10,)]
    scanned = pl.scan_parquet("parquet/**/events.parquet").filter(pl.col("workspace_id") == 42)
    assert len(scanned.collect()) == 30
    told = chdb(f"SELECT count(*), min(timestamp) FROM file('{Path.cwd()}/parquet/{TODAY}/events.parquet', Parquet)")
    assert told == f"30,{NOW}"


def test_02_nothing_unfinished_has_a_final_name(sink, monkeypatch):
    """At each step of a renewal all files are whole; tests/long/test_live_kills.py reads them under load and kills."""
    looks: list[str] = []

    def look(step: str) -> None:
        looks.append(step)
        found = [path for path in sink.options.path.rglob("*") if not path.is_dir()]
        assert all(path.suffix == ".parquet" and pq.ParquetFile(path).read().num_rows for path in found)

    monkeypatch.setattr("tailrace.streams.publish.reached", look)
    for turn in range(3):
        sink.events(fw.event(turn))
    assert looks == ["file-staged", "file-renamed"] * 3
    assert sink.options.path not in sink.options.state.parents
    assert sink.options.path.stat().st_dev == sink.options.state.stat().st_dev


def test_03_five_sends_leave_all_rows_in_one_file(sink):
    message = fw.events([fw.event(n) for n in range(5000)])
    for _ in range(5):
        sink.send(frames(message))
    assert sink.tree() == [f"{TODAY}/events.parquet"]
    table = pq.read_table(sink.options.path / f"{TODAY}/events.parquet")
    assert (table.num_rows, len(table["event_name"].unique())) == (25_000, 5000)


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


def test_07_a_late_row_is_seen_before_its_file_is_renewed(sink, tmp_path):
    sink.events(*(fw.event(n, timestamp=NOW - 26 * HOUR) for n in range(30)), at=NOW - 26 * HOUR)
    sink.send(frames(fw.events([fw.event(99, timestamp=NOW - 26 * HOUR)])), publish=False)
    sink.publisher.publish(0)  # there is no time to renew a file for one row
    path = f"42/{day(NOW - 26 * HOUR)}/events.parquet"
    assert len(sink.rows(path)) == 30
    (answer,) = engine_over(sink.options, tmp_path).run("SELECT count(*), max(event_name) FROM sink_parquet.events")
    assert list(answer.rows) == [(31, "page_view_99")]


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


def test_12_row_groups_are_skipped(tmp_path):
    """In DuckDB, by its own count of what it scanned; in Spark by tests/spark/test_live.py."""
    sink = Sink(tmp_path, row_group_size=1000)
    devices = [hashlib.md5(b"%d" % n).digest() for n in range(10_000)]
    sink.events(*(fw.event(n, device=device) for n, device in enumerate(devices)))
    path = sink.options.path / f"{TODAY}/events.parquet"
    absent = hashlib.md5(b"absent").digest()
    groups = [
        groups_scanned(path, condition)
        for condition in (
            "true", f"timestamp >= {NOW + 5000} AND timestamp < {NOW + 5010}",
            f"device_id = unhex('{devices[4321].hex()}')", f"device_id = unhex('{absent.hex()}')",
        )
    ]  # fmt: skip
    assert groups == [10, 1, 1, 0]


def groups_scanned(path: Path, condition: str) -> int:
    with duckdb.connect() as engine:
        engine.execute("SET enable_profiling = 'no_output'")
        engine.execute(f"SELECT payload FROM '{path}' WHERE {condition}").fetchall()
        (told,) = json.loads(engine.get_profiling_information())["operator"][0]["children"]
    scanned: int = told.get("row_groups_scanned", 0)
    return scanned


CODECS = {"snappy": "SNAPPY", "gzip": "GZIP", "lz4": "LZ4_RAW", "zstd": "ZSTD", "uncompressed": "UNCOMPRESSED"}


def test_13_codecs(tmp_path):
    """Spark reads them in tests/spark/test_live.py."""
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


def test_bytes_of_a_sink_as_json_uuid_and_address(sink, tmp_path):
    """The question of docs/live.md."""
    page = Path(__file__).parents[2] / "docs" / "live.md"
    (sql,) = (block for block in page.read_text().split("```") if block.startswith("text\nSELECT event_name"))
    device = UUID("00112233-4455-6677-8899-aabbccddeeff")
    for number, sender in enumerate(("192.168.1.1", "2001:db8::1")):
        sent = fw.event(number, device=device.bytes, payload=b'{"page": "/\xc3\xbc"}')
        sink.send(replace(frames(fw.events([sent])), source_ip=address(sender)))
    sink.events(fw.event(9))  # of another device
    (answer,) = engine_over(replace(sink.options, name="events"), tmp_path).run(sql.removeprefix("text\n"))
    assert sorted(answer.rows) == [
        ("page_view_0", "/ü", device, "192.168.1.1"),
        ("page_view_1", "/ü", device, "2001:0db8:0000:0000:0000:0000:0000:0001"),
    ]


def test_15_kinds_are_tables_of_their_own(sink, tmp_path):
    """Nobody mixes them by accident: a schema for each sink, a table for each kind of rows."""
    sink.send(frames(*MIXED))
    engine = engine_over(replace(sink.options, name="live"), tmp_path)
    for kind, count in zip(KINDS, (30, 20, 10), strict=True):
        (answer,) = engine.run(f"SELECT count(*) FROM sink_live.{kind}")
        assert list(answer.rows) == [(count,)]
    with pytest.raises(QueryError) as raised:
        list(engine.run("SELECT * FROM sink_live2.logs"))
    assert (raised.value.hint or "").startswith("of sinks there are sink_live;")
    (answer,) = engine.run("SELECT * FROM sink_live.logs LIMIT 1")
    assert "level" in answer.columns
    sink.events(fw.event(99))
    (answer,) = engine.run("SELECT max(event_name), sum(workspace_id)::BIGINT FROM sink_live.events")
    assert list(answer.rows) == [("page_view_99", 31 * 42)]
