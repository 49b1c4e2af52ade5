"""Any listener's rows in tables of the lake: decoded as the table says, every row once."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import flatwrite as fw
import pytest
from livelake import NOW, LiveLake, message, record
from otlpwrite import resource_logs

from tailrace.core import ConfigError, TimeRange
from tailrace.lake.lock import partition_lock
from tailrace.lake.undo import erase
from tailrace.streams import records, segments
from tailrace.streams.live_metrics import status_of

CLICKS = """
table "clicks" {
  map_fields = []
  column "tp_timestamp" {
    source = "timestamp"
    type   = "timestamp"
    time   = "epoch_ms"
  }
  column "type" {}
  column "event" {}
  column "device_id" {}
  column "properties" { type = "json" }
  column "workspace_id" { type = "bigint" }
  column "source_ip" {}
}
"""
LISTENERS = """
listener "http" "h" { api_keys_file = "keys" }
listener "syslog" "s" { port = 5140 }
listener "otlp" "o" { port = 4318 }
listener "tcp" "t" { api_keys_file = "keys" }
"""
DEVICE = "550e8400-e29b-41d4-a716-446655440000"
SINK = 'sink "lake" "l" { table = "clicks" }\n'


def events(first: int, count: int, **more: Any) -> bytes:
    """Lines as a client sends them."""
    rows = [{"type": "track", "device_id": DEVICE, "event": f"e{n}", **more} for n in range(first, first + count)]
    return "\n".join(map(json.dumps, rows)).encode()


def test_json_lines_of_http(tmp_path: Path) -> None:
    live = LiveLake(tmp_path, CLICKS + LISTENERS + SINK)
    live.fill([
        record(records.EVENT_LINES, events(0, 2, timestamp=NOW - 5000, properties={"page": "/"}), "http.h"),
        record(records.EVENT_LINES, events(2, 1, workspace_id=7), "http.h", workspace=43),
    ])  # fmt: skip
    live.drive()
    rows = live.query(
        "select event, tp_timestamp, properties ->> 'page', workspace_id, source_ip, tp_partition, tp_source_type,"
        " tp_source_name, tp_source_location from clicks order by event"
    )
    told = datetime(2023, 11, 14, 22, 13, 15)
    whence = ("live", "http", "h", "listener.http.h")
    assert rows == [
        ("e0", told, "/", 42, "192.168.1.1", *whence),
        ("e1", told, "/", 42, "192.168.1.1", *whence),
        # Without a time of its own it has that of its arrival; whose it is, the key says.
        ("e2", datetime(2023, 11, 14, 22, 13, 20), None, 43, "192.168.1.1", *whence),
    ]
    assert not segments.numbers(live.spool, segments.CLOSED)
    (sink,) = live.sinks()
    counts = status_of(sink)["counts"]
    assert (counts["batches_received"], counts["rows_received"], counts["rows_written"]) == (2, 3, 3)


def test_7_times_that_cannot_be_are_quarantined_as_before_the_parquet_sink(tmp_path: Path) -> None:
    """One client with a wrong clock does not spoil the partition: no day of 1970, and none of next year."""
    day = 86_400_000
    stamps = [1, 0, NOW - 3650 * day - 1, NOW - 3650 * day, NOW, NOW + day, NOW + day + 1]
    live = LiveLake(tmp_path, CLICKS + LISTENERS + SINK)
    body = b"\n".join(events(n, 1, timestamp=stamp) for n, stamp in enumerate(stamps))
    frames = fw.framed(fw.events([fw.event(1, timestamp=stamp) for stamp in (0, 1, NOW)]))
    live.fill([record(records.EVENT_LINES, body, "http.h"), record(records.FRAMES, frames, "tcp.t")])
    live.drive()
    late, ahead = "time: later than max_lateness", "time: more than a day ahead"
    assert live.query("select event from clicks order by 1") == [("e3",), ("e4",), ("e5",), ("page_view_1",)]
    refused = live.quarantined("clicks")
    assert sorted(row["reason"] for row in refused) == [late] * 5 + [ahead]
    assert any(b'"event": "e0"' in row["raw"] for row in refused)
    (sink,) = live.sinks()
    counts = status_of(sink)["counts"]
    assert (counts["rows_received"], counts["rows_written"], counts["rows_quarantined"]) == (10, 4, 6)


def test_max_lateness_keeps_older_rows_out(tmp_path: Path) -> None:
    strict = 'sink "lake" "l" {\n table = "clicks"\n max_lateness = "400d"\n}'
    live = LiveLake(tmp_path, CLICKS + LISTENERS + strict)
    body = b"\n".join(events(days, 1, timestamp=NOW - days * 86_400_000) for days in (399, 401))
    live.fill([record(records.EVENT_LINES, body, "http.h")])
    live.drive()
    assert live.query("select tp_timestamp from clicks") == [(datetime(2022, 10, 11, 22, 13, 20),)]
    assert [row["reason"] for row in live.quarantined("clicks")] == ["time: later than max_lateness"]


def test_flatbuffers_have_the_names_of_json(tmp_path: Path) -> None:
    live = LiveLake(tmp_path, CLICKS + LISTENERS + 'sink "lake" "l" {\n table = "clicks"\n kinds = ["events"]\n}')
    body = fw.framed(fw.events([fw.event(1), fw.event(2)]), fw.logs([fw.log()]), b"no batch, but long enough")
    live.fill([record(records.FRAMES, body, "tcp.t")])
    live.drive()
    rows = live.query("select type, event, device_id, properties ->> 'page', workspace_id, tp_source_type from clicks")
    device = "01010101-0101-0101-0101-010101010101"
    assert sorted(rows) == [("track", f"page_view_{n}", device, "/home", 42, "tcp") for n in (1, 2)]
    (refused,) = live.quarantined("clicks", "live")
    assert refused["raw"] == b"no batch, but long enough"


def test_a_message_with_many_bad_records_is_kept_once(tmp_path: Path) -> None:
    live = LiveLake(tmp_path, CLICKS + LISTENERS + 'sink "lake" "l" {\n table = "clicks"\n kinds = ["events"]\n}')
    message = fw.events([fw.event(n, name=b"caf\xe9" if n % 2 else "tea") for n in range(20)])
    live.fill([record(records.FRAMES, fw.framed(message), "tcp.t")])
    live.drive()
    assert live.query("select count(*) from clicks") == [(10,)]
    kept = live.quarantined("clicks", "live")
    assert sorted(row["raw"] for row in kept) == [*[b""] * 9, message]
    assert {row["reason"] for row in kept} == {"flatbuffers: event_name is not UTF-8"}


def test_syslog_by_the_engine_of_the_table(tmp_path: Path) -> None:
    live = LiveLake(tmp_path, LISTENERS + 'sink "lake" "l" { table = "syslog" }')
    texts = [
        b"<34>1 2023-11-14T22:00:00Z web-1 su 77 ID47 - failed",
        b"<13>Nov 14 22:01:00 web-2 cron[5]: one\nand its second line",
        b"<13>Nov 14 22:02:00 web-3 cron[5]: last",
        b"nothing that syslog knows",
    ]
    live.fill([
        record(records.SYSLOG, b"".join(map(message, texts)), "syslog.s", workspace=0),
        record(records.OVERSIZE, b"x" * 100_000, "syslog.s", workspace=0),
    ])  # fmt: skip
    live.drive()
    rows = live.query("select tp_timestamp, hostname, app_name, severity, message from syslog order by hostname")
    assert rows == [
        (datetime(2023, 11, 14, 22, 0), "web-1", "su", "crit", "failed"),
        (datetime(2023, 11, 14, 22, 1), "web-2", "cron", "notice", "one\nand its second line"),
        (datetime(2023, 11, 14, 22, 2), "web-3", "cron", "notice", "last"),
    ]
    refused = {row["length"]: row["raw"] for row in live.quarantined("syslog", "live")}
    assert refused[len(texts[3])] == texts[3]
    assert len(refused[100_000]) == 64 * 1024


def test_otlp_requests(tmp_path: Path) -> None:
    live = LiveLake(tmp_path, LISTENERS + 'sink "lake" "l" {\n table = table.otlp_log\n partition = "apps"\n}')
    bodies = [resource_logs({"service.name": "shop"}, "s", [{"body": f"m{n}"}, {"body": "again"}]) for n in range(3)]
    text = b'{"body":{"stringValue":"j"}}'
    live.fill([
        *(record(records.OTLP_PROTO, body, "otlp.o") for body in bodies),
        record(records.OTLP_JSON, b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[' + text + b"]}]}]}", "otlp.o"),
        record(records.OTLP_PROTO, b"\xff\xff\xff\xff", "otlp.o"),
    ])  # fmt: skip
    live.drive()
    rows = live.query("select body, service_name, tp_partition, count(distinct tp_id) from otlp_log group by all")
    shop = [(f"m{n}", "shop", "apps", 1) for n in range(3)]
    assert sorted(rows, key=str) == sorted([*shop, ("again", "shop", "apps", 3), ("j", None, "apps", 1)], key=str)
    assert len(live.quarantined("otlp_log", "apps")) == 1


def test_columns_are_learned_filtered_and_indexed(tmp_path: Path) -> None:
    table = 'table "app" {\n column "tp_timestamp" { source = "at" }\n}\n'
    sink = 'sink "lake" "l" {\n table = "app"\n filter = "level <> \'debug\'"\n tp_index = "source"\n}'
    live = LiveLake(tmp_path, table + LISTENERS + sink)
    for turn, level in enumerate(("error", "debug", "info")):
        row = {"message": "m", "level": level, "source": f"s{turn}", f"only_{turn}": turn}
        live.fill([record(records.LOG_LINES, json.dumps(row).encode(), "http.h")])
        live.drive()
    found = live.query("select tp_index, level, only_0, only_2 from app order by 1")
    assert found == [("s0", "error", 0, None), ("s2", "info", None, 2)]


def test_of_a_partition_block(tmp_path: Path) -> None:
    """What its block says holds for the sink, too."""
    block = (
        'partition "clicks" "live" {\n dedupe = ["event"]\n tp_index = "event"\n source "file" { paths = ["/x"] }\n}'
    )
    live = LiveLake(tmp_path, CLICKS + LISTENERS + SINK + block)
    for _ in range(2):
        live.fill([record(records.EVENT_LINES, events(0, 2, timestamp=NOW), "http.h")])
        live.drive()
    assert live.query("select event, tp_index from clicks order by 1") == [("e0", "e0"), ("e1", "e1")]


def test_times_that_are_none_are_quarantined(tmp_path: Path) -> None:
    live = LiveLake(tmp_path, CLICKS + LISTENERS + SINK)
    body = events(0, 1, timestamp="soon") + b"\n" + events(1, 1) + b"\n{broken"
    live.fill([record(records.EVENT_LINES, body, "http.h")])
    live.drive()
    assert live.query("select event from clicks") == [("e1",)]
    reasons = sorted(row["reason"] for row in live.quarantined("clicks", "live"))
    assert len(reasons) == 2
    assert "'soon'" in reasons[1]


def test_a_body_that_an_engine_fails_at_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailrace.formats.otlp import OtlpDecoder

    plain = OtlpDecoder.decode

    def failing(self: OtlpDecoder, stream: Any) -> Any:
        data = b"".join(stream)
        if b"poison" in data:
            raise ZeroDivisionError("a defect")
        from tailrace.formats.feed import Once

        return plain(self, Once(data))

    monkeypatch.setattr(OtlpDecoder, "decode", failing)
    live = LiveLake(tmp_path, LISTENERS + 'sink "lake" "l" { table = "otlp_log" }')
    bodies = [resource_logs({}, "s", [{"body": text}]) for text in ("a", "poison", "b")]
    live.fill([record(records.OTLP_PROTO, body, "otlp.o") for body in bodies])
    live.drive()
    assert sorted(live.query("select body from otlp_log")) == [("a",), ("b",)]
    (refused,) = live.quarantined("otlp_log", "live")
    assert (refused["raw"], refused["reason"]) == (bodies[1], "artifact: ZeroDivisionError: a defect")


def test_rows_wait_while_another_holds_the_partition(tmp_path: Path) -> None:
    live = LiveLake(tmp_path, CLICKS + LISTENERS + SINK)
    live.fill([record(records.EVENT_LINES, events(0, 3), "http.h")])
    with partition_lock(live.world.lake, "clicks", "live", "tailrace collect"):
        driver = live.drive()
    (sink,) = driver.tables
    assert "is held by process" in str(status_of(sink.options)["troubles"])
    assert segments.numbers(live.spool, segments.CLOSED)
    live.drive()
    assert len(live.query("select * from clicks")) == 3
    assert status_of(sink.options)["troubles"] == {}


def test_a_partition_that_was_emptied_stays_empty(tmp_path: Path) -> None:
    """A segment that another sink still needs is not stored again."""
    live = LiveLake(tmp_path, CLICKS + LISTENERS + SINK)
    live.fill([record(records.EVENT_LINES, events(0, 3), "http.h")])
    kept = {path: path.read_bytes() for path in live.spool.glob("*.segment")}
    live.drive()
    erase(live.world.lake, "clicks", "live", TimeRange())
    for path, data in kept.items():
        path.write_bytes(data)
    live.drive()
    assert live.query("select * from clicks") == []


def test_a_spool_that_was_begun_anew(tmp_path: Path) -> None:
    import shutil

    live = LiveLake(tmp_path, CLICKS + LISTENERS + SINK)
    for turn in range(2):
        live.fill([record(records.EVENT_LINES, events(turn, 1), "http.h")])
        live.drive()
        shutil.rmtree(live.spool)
    assert live.query("select event, count(distinct tp_id) over () from clicks order by 1") == [("e0", 2), ("e1", 2)]


def test_one_entry_of_the_ledger_for_a_listener(tmp_path: Path) -> None:
    from tailrace.lake.intents import read_ledger

    live = LiveLake(tmp_path, CLICKS + LISTENERS + SINK)
    for turn in range(3):
        live.fill([record(records.EVENT_LINES, events(turn * 2, 2), "http.h")])
        live.drive()
    (entry,) = read_ledger(live.world.lake, "clicks", "live").entries.to_pylist()
    assert (entry["rows"], entry["received"], entry["source"], entry["status"]) == (6, 6, "listener.http.h", "ok")
    assert live.query("select count(distinct tp_id), count(*) from clicks") == [(6, 6)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('sink "lake" "a" {\n table = "clicks"\n transform "sample" { rate = 5 }\n}', "between 0 and 1"),
        (
            'format "jsonl" "f" { }\nsink "lake" "a" {\n table = "clicks"\n format = format.jsonl.f\n'
            ' transform "sample" { rate = 0.5 }\n}',
            "transforms give decoded rows",
        ),
        (
            'sink "lake" "a" {\n table = "nginx_access_log"\n transform "sample" { rate = 0.5 }\n}',
            "transforms give decoded rows",
        ),
        ('sink "lake" "a" { table = "clicks" }\nsink "lake" "b" { table = "clicks" }', "fill the same partition"),
        ('sink "lake" "a" {\n table = "clicks"\n format = format.grok.none\n}', "format.grok.none does not exist"),
        ('sink "lake" "a" { table = "clickss" }', "table.clickss does not exist"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    live = LiveLake(tmp_path, CLICKS + LISTENERS + text)
    with pytest.raises(ConfigError, match=problem):
        live.sinks()


def test_messages_in_a_format_of_ones_own(tmp_path: Path) -> None:
    text = (
        'format "grok" "mine" {\n'
        ' layout = "<%{INT}>%{TIMESTAMP_ISO8601:timestamp} %{WORD:app_name} %{GREEDYDATA:message}"\n}\n'
        'sink "lake" "a" {\n table = "syslog"\n format = format.grok.mine\n}'
    )
    live = LiveLake(tmp_path, LISTENERS + text)
    live.fill([record(records.SYSLOG, message(b"<13>2023-11-14T22:00:00Z su %d" % n), "syslog.s") for n in range(3)])
    live.drive()
    assert sorted(live.query("select app_name, message from syslog")) == [("su", f"{n}") for n in range(3)]


def test_expressions_are_checked_at_the_start(tmp_path: Path) -> None:
    live = LiveLake(tmp_path, CLICKS + LISTENERS + 'sink "lake" "a" {\n table = "clicks"\n filter = "nothing = 1"\n}')
    (_, store) = live.stores()[0]
    with pytest.raises(ConfigError, match="nothing"):
        store.check()


def test_the_block(tmp_path: Path) -> None:
    text = 'sink "lake" "a" {\n table = table.syslog\n flush_interval = "1m"\n listeners = [listener.syslog.s]\n}'
    (found,) = LiveLake(tmp_path, LISTENERS + text).sinks()
    assert (found.path, found.flush_interval.total_seconds(), found.listeners) == ("syslog.live", 60, {"syslog.s"})
