"""Transforms before tables of the lake and before OTAP tables: the same rules, the same names, nothing else changed."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import flatwrite as fw
import pyarrow.parquet as pq
from livelake import NOW, LiveLake, message, record
from livesink import chain
from otlpwrite import resource_logs

from tailrace.formats.otlp import OtlpDecoder
from tailrace.lake.place import LocalPlace
from tailrace.streams import records, segments
from tailrace.streams.body import Body
from tailrace.streams.driver import Driver
from tailrace.streams.live_metrics import status_of
from tailrace.streams.otap_sink import OtapOptions
from tailrace.streams.otlp_again import transformed
from tailrace.streams.records import Record
from tailrace.streams.spool import Spool, SpoolLimits
from tailrace.streams.transforms import Chains
from tailrace.tables.otlp_log import TABLE
from tailrace.windows.arriving import write_partition
from tailrace.windows.files import list_table

REDACT = 'transform "redact" { patterns = ["email"] }'
DROP = 'transform "filter" {\n condition {\n field = "level"\n value = "debug"\n }\n}'
TCP = 'listener "tcp" "t" { api_keys_file = "keys" }\n'
PLAIN = """
table "plain" {
  map_fields = []
  column "tp_timestamp" {
    source = "timestamp"
    type   = "timestamp"
    time   = "epoch_ms"
  }
  column "level" {}
  column "message" {}
  column "event" {}
  column "entity" {}
  column "properties" { type = "json" }
  column "data" { type = "json" }
  column "workspace_id" { type = "bigint" }
}
"""
EVE = b'{"message":"eve@example.org"}'
LEVELS = ("debug", "error")
DEVICE = "550e8400-e29b-41d4-a716-446655440000"
SECOND = NOW * 1_000_000 + 123_456
FULL = {
    "time": SECOND, "observed": SECOND + 7, "severity": 17, "severity_text": "ERROR", "event_name": "e", "flags": 1,
    "dropped": 3, "body": "from ann@example.org", "trace": bytes(range(16)), "span": bytes(range(8)),
    "attributes": {"n": 7, "f": 0.5, "yes": True, "list": [1, "a"], "map": {"k": "bob@example.org"}},
}  # fmt: skip


def counts(live: LiveLake) -> dict[str, int]:
    (sink,) = live.sinks()
    return status_of(sink)["counts"]


def test_rows_of_every_listener_pass_them_before_the_lake(tmp_path: Path) -> None:
    http = f'listener "http" "h" {{\n api_keys_file = "keys"\n {DROP}\n}}\n'
    live = LiveLake(tmp_path, PLAIN + http + TCP + f'sink "lake" "l" {{\n table = "plain"\n {REDACT}\n}}')
    logs = [
        {"message": f"{level} of ann@example.org", "level": level, "timestamp": NOW} for level in ("debug", "error")
    ]
    event = {"type": "track", "device_id": DEVICE, "event": "bob@example.org", "timestamp": NOW, "properties": {"p": 1}}
    live.fill([
        record(records.LOG_LINES, "\n".join(map(json.dumps, logs)).encode(), "http.h"),
        record(records.EVENT_LINES, json.dumps(event).encode(), "http.h", workspace=43),
        record(records.FRAMES, fw.framed(fw.logs([fw.log(level=7, payload=EVE)])), "tcp.t"),
    ])  # fmt: skip
    live.drive()
    rows = live.query("select level, message, event, properties ->> 'p', workspace_id from plain order by all")
    assert rows == [
        ("debug", "[REDACTED]", None, None, 42),
        ("error", "error of [REDACTED]", None, None, 42),
        (None, None, "[REDACTED]", "1", 43),
    ]
    assert "example.org" not in str(live.query("select * from plain"))
    told = counts(live)
    assert (told["rows_received"], told["rows_written"], told["rows_filtered"]) == (4, 3, 1)
    assert not segments.numbers(live.spool, segments.CLOSED)


def test_what_cannot_be_redacted_is_not_in_the_lake(tmp_path: Path, monkeypatch: Any) -> None:
    live = LiveLake(tmp_path, PLAIN + TCP + f'sink "lake" "l" {{\n table = "plain"\n {REDACT}\n}}')

    def fail(self: object, text: bytes) -> bytes:
        raise ValueError(text)

    monkeypatch.setattr("tailrace.streams.redaction.Redact._cleaned", fail)
    given = [fw.log(n, payload=b'{"message":"%s"}' % text) for n, text in enumerate((b"a@example.org", b"fine"))]
    live.fill([record(records.FRAMES, fw.framed(fw.logs(given)), "tcp.t")])
    live.drive()
    assert live.query("select message from plain") == [("fine",)]
    (refused,) = live.quarantined("plain", "live")
    assert (refused["raw"], refused["reason"]) == (b"", "transform: redact: ValueError")
    told = counts(live)
    assert (told["rows_received"], told["rows_written"], told["rows_quarantined"]) == (2, 1, 1)


def test_syslog_keeps_the_columns_of_its_table(tmp_path: Path) -> None:
    listeners = f'listener "syslog" "s" {{\n port = 5140\n {DROP}\n {REDACT}\n}}\n'
    live = LiveLake(tmp_path, listeners + 'sink "lake" "l" { table = "syslog" }')
    texts = [
        b'<34>1 2023-11-14T22:00:00.5Z web-1 su 77 ID47 [x@1 k="ann@example.org"] failed',
        b"<15>Nov 14 22:01:00 web-2 cron[5]: quiet",
        b"<13>Nov 14 22:02:00 web-3 cron[5]: to bob@example.org",
    ]
    live.fill([record(records.SYSLOG, b"".join(map(message, texts)), "syslog.s")])
    live.drive()
    rows = live.query(
        "select tp_timestamp, hostname, app_name, proc_id, msg_id, severity, facility, message, structured_data"
        " from syslog order by 1"
    )
    assert rows == [
        (datetime(2023, 11, 14, 22, 0, 0, 500_000), "web-1", "su", "77", "ID47", "crit", "auth", "failed",
         '{"x@1":{"k":"[REDACTED]"}}'),
        (datetime(2023, 11, 14, 22, 2), "web-3", "cron", "5", None, "notice", "user", "to [REDACTED]", None),
    ]  # fmt: skip
    assert counts(live)["rows_filtered"] == 1


def test_snapshots_that_were_asked_for_are_in_the_lake(tmp_path: Path) -> None:
    """They are neither lines nor messages; a sink that takes snapshots takes them."""
    source = 'source "http" "g" {\n url = "http://x"\n schedule = "5m"\n sinks = [sink.lake.l]\n}\n'
    live = LiveLake(tmp_path, PLAIN + source + 'sink "lake" "l" {\n table = "plain"\n kinds = ["snapshots"]\n}')
    body = json.dumps({"timestamp": NOW, "source": "g", "entity": "a/b", "payload": {"stars": 3}}).encode()
    live.fill([record(records.PULLED, body, "source.http.g")])
    live.drive()
    assert live.query("select entity, data ->> 'stars', workspace_id from plain") == [("a/b", "3", 42)]
    assert not segments.numbers(live.spool, segments.CLOSED)


def rows_of(body: bytes) -> list[dict[str, Any]]:
    return [
        dict(zip(batch.columns, row, strict=True))
        for batch in OtlpDecoder(TABLE).decode(Body(body))
        for row in zip(*(column.to_pylist() for column in batch.columns.values()), strict=True)
    ]


def request(*logs: dict[str, Any]) -> Record:
    body = resource_logs({"service.name": "shop", "host.name": "web"}, "scope", list(logs))
    return Record(records.OTLP_PROTO, 1, NOW, bytes(16), "otlp.x", body)


def test_a_request_tells_what_it_told_before(tmp_path: Path) -> None:
    """But for what a transform has changed."""
    given = request(FULL, {"body": "second", "time": SECOND})
    (found,) = transformed([given], chain('transform "sample" { rate = 1 }'), tmp_path).requests
    assert rows_of(found[1]) == rows_of(bytes(given.body))
    (found,) = transformed([given], chain(REDACT), tmp_path).requests
    first, second = rows_of(found[1])
    before = rows_of(bytes(given.body))
    assert second == before[1]
    assert {name for name in first if first[name] != before[0][name]} == {"body", "attributes"}
    assert (first["body"], json.loads(first["attributes"])["map"]) == ("from [REDACTED]", {"k": "[REDACTED]"})


def test_what_is_left_belongs_to_its_request(tmp_path: Path) -> None:
    bad = Record(records.OTLP_JSON, 1, NOW, bytes(16), "otlp.x", b'{"resourceLogs": 7}')
    quiet = {"body": "a", "severity": 5}
    given = [request(quiet, {"body": "b"}), request(quiet), bad, request({"body": "d"})]
    found = transformed(given, chain(DROP), tmp_path)
    assert [(given.index(one), [row["body"] for row in rows_of(body)]) for one, body in found.requests] == [
        (0, ["b"]), (3, ["d"]),
    ]  # fmt: skip
    assert found.dropped == 2
    assert [given.index(one.record) for one in found.refused] == [2]


def test_logs_pass_them_before_otap_tables(tmp_path: Path) -> None:
    options = OtapOptions("o", tmp_path / "otap", chains=Chains(chain(DROP + "\n" + REDACT)))
    spool = Spool(tmp_path / "spool", SpoolLimits(reserve=0))
    for given in (request(FULL, {"body": "quiet", "severity": 5}), request({"body": "plain"})):
        spool.append(given).result(10)
    spool.close()
    stop = threading.Event()
    stop.set()
    Driver(tmp_path / "spool", [], tables={options: write_partition}).run(stop)
    base = LocalPlace(str(options.path))
    logs = [
        log for file in list_table(base, "logs") for log in pq.ParquetFile(options.path / file.name).read().to_pylist()
    ]
    told = {log["body"]["str"]: log for log in logs}
    assert set(told) == {"from [REDACTED]", "plain"}
    log = told["from [REDACTED]"]
    assert (log["severity_number"], log["trace_id"], log["flags"]) == (17, bytes(range(16)), 1)
    counted = status_of(options)["counts"]
    assert [counted[name] for name in ("rows_received", "log_rows_written", "rows_filtered", "rows_quarantined")] == [
        3,
        2,
        1,
        0,
    ]
    # Without transforms requests stay as they came.
    assert replace(options, chains=Chains()).chains.of("otlp.x") == ()


def test_otlp_with_transforms_in_the_lake(tmp_path: Path) -> None:
    listeners = f'listener "otlp" "x" {{\n port = 4318\n {REDACT}\n}}\n'
    live = LiveLake(tmp_path, listeners + 'sink "lake" "l" { table = "otlp_log" }')
    live.fill([request(FULL)])
    live.drive()
    (row,) = live.query("select body, time_unix_nano, severity_number, service_name, host_name, trace_id from otlp_log")
    assert row == ("from [REDACTED]", SECOND, 17, "shop", "web", bytes(range(16)).hex())
