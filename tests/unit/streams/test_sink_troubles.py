"""What goes wrong around a sink: spools that are thrown away, disks that fail halfway, files that are damaged."""

from __future__ import annotations

import shutil
import threading
from datetime import timedelta
from pathlib import Path

import flatwrite as fw
import pytest
from livesink import DAY, NOW, TODAY, Sink
from otlpwrite import resource_logs

from tailrace.core.errors import ConfigError
from tailrace.streams import batches, publish, records, segments
from tailrace.streams.driver import Driver
from tailrace.streams.otap_sink import OtapOptions
from tailrace.streams.records import Record
from tailrace.streams.sink_options import SinkOptions
from tailrace.streams.spool import Spool, SpoolLimits
from tailrace.streams.status import status_of
from tailrace.windows.arriving import write_partition


def fill(root: Path, first: int, segment_bytes: int = 32 << 20) -> None:
    spool = Spool(root, SpoolLimits(segment_bytes=segment_bytes, reserve=0))
    for number in range(first, first + 10):
        body = fw.framed(fw.events([fw.event(number)]))
        spool.append(Record(records.FRAMES, 42, NOW, bytes(16), "tcp.x", body)).result(10)
        body = resource_logs({}, "s", [{"body": f"m{number}"}])
        spool.append(Record(records.OTLP_PROTO, 42, NOW, bytes(16), "otlp.x", body)).result(10)
    spool.close()


def drive(spool: Path, *sinks: SinkOptions, tables: tuple[OtapOptions, ...] = ()) -> None:
    stop = threading.Event()
    stop.set()
    Driver(spool, sinks, tables=dict.fromkeys(tables, write_partition)).run(stop)


def names(options: SinkOptions) -> list[str]:
    reading = Sink.__new__(Sink)
    reading.options = options
    files = [name for name in reading.tree() if name.endswith("events.parquet")]
    found = (row["event_name"] for name in files for row in reading.rows(name))
    return sorted(found, key=lambda name: int(name.rpartition("_")[2]))


def wanted(count: int) -> list[str]:
    return [f"page_view_{n}" for n in range(count)]


def test_a_spool_that_was_thrown_away_is_no_reason_to_throw_rows_away(tmp_path: Path) -> None:
    spool, options, tables = tmp_path / "spool", SinkOptions("s", tmp_path / "p"), OtapOptions("o", tmp_path / "o")
    for turn in range(3):
        fill(spool, 10 * turn)
        drive(spool, options, tables=(tables,))
        shutil.rmtree(spool)
    assert names(options) == wanted(30)
    assert status_of(tables)["counts"]["log_rows_written"] == 30


def test_segments_of_another_spool_are_not_taken_for_stored_ones(tmp_path: Path) -> None:
    earlier, later, options = tmp_path / "earlier", tmp_path / "later", SinkOptions("s", tmp_path / "p")
    fill(earlier, 0)
    fill(later, 10)
    drive(later, options)
    with pytest.raises(ConfigError, match="filled from another spool"):
        drive(earlier, options)
    assert len(segments.numbers(earlier, segments.CLOSED)) == 1
    drive(earlier, SinkOptions("s", tmp_path / "q"))
    assert names(options) == [f"page_view_{n}" for n in range(10, 20)]


def test_a_file_that_was_renamed_before_the_disk_failed_gets_no_row_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = Sink(tmp_path)
    sink.events(fw.event(0))
    synced = []

    def fail(path: Path) -> None:
        synced.append(path)
        if len(synced) == 1:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(publish, "sync_directory", fail)
    sink.events(fw.event(1))
    assert sink.publisher.counts["write_errors"] == 1
    assert len(sink.rows(f"{TODAY}/events.parquet")) == 2
    sink.publisher.publish(10, everything=True)
    sink.events(fw.event(2))
    assert names(sink.options) == wanted(3)
    # Before its runs went, the new name was brought to the disk after all.
    assert synced[1] == (sink.options.path / TODAY)
    assert not list((sink.options.state / "runs").iterdir())
    assert not sink.publisher.troubles


