"""Live data on Structured Streaming: the same files as without it, every row once."""

from __future__ import annotations

import hashlib
import threading
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import flatwrite as fw
import pyarrow.parquet as pq
from livelake import LiveLake, record
from livesink import MIXED, NOW, Sink, frames
from otlpwrite import resource_logs

from tailrace.streams import records, segments
from tailrace.streams.driver import Driver
from tailrace.streams.kinds import KINDS
from tailrace.streams.otap_sink import OtapOptions
from tailrace.streams.records import Record, address
from tailrace.streams.sink_options import CODECS, SinkOptions
from tailrace.streams.spark_stream import SparkDriver
from tailrace.streams.spool import Spool, SpoolLimits
from tailrace.streams.status import status_of
from tailrace.windows.arriving import write_partition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def fill(root: Path, first: int) -> None:
    spool = Spool(root, SpoolLimits(segment_bytes=4000, reserve=0))
    for number in range(first, first + 20):
        body = fw.framed(fw.events([fw.event(10 * number + n) for n in range(10)]), b"no batch, but long enough")
        spool.append(Record(records.FRAMES, 42, NOW, address("::1"), "tcp.x", body)).result(10)
    spool.close()


def drive(driver: Driver) -> None:
    stop = threading.Event()
    stop.set()
    driver.run(stop)


def told(options: SinkOptions) -> tuple[list[dict[str, object]], int]:
    (path,) = options.path.rglob("events.parquet")
    quarantined = sum(pq.read_metadata(path).num_rows for path in (options.state / "quarantine").iterdir())
    return pq.ParquetFile(path).read().to_pylist(), quarantined


def test_a_stream_stores_every_row_once(spark: SparkSession, tmp_path: Path) -> None:
    plain, streamed = (
        SinkOptions(name, tmp_path / name, flush_interval=timedelta(milliseconds=100)) for name in ("plain", "streamed")
    )
    for turn in range(2):
        for options in (plain, streamed):
            spool = tmp_path / f"{options.name}.spool"
            fill(spool, turn * 20)
            assert len(segments.numbers(spool, segments.CLOSED)) > 3
            drive(
                Driver(spool, [options]) if options is plain else SparkDriver(spark, spool, [options], lambda _: None)
            )
            assert not segments.numbers(spool, segments.CLOSED)
    rows, quarantined = told(streamed)
    assert [row["event_name"] for row in rows] == [f"page_view_{n}" for n in range(400)]
    assert (rows, quarantined) == told(plain)
    assert quarantined == 40


CLICKS = """
listener "http" "h" { api_keys_file = "keys" }
table "clicks" {
  map_fields = []
  column "tp_timestamp" {
    source = "timestamp"
    type   = "timestamp"
    time   = "epoch_ms"
  }
  column "event" {}
}
sink "lake" "l" {
  table = "clicks"
  kinds = ["events"]
}
"""


def test_tables_are_stored_beside_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Spark writes the files; tables of the lake and of OTAP are written without it, from the same segments."""
    live = LiveLake(tmp_path, CLICKS)
    options = SinkOptions("s", tmp_path / "streamed", flush_interval=timedelta(milliseconds=100))
    tables = OtapOptions("o", tmp_path / "otap")
    event = b'{"type":"track","device_id":"550e8400-e29b-41d4-a716-446655440000","event":"e%d","timestamp":%d}'
    for turn in range(2):
        numbers = range(10 * turn, 10 * turn + 10)
        live.fill(
            [
                *(record(records.EVENT_LINES, event % (n, NOW), "http.h") for n in numbers),
                *(record(records.OTLP_PROTO, resource_logs({}, "s", [{"body": f"m{n}"}]), "otlp.o") for n in numbers),
            ],
            segment_bytes=500,
        )
        drive(SparkDriver(spark, live.spool, [options], lambda _: None, {tables: write_partition}, live.stores()))
        assert not segments.numbers(live.spool, segments.CLOSED)
    wanted = sorted(f"e{n}" for n in range(20))
    assert [name for (name,) in live.query("select event from clicks order by event")] == wanted
    (path,) = options.path.rglob("events.parquet")
    assert sorted(pq.ParquetFile(path).read()["event_name"].to_pylist()) == wanted
    assert status_of(tables)["counts"]["log_rows_written"] == 20


def test_01_every_kind_opens_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    """The other engines open them in tests/contract/test_sink_statements.py; directories of tenants need a pattern."""
    sink = Sink(tmp_path)
    sink.send(frames(*MIXED))
    counts = [spark.read.parquet(f"{sink.options.path}/*/*/{kind}.parquet").count() for kind in KINDS]
    assert counts == [30, 20, 10]


def scanned(frame: DataFrame) -> int:
    """Rows that the scan gave out, before any filter: what was skipped by row groups is not among them."""
    frame.collect()
    leaf = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
    return int(leaf.metrics().apply("numOutputRows").value())


def test_12_row_groups_are_skipped(spark: SparkSession, tmp_path: Path) -> None:
    """By rows scanned: ten groups of a thousand rows, a tenant of its own in another file."""
    sink = Sink(tmp_path, row_group_size=1000, workspace_id_type="int64")
    given = [fw.event(n, device=hashlib.md5(b"%d" % n).digest()) for n in range(10_000)]
    sink.send(frames(fw.events(given)), frames(fw.events(given[:500]), workspace=7))
    frame = spark.read.parquet(f"{sink.options.path}/*/*/events.parquet")
    own = spark.read.parquet(f"{sink.options.path}/42/*/events.parquet")
    present, absent = (f"device_id = X'{hashlib.md5(b'%d' % number).hexdigest()}'" for number in (4321, 77_777))
    within = f"timestamp >= {NOW + 5000} AND timestamp < {NOW + 5010}"
    assert scanned(own) == 10_000
    assert scanned(own.where(within)) == 1000
    assert scanned(own.where(present)) == 1000
    assert scanned(own.where(absent)) == 0
    assert scanned(frame.where("workspace_id = 7")) == 500


def test_13_spark_reads_files_of_every_codec(spark: SparkSession, tmp_path: Path) -> None:
    for codec in CODECS:
        sink = Sink(tmp_path / codec, compression=codec, row_group_size=50)
        sink.events(*(fw.event(n) for n in range(100)))
    frame = spark.read.parquet(f"{tmp_path}/*/parquet/*/*/events.parquet")
    assert frame.where("timestamp >= 1700000000090").select("event_name").distinct().count() == 10
    assert frame.count() == 100 * len(CODECS)
