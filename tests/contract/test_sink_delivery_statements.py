"""What the Parquet sink promises, by number: delivery, inputs, transforms (19 to 34); docs/live.md says it in words."""

from __future__ import annotations

import hmac
import json
import socket
import string
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import flatwrite as fw
import numpy as np
import pyarrow as pa
import pytest
from liveserver import DEVICE, EVENT, KEY, OTHER, serving
from livesink import DAY, IP, MIXED, NOW, TODAY, Sink, chain, day, frames, lines

from tailrace.streams import records
from tailrace.streams.driver import SinkDriver
from tailrace.streams.kinds import KINDS, LEVELS
from tailrace.streams.records import address
from tailrace.streams.replaying import Replayed, replay
from tailrace.streams.spool import SpoolLimits


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    return Sink(tmp_path)


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
    frame = fw.framed(fw.events([fw.event(1)]))
    with serving(tmp_path, limits=SpoolLimits(high_mark=100, reserve=0)) as served:
        assert served.post("/v1/events", EVENT)[0] == 202
        assert served.post("/v1/events", EVENT)[0] == 503
        with socket.create_connection(served.place("tcp.t"), timeout=20) as connection:
            connection.sendall(frame)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(0.3)
            with pytest.raises(TimeoutError):  # it is not read, and so not closed
                connection.recv(1)
            assert served.count("messages_received") == 0
            served.listening.intake.spool.limits = SpoolLimits(reserve=0)
            connection.settimeout(20)
            connection.recv(1)
        assert served.post("/v1/events", EVENT)[0] == 202
        assert served.count("datagrams_dropped") == 0
        assert len(served.rows("events")) == 3


def test_24_two_keys_on_one_connection(tmp_path):
    keys = (fw.KEY, bytes.fromhex(OTHER), b"\x99" * 16)
    with serving(tmp_path) as served:
        with socket.create_connection(served.place("tcp.t"), timeout=20) as connection:
            connection.sendall(fw.framed(*(fw.events([fw.event(n)], key=key) for n, key in enumerate(keys))))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        assert served.count("auth_failures") == 1
        assert [row["workspace_id"] for row in served.rows("events")] == [42, 7]


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_25_both_layouts_however_they_were_written(sink, layout):
    """By fixed offsets as the SDKs write, and by the library, back to front with shared vtables."""
    service = "shop" if layout == "v2" else None
    given = [fw.event(n, service=service, payload=b'{"n": %d}' % n) for n in range(20)]
    for workspace, write in ((42, fw.events), (7, fw.built_events)):
        sink.send(frames(write(given, layout), workspace=workspace))
    fixed, built = (
        [row | {"workspace_id": 0} for row in sink.rows(f"{workspace}/{day(NOW)}/events.parquet")]
        for workspace in (42, 7)
    )
    assert fixed == built
    assert [json.loads(row["payload"]) for row in fixed] == [
        ({"service": "shop"} if service else {}) | {"n": n} for n in range(20)
    ]


def test_26_all_levels_keep_their_names(sink):
    sink.send(frames(fw.logs([fw.log(n, level=n) for n in range(9)])))
    over_http = b"\n".join(b'{"message":"m","level":"%s"}' % level.encode() for level in LEVELS)
    sink.send(lines(over_http, records.LOG_LINES, workspace=7))
    assert [row["level"] for row in sink.rows(f"{TODAY}/logs.parquet")] == list(LEVELS)
    assert [row["level"] for row in sink.rows(f"7/{day(NOW)}/logs.parquet")] == list(LEVELS)


def test_27_a_bad_record_is_kept_apart_and_can_be_replayed(sink, tmp_path, monkeypatch):
    rows = [fw.event(n, name=b"caf\xe9" if n == 40 else f"e{n}") for n in range(100)]
    sink.send(frames(fw.events(rows), b"no batch, but long enough"))
    assert len(sink.rows(f"{TODAY}/events.parquet")) == 99
    first, second = sorted(sink.quarantined(), key=lambda row: row["position"])
    assert (second["position"], second["reason"]) == (40, "flatbuffers: event_name is not UTF-8")
    assert (first["raw"], first["reason"]) == (b"no batch, but long enough", "flatbuffers: no batch")
    assert {(row["received_at"], row["source_ip"], row["workspace_id"]) for row in (first, second)} == {(NOW, IP, 42)}
    spool = tmp_path / "spool"
    assert replay(sink.options, spool) == Replayed(0, 2)
    # A later version reads such names.
    monkeypatch.setattr("tailrace.streams.flat_batches.undecodable", lambda values: np.zeros(len(values), np.bool_))
    monkeypatch.setattr("tailrace.streams.flat_batches._texts", lambda values: latin(values))
    assert replay(sink.options, spool) == Replayed(1, 1)
    assert replay(sink.options, spool) == Replayed(0, 1)
    stored = sink.rows(f"{TODAY}/events.parquet")
    assert [row["event_name"] for row in stored] == [f"e{n}" if n != 40 else "café" for n in range(100)]