def test_a_damaged_file_is_told_and_holds_up_no_other(tmp_path: Path) -> None:
    sink = Sink(tmp_path, compression="uncompressed")
    sink.events(*(fw.event(n) for n in range(50)))
    sink.events(*(fw.event(n) for n in range(50)), workspace=7)
    path = sink.options.path / TODAY / "events.parquet"
    data = bytearray(path.read_bytes())
    data[4:2000] = b"\xff" * 1996
    path.write_bytes(data)
    assert sink.publisher.seal(NOW + 30 * DAY) == 1
    ((key, told),) = sink.publisher.troubles.items()
    assert (key.workspace, sink.publisher.counts["write_errors"]) == (42, 1)
    assert told
    assert not list((sink.options.state / "staging").iterdir())


def test_a_sink_that_cannot_write_stops_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves nothing behind, and stores everything once when the disk has room again."""
    spool = tmp_path / "spool"
    good, full = (SinkOptions(n, tmp_path / n, flush_interval=timedelta(0)) for n in ("good", "full"))
    written = batches.write_run

    def write_run(state: Path, *more: object) -> object:
        run = written(state, *more)
        if state == full.state:
            raise OSError(28, "No space left on device")
        return run

    with monkeypatch.context() as starved:
        starved.setattr(batches, "write_run", write_run)
        fill(spool, 0)
        drive(spool, full, good)
    assert names(good) == wanted(10)
    assert not names(full)
    assert "No space left" in str(status_of(full)["troubles"])
    assert status_of(full)["written"]["write_errors"] >= 1
    assert segments.numbers(spool, segments.CLOSED)
    fill(spool, 10)
    drive(spool, full, good)
    assert names(full) == names(good) == wanted(20)
    assert not list((full.state / "runs").iterdir())
    assert not segments.numbers(spool, segments.CLOSED)
    assert not status_of(full)["troubles"]


def test_a_manifest_whose_name_was_not_on_disk_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, options = tmp_path / "spool", SinkOptions("s", tmp_path / "p")
    real, failures = segments.sync_directory, []

    def fail(path: Path) -> None:
        if path.name == "manifests" and not failures:
            failures.append(path)
            raise OSError(5, "Input/output error")
        real(path)

    fill(spool, 0)
    driver = Driver(spool, [options])
    monkeypatch.setattr(segments, "sync_directory", fail)
    driver.step()
    assert failures
    assert driver.sinks[0].trouble is not None
    fill(spool, 10)
    driver.step(last=True)
    driver._held.close()
    assert names(options) == wanted(20)


def test_tables_that_cannot_be_written_stop_only_themselves(tmp_path: Path) -> None:
    spool, options, tables = tmp_path / "spool", SinkOptions("s", tmp_path / "p"), OtapOptions("o", tmp_path / "o")

    def broken(*_: object) -> object:
        raise OSError(28, "No space left on device")

    fill(spool, 0)
    stop = threading.Event()
    stop.set()
    Driver(spool, [options], tables={tables: broken}).run(stop)  # type: ignore[dict-item]
    assert names(options) == wanted(10)
    assert "No space left" in str(status_of(tables)["troubles"])
    drive(spool, options, tables=(tables,))
    told = status_of(tables)
    assert (told["counts"]["log_rows_written"], told["troubles"]) == (10, {})


def test_a_backlog_is_taken_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments go, and other sinks have their turn, before all of it is decoded."""
    monkeypatch.setattr(batches.bites, "__defaults__", (1,))
    spool = tmp_path / "spool"
    options, tables = SinkOptions("s", tmp_path / "p"), OtapOptions("o", tmp_path / "o", flush_interval=timedelta(0))
    fill(spool, 0, segment_bytes=1)
    driver = Driver(spool, [options], tables={tables: write_partition})
    left = []
    while driver.step():
        left.append(len(segments.numbers(spool, segments.CLOSED)))
    assert left == sorted(left, reverse=True)
    assert len(set(left)) > 5
    driver.step(last=True)
    driver._held.close()
    assert names(options) == wanted(10)
