"""The sink's files: where rows go, and that every row is there once."""

from __future__ import annotations

import json
from datetime import timedelta

import flatwrite as fw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from livesink import DAY, HOUR, NOW, Sink, day, frames, lines

from tailrace.streams import records
from tailrace.streams.kinds import KINDS, schema
from tailrace.streams.sink_files import FileKey, state_of
from tailrace.streams.tree import expire

TODAY = f"42/{day(NOW)}"


@pytest.fixture
def sink(tmp_path):
    return Sink(tmp_path)


def test_rows_of_every_kind_have_a_file(sink):
    sink.send(
        frames(fw.events([fw.event()]), fw.logs([fw.log()]), fw.snapshots([fw.snapshot()])),
        lines(b'{"message":"m"}', records.LOG_LINES),
    )
    assert sink.tree() == [f"{TODAY}/{kind}.parquet" for kind in sorted(KINDS)]
    (event,) = sink.rows(f"{TODAY}/events.parquet")
    assert event == {
        "timestamp": NOW, "batch_timestamp": NOW, "workspace_id": 42, "event_type": "track",
        "event_name": "page_view_0", "device_id": fw.DEVICE, "session_id": fw.SESSION,
        "source_ip": bytes(10) + b"\xff\xff\xc0\xa8\x01\x01", "payload": b'{"page": "/home"}',
    }  # fmt: skip
    assert sorted(row["level"] for row in sink.rows(f"{TODAY}/logs.parquet")) == ["error", "info"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"workspace_id_type": "int64"}], ids=["as documented", "int64"])
def test_columns_are_those_of_the_document(tmp_path, kind, options):
    sink = Sink(tmp_path, **options)
    sink.send(frames(fw.events([fw.event()]), fw.logs([fw.log()]), fw.snapshots([fw.snapshot()])))
    file = pq.ParquetFile(sink.options.path / f"{TODAY}/{kind}.parquet")
    assert file.schema_arrow.remove_metadata() == schema(kind, **options)
    names = {"events": 9, "logs": 10, "snapshots": 7}
    assert len(file.schema_arrow) == names[kind]
    physical = {file.schema.column(n).name: file.schema.column(n).physical_type for n in range(len(file.schema))}
    assert {physical[name] for name in physical if name.endswith(("_id", "_ip"))} <= {"BYTE_ARRAY", "INT64"}
    assert physical["timestamp"] == physical["workspace_id"] == "INT64"


def test_more_rows_of_a_day_join_its_file(sink):
    for turn in range(5):
        sink.events(*(fw.event(turn * 100 + n) for n in range(100)))
    assert sink.tree() == [f"{TODAY}/events.parquet"]
    rows = sink.rows(f"{TODAY}/events.parquet")
    assert [row["event_name"] for row in rows] == [f"page_view_{n}" for n in range(500)]
    assert sink.publisher.counts["files_created"] == 1
    assert sink.publisher.counts["event_rows_written"] == 500
    assert sink.publisher.counts["bytes_written"] == (sink.options.path / f"{TODAY}/events.parquet").stat().st_size


def test_rows_from_before_and_after_a_restart(sink):
    sink.events(fw.event(1))
    sink.send(frames(fw.events([fw.event(2)])), publish=False)
    sink.restart()
    sink.events(fw.event(3))
    sink.restart()
    assert [row["event_name"] for row in sink.rows(f"{TODAY}/events.parquet")] == [f"page_view_{n}" for n in (1, 2, 3)]


def test_the_same_manifest_again_changes_nothing(sink):
    sink.send(frames(fw.events([fw.event(1), fw.event(2)])), publish=False)
    (manifest,) = sink.publisher.open
    kept = {p: p.read_bytes() for p in sink.options.state.rglob("*") if p.is_file()}
    sink.publisher.publish(10, everything=True)
    once = (sink.options.path / f"{TODAY}/events.parquet").read_bytes()
    for path, data in kept.items():  # as if the fold had never been written
        path.write_bytes(data)
    (sink.options.state / "folded.json").unlink()
    sink.restart()
    assert sink.publisher.open == [manifest]
    sink.publisher.publish(10, everything=True)
    assert (sink.options.path / f"{TODAY}/events.parquet").read_bytes() == once