def test_27_a_message_with_many_bad_records_is_kept_once(sink, tmp_path, monkeypatch):
    """And stays with those that are still no good."""
    message = fw.events([fw.event(n, name=b"caf\xe9" if n % 2 else f"e{n}") for n in range(100)])
    sink.send(frames(message))
    kept = sink.quarantined()
    assert [(row["position"], row["raw"]) for row in kept] == [(1, message), *[(n, None) for n in range(3, 100, 2)]]
    spool = tmp_path / "spool"
    assert replay(sink.options, spool) == Replayed(0, 50)
    monkeypatch.setattr(
        "tailrace.streams.flat_batches.undecodable", lambda values: np.isin(range(len(values)), (41, 43))
    )
    monkeypatch.setattr("tailrace.streams.flat_batches._texts", lambda values: latin(values))
    assert replay(sink.options, spool) == Replayed(48, 2)
    assert [(row["position"], row["raw"]) for row in sink.quarantined()] == [(41, message), (43, None)]
    monkeypatch.setattr("tailrace.streams.flat_batches.undecodable", lambda values: np.zeros(len(values), np.bool_))
    assert replay(sink.options, spool) == Replayed(2, 0)
    stored = sink.rows(f"{TODAY}/events.parquet")
    assert [row["event_name"] for row in stored] == ["café" if n % 2 else f"e{n}" for n in range(100)]


def latin(values: pa.Array) -> pa.Array:
    return pa.array([value and value.decode("latin-1") for value in values.to_pylist()], pa.string())


def test_27_rows_with_refused_times_are_replayed_when_they_are_allowed(sink, tmp_path):
    sink.events(fw.event(1, timestamp=NOW - 9 * DAY), fw.event(2, timestamp=0))
    wider = replace(sink.options, max_lateness=timedelta(days=30))
    assert replay(wider, tmp_path / "spool") == Replayed(1, 1)
    assert [row["event_name"] for row in sink.rows(f"42/{day(NOW - 9 * DAY)}/events.parquet")] == ["page_view_1"]
    assert [row["reason"] for row in sink.quarantined()] == ["time: none"]


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


RULES = """
transform "filter" {
  condition {
    field = "level"
    operator = "eq"
    value = "debug"
  }
}
transform "redact" {
  strategy = "hash"
  hash_key = "k"
  patterns = ["email"]
  scan_all = true
}
"""


def test_34_transforms_act_on_decoded_rows(tmp_path):
    sink = Sink(tmp_path, transforms=chain(RULES))
    logs = [
        fw.log(0, level=7),
        fw.log(1, payload=b'{"message":"by ann@example.org","who":{"bob\\u0040example.org":["x"]}}'),
        fw.log(2, payload=b"plain text of ann@example.org"),
    ]
    sink.send(frames(fw.logs(logs)))
    rows = sink.rows(f"{TODAY}/logs.parquet")
    assert {(row["workspace_id"], row["source_ip"]) for row in rows} == {(42, IP)}
    assert not any(b"example.org" in row["payload"] for row in rows)
    # Prefix, then the first 96 bits of HMAC-SHA256, little end first, in base 62.
    number = int.from_bytes(hmac.new(b"k", b"ann@example.org", "sha256").digest()[:12], "little")
    digits = string.digits + string.ascii_uppercase + string.ascii_lowercase
    hashed = ""
    while number:
        number, rest = divmod(number, 62)
        hashed = digits[rest] + hashed
    assert json.loads(rows[0]["payload"])["message"] == f"by usr_{hashed}"
    assert json.loads(rows[1]["payload"]) == {"message": f"plain text of usr_{hashed}"}
    counts = SinkDriver(sink.options).counts()
    assert (counts["rows_received"], counts["rows_filtered"]) == (3, 1)


def test_34_what_cannot_be_redacted_is_not_stored(tmp_path, monkeypatch):
    sink = Sink(tmp_path, transforms=chain(RULES))

    def fail(self: object, text: bytes) -> bytes:
        if b"bad" in text:
            raise ValueError(text)
        return b"{}"

    monkeypatch.setattr("tailrace.streams.redaction.Redact._cleaned", fail)
    sink.send(
        frames(fw.logs([fw.log(n, payload=b'{"a":"%s@x.org"}' % who) for n, who in enumerate((b"good", b"bad"))]))
    )
    assert [row["payload"] for row in sink.rows(f"{TODAY}/logs.parquet")] == [b"{}"]
    assert [(row["reason"], row["raw"]) for row in sink.quarantined()] == [("transform: redact: ValueError", b"")]
