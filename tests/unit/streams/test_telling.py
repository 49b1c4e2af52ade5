"""What sinks tell of themselves: before a long flush interval is over, and at the end."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import flatwrite as fw
import pytest
from livesink import NOW

from tailrace.streams import records
from tailrace.streams.driver import Driver
from tailrace.streams.otap_sink import OtapOptions
from tailrace.streams.records import Record
from tailrace.streams.sink_options import SinkOptions
from tailrace.streams.spool import Spool, SpoolLimits
from tailrace.streams.status import status_of
from tailrace.windows.arriving import write_partition

LONG = timedelta(hours=1)


def fill(root: Path, rows: int) -> None:
    spool = Spool(root, SpoolLimits(reserve=0))
    for number in range(rows):
        body = fw.framed(fw.events([fw.event(number)]))
        spool.append(Record(records.FRAMES, 42, NOW, bytes(16), "tcp.x", body)).result(10)
    spool.close()


def test_rows_that_wait_are_told_before_the_flush_interval_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailrace.streams.driver._TELLING", 0)
    spool, options = tmp_path / "spool", SinkOptions("s", tmp_path / "p", flush_interval=LONG)
    driver = Driver(spool, [options])
    told = []
    for rows in (10, 0, 5):
        if rows:
            fill(spool, rows)
        driver.step()
        status = status_of(options)
        told.append(
            (status["waiting_rows"], status["counts"]["rows_received"], status["written"]["event_rows_written"])
        )
    assert told == [(10, 10, 0), (10, 10, 0), (15, 15, 0)]
    driver.step(last=True)
    driver._held.close()
    status = status_of(options)
    assert (status["waiting_rows"], status["written"]["event_rows_written"]) == (0, 15)


def test_the_last_line_counts_what_was_written_at_the_end(tmp_path: Path) -> None:
    """Also where no interval of the metrics has passed."""
    spool, said = tmp_path / "spool", list[str]()
    options = SinkOptions("s", tmp_path / "p", flush_interval=LONG, metrics_interval=LONG)
    quiet = SinkOptions("q", tmp_path / "q", metrics_enabled=False)
    tables = OtapOptions("o", tmp_path / "o", flush_interval=LONG, metrics_interval=LONG)
    fill(spool, 10)
    driver = Driver(spool, [options, quiet], said.append, {tables: write_partition})
    driver.step()
    assert said == []
    driver.step(last=True)
    driver._held.close()
    assert [re.match(r"sink (\w+): ", line)[1] for line in said] == ["s", "o"]  # type: ignore[index]
    assert "event_rows_written=10 " in said[0]
