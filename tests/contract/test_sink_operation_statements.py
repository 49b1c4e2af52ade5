"""What the Parquet sink promises, by number: metrics, memory, decoding, options (35 to 40); the words: docs/live.md."""

from __future__ import annotations

import json
import re
import time
from datetime import timedelta
from pathlib import Path

import flatwrite as fw
import owntime
import pytest
from liveserver import CONFIG, serving
from livesink import DAY, MIXED, NOW, Sink, configured, frames

from tailrace.config.places import ConfigErrors
from tailrace.streams.batches import conclude, prepare
from tailrace.streams.decode import decode
from tailrace.streams.driver import Driver, SinkDriver
from tailrace.streams.settings import sinks
from tailrace.streams.tree import files


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    return Sink(tmp_path)


def test_35_metrics_mean_what_they_say(tmp_path):
    names = ("batches_received", "event_rows_written", "log_rows_written", "snapshot_rows_written", "bytes_written",
             "files_created", "write_errors", "decode_errors")  # fmt: skip
    driver = Driver(tmp_path / "spool", [Sink(tmp_path).options])
    (driven,) = driver.sinks
    for number in (1, 2):
        part = prepare(driven.options, number, [frames(*MIXED, b"no batch, but long enough")])
        driven.publisher.add(conclude(driven.options, number, number, [part]))
        driven.publish_if_due(everything=True)
    driver._held.close()
    with serving(tmp_path) as served:
        text = served.get("/metrics").data.decode()
        told = {name: re.search(rf'^tailrace_{name}_total{{sink="p"}} (\d+)$', text, re.M) for name in names}
    files = list((tmp_path / "parquet").rglob("*.parquet"))
    wanted = (2, 60, 40, 20, sum(path.stat().st_size for path in files), 3, 0, 2)
    assert [int(found[1]) for found in told.values() if found] == list(wanted)
    quiet = CONFIG.replace('path = "{root}/parquet"', 'path = "{root}/parquet"\n metrics_enabled = false\n')
    with serving(tmp_path, quiet) as served:
        assert b"sink=" not in served.get("/metrics").data


def test_35_the_log_line_comes_at_its_interval(tmp_path, monkeypatch):
    moments = iter([100.0, *(100.0 + n / 10 for n in range(1, 101))])
    owntime.give(monkeypatch, "tailrace.streams.report_lines", monotonic=lambda: next(moments))
    driver = SinkDriver(Sink(tmp_path, metrics_interval=timedelta(seconds=1)).options)
    told = []
    for number in range(100):
        driver.publisher.counts["event_rows_written"] = number
        told += [line] if (line := driver.report()) else []
    assert len(told) == 10
    assert all(f"event_rows_written={number} " in line for number, line in zip(range(9, 100, 10), told, strict=True))


def test_35_without_news_the_log_is_silent_but_for_a_sign_of_life(tmp_path, monkeypatch):
    clock = [0.0]
    owntime.give(monkeypatch, "tailrace.streams.report_lines", monotonic=lambda: clock[0])
    sink = Sink(tmp_path, metrics_interval=timedelta(seconds=10))
    driver = SinkDriver(sink.options)
    told = []
    for second in range(2 * 3600):
        clock[0] = float(second)
        if second == 1800:
            driver.trouble = "the disk is full"
        if line := driver.report():
            told.append((second, "the disk is full" in line))
    # The first numbers, what changed, and once after an hour in which nothing did.
    assert told == [(10, False), (1800, True), (5400, True)]


def test_36_nothing_is_lost_between_received_and_written(sink):
    driver = SinkDriver(sink.options)
    rows = [fw.event(n) for n in range(50)] + [fw.event(timestamp=0), fw.event(name=b"\xff")]
    sink.events(*rows)
    counts = driver.counts()
    assert counts["rows_received"] + counts["decode_errors"] == 52
    assert sink.publisher.counts["event_rows_written"] + counts["rows_quarantined"] == 52


def test_37_files_that_are_sealed_are_not_remembered(sink):
    """Memory does not grow with periods that are over; tests/long/test_live_soak.py measures it."""
    for number in range(48):
        sink.events(fw.event(timestamp=NOW + number * DAY), at=NOW + number * DAY)
        sink.publisher.seal(NOW + number * DAY)
    assert len(sink.tree()) == 48
    assert len(sink.publisher._states) <= 10
    sink.restart()
    sink.publisher.look_for_files(files(sink.options))
    assert len(sink.publisher._states) <= 10


def test_38_decoding_alone(sink):
    """benchmarks/live.py measures all of it; here CPU time of decoding, with much to spare."""
    record = frames(*[fw.events([fw.event(n) for n in range(100)])] * 100)
    decode([record])
    before = time.process_time()
    for _ in range(5):
        assert decode([record]).table("events").num_rows == 10_000
    assert 50_000 / (time.process_time() - before) > 150_000


KEYS = {
    "rotation": ("hourly", "hourly"),
    "compression": ("zstd", "zstd"),
    "data_format": ("binary", "binary"),
    "metrics_enabled": (False, False),
    "metrics_interval": ("3s", timedelta(seconds=3)),
}


@pytest.mark.parametrize("key", KEYS)
def test_40_every_key_of_the_document_reaches_the_sink(key):
    """What each does is shown by statements 5, 13, 14 and 35."""
    value, wanted = KEYS[key]
    (plain,), (given,) = (sinks(configured(text), Path("/")) for text in ("", f"{key} = {json.dumps(value)}"))
    assert getattr(given, key) == wanted != getattr(plain, key)
    assert str(given.path) == "/p"


def test_40_unknown_keys_are_refused_with_the_nearest_name():
    with pytest.raises(ConfigErrors, match="compresion") as refused:
        configured('compresion = "zstd"')
    assert "compression" in str(refused.value.errors[0].hint)
