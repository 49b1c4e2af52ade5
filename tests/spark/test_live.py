"""Live data on Structured Streaming: the same files as without it, every row once."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import flatwrite as fw
import pyarrow.parquet as pq
from livesink import Sink

from tailrace.streams import records, segments
from tailrace.streams.driver import Driver
from tailrace.streams.records import Record, address
from tailrace.streams.sink_options import CODECS, SinkOptions
from tailrace.streams.spark_stream import SparkDriver
from tailrace.streams.spool import Spool, SpoolLimits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = 1_700_000_000_000


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


def test_spark_reads_files_of_every_codec(spark: SparkSession, tmp_path: Path) -> None:
    for codec in CODECS:
        sink = Sink(tmp_path / codec, compression=codec, row_group_size=50)
        sink.events(*(fw.event(n) for n in range(100)))
    frame = spark.read.parquet(f"{tmp_path}/*/parquet/*/*/events.parquet")
    assert frame.where("timestamp >= 1700000000090").select("event_name").distinct().count() == 10
    assert frame.count() == 100 * len(CODECS)