@pytest.mark.parametrize("rotation", ["daily", "hourly"])
def test_rows_go_where_their_time_says(tmp_path, rotation, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    sink = Sink(tmp_path, rotation=rotation)
    midnight = NOW // DAY * DAY
    sink.events(
        fw.event(timestamp=midnight - 1), fw.event(timestamp=midnight), fw.event(timestamp=midnight + 13 * HOUR)
    )
    before, today = day(midnight - 1), day(midnight)
    daily = [f"42/{before}/events.parquet", f"42/{today}/events.parquet"]
    hourly = [f"42/{before}/23/events.parquet", f"42/{today}/00/events.parquet", f"42/{today}/13/events.parquet"]
    assert sink.tree() == (daily if rotation == "daily" else hourly)


def test_or_where_their_arrival_says(tmp_path):
    sink = Sink(tmp_path, partition_by="processing_time")
    sink.events(fw.event(timestamp=NOW - 400 * DAY), at=NOW)
    assert sink.tree() == [f"{TODAY}/events.parquet"]


def test_late_rows_join_their_own_day(sink):
    sink.events(fw.event(timestamp=NOW - DAY), fw.event(timestamp=NOW - DAY + 2000), at=NOW - DAY)
    sink.events(fw.event(timestamp=NOW - DAY + 1000, name="late"), at=NOW + 2 * HOUR)
    rows = sink.rows(f"42/{day(NOW - DAY)}/events.parquet")
    assert [row["timestamp"] for row in rows] == [NOW - DAY, NOW - DAY + 1000, NOW - DAY + 2000]


@pytest.mark.parametrize(("stamp", "reason"), [
    (0, "time: none"), (2**63, "time: outside of what can be stored"),
    (2**64 - 1, "time: outside of what can be stored"),
    (NOW + DAY + 1, "time: more than a day ahead"), (NOW - 7 * DAY - 1, "time: later than max_lateness"),
])  # fmt: skip
def test_times_that_cannot_be_are_quarantined(sink, stamp, reason):
    sink.events(fw.event(timestamp=stamp, payload=b"{}"), fw.event(7))
    assert sink.tree() == [f"{TODAY}/events.parquet"]
    (row,) = sink.quarantined()
    assert (row["reason"], row["workspace_id"], row["raw"], row["received_at"]) == (reason, 42, b"{}", NOW)
    assert json.loads(row["row"])["event_name"] == "page_view_0"


def test_what_does_not_decode_is_quarantined_with_its_bytes(sink):
    good = fw.events([fw.event(n, name=b"\xff" if n == 5 else "e") for n in range(10)])
    sink.send(frames(good, b"no batch at all, but long enough", fw.batch(b"x" * 40, fw.METRIC)))
    assert len(sink.rows(f"{TODAY}/events.parquet")) == 9
    assert [row["raw"] for row in sink.quarantined()] == [
        b"no batch at all, but long enough", fw.batch(b"x" * 40, fw.METRIC), good,
    ]  # fmt: skip
    assert [row["position"] for row in sink.quarantined()][-1] == 5


def test_an_idle_sink_makes_nothing(sink):
    sink.send()
    sink.publisher.publish(10)
    assert sink.tree() == []
    assert not list(sink.options.path.iterdir())


def test_a_late_row_opens_a_sealed_file_again(sink):
    sink.events(fw.event(1))
    sink.publisher.seal(NOW + 30 * DAY)
    path = sink.options.path / f"{TODAY}/events.parquet"
    assert state_of(path).sealed
    sink.events(fw.event(0))
    assert not state_of(path).sealed
    assert [row["event_name"] for row in sink.rows(f"{TODAY}/events.parquet")] == ["page_view_0", "page_view_1"]


def test_nothing_in_the_tree_is_ever_unfinished(sink, monkeypatch):
    seen: list[list[str]] = []
    monkeypatch.setattr("tailrace.streams.publish.reached", lambda step: seen.append(sink.tree()))
    sink.events(fw.event(1))
    sink.events(fw.event(2))
    assert seen == [[], [f"{TODAY}/events.parquet"], [f"{TODAY}/events.parquet"], [f"{TODAY}/events.parquet"]]
    assert sink.options.state.stat().st_dev == sink.options.path.stat().st_dev
    assert sink.options.state not in (sink.options.path, *sink.options.path.parents)
    assert sink.options.path not in sink.options.state.parents


def test_a_tenant_that_cannot_be_written_holds_up_nobody_else(sink):
    (sink.options.path / "7").write_text("in the way")
    sink.send(
        frames(fw.events([fw.event(1)]), workspace=7), frames(fw.events([fw.event(2)])), frames(fw.logs([fw.log()]))
    )
    assert sink.tree() == [f"{TODAY}/events.parquet", f"{TODAY}/logs.parquet", "7"]
    assert sink.publisher.counts["write_errors"] == 1
    sink.events(fw.event(3), workspace=7)
    assert sink.publisher.counts["write_errors"] == 2
    (sink.options.path / "7").unlink()
    sink.restart()
    sink.publisher.publish(10, everything=True)
    assert [row["event_name"] for row in sink.rows(f"7/{day(NOW)}/events.parquet")] == ["page_view_1", "page_view_3"]
    assert [row["event_name"] for row in sink.rows(f"{TODAY}/events.parquet")] == ["page_view_2"]
    assert not sink.publisher.open


def test_files_of_others_are_left_alone(sink):
    path = sink.options.path / f"{TODAY}/events.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), path)
    sink.events(fw.event(1))
    assert pq.read_table(path).to_pydict() == {"a": [1]}
    assert "was not written by this sink" in next(iter(sink.publisher.troubles.values()))
    path.unlink()
    sink.publisher.publish(10)
    assert len(sink.rows(f"{TODAY}/events.parquet")) == 1


def test_old_files_are_deleted(tmp_path):
    sink = Sink(tmp_path, retention=timedelta(days=3), rotation="hourly")
    sink.events(fw.event(timestamp=NOW - 4 * DAY), fw.event(timestamp=NOW), fw.event(timestamp=NOW - 3 * DAY))
    gone = expire(sink.options, NOW)
    assert gone == [FileKey(42, (NOW - 4 * DAY) // HOUR * HOUR, "events")]
    assert len(sink.tree()) == 2
    assert not (sink.options.path / "42" / day(NOW - 4 * DAY)).exists()


def test_conservation(sink):
    sink.events(*(fw.event(n) for n in range(50)), fw.event(timestamp=0), fw.event(name=b"\xff"))
    sink.send(lines(b'{"type":"track","device_id":"550e8400-e29b-41d4-a716-446655440000","timestamp":%d}' % NOW))
    written = sink.publisher.counts["event_rows_written"]
    assert written == len(sink.rows(f"{TODAY}/events.parquet")) == 51
    assert len(sink.quarantined()) == 2
