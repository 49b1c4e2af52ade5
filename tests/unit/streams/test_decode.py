"""Records of every kind → rows with their origin; what is no record is refused with its bytes."""

from __future__ import annotations

import json

import flatwrite as fw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from otlpwrite import resource_logs

from tailrace.streams import decode as decoding
from tailrace.streams import records
from tailrace.streams.decode import decode
from tailrace.streams.kinds import decoded_schema
from tailrace.streams.records import Identity, Record, address, scan

NOW = 1_700_000_000_000
IP = address("192.168.1.1")


def record(kind: int, body: bytes, workspace: int = 42, **more: object) -> Record:
    return Record(kind, workspace, NOW, IP, "http.x", body, **more)


def syslog(*messages: bytes, ip: bytes = IP) -> Record:
    return record(records.SYSLOG, b"".join(ip + len(m).to_bytes(4) + m for m in messages))


def rows(kind: str, *given: Record) -> list[dict[str, object]]:
    found = decode(given)
    assert not found.refused
    table = found.table(kind)
    assert table.schema == decoded_schema(kind)
    return table.to_pylist()


def test_addresses_have_sixteen_bytes():
    assert address("1.2.3.4").hex() == "00000000000000000000ffff01020304"
    assert address("2001:db8::1").hex() == "20010db8000000000000000000000001"
    assert address("fe80::1%eth0") == address("fe80::1")
    assert address("nobody") == bytes(16)


def test_frames_of_two_tenants():
    one = record(records.FRAMES, fw.framed(fw.events([fw.event(1), fw.event(2)])))
    two = record(records.FRAMES, fw.framed(fw.events([fw.event(3)]), fw.events([fw.event(4)])), workspace=7)
    found = rows("events", one, two)
    assert [(row["workspace_id"], row["event_name"]) for row in found] == [
        (42, "page_view_1"), (42, "page_view_2"), (7, "page_view_3"), (7, "page_view_4"),
    ]  # fmt: skip
    assert {(row["source_ip"], row["batch_timestamp"]) for row in found} == {(IP, NOW)}


def test_nothing_is_stored_for_workspace_0():
    found = decode([record(records.FRAMES, fw.framed(fw.events([fw.event()])), workspace=0)])
    assert [refused.reason for refused in found.refused] == ["workspace: 0 is nobody's"]


def test_bad_frames_keep_their_bytes():
    found = decode([record(records.FRAMES, fw.framed(b"x" * 30, fw.events([fw.event()])))])
    assert found.table("events").num_rows == 1
    (refused,) = found.refused
    assert (refused.raw, refused.record.source_ip) == (b"x" * 30, IP)


def test_32_syslog_of_both_kinds():
    old = b"<134>Nov 14 22:13:20 host1 app[77]: Message sequence 1"
    new = b'<131>1 2023-11-14T22:13:20.500Z host2 svc 9 ID7 [a b="c"] Message sequence 2'
    first, second = rows("logs", syslog(old, new))
    assert (first["level"], first["source"], first["service"], first["timestamp"]) == ("info", "host1", "app", NOW)
    assert (second["level"], second["source"], second["service"]) == ("error", "host2", "svc")
    assert second["timestamp"] == NOW + 500
    assert (first["payload"], second["payload"]) == (old, new)
    told = json.loads(second["document"])
    assert (told["message"], told["raw"], told["structured_data"]) == (
        "Message sequence 2",
        new.decode(),
        {"a": {"b": "c"}},
    )


def test_what_is_no_syslog_is_a_message_all_the_same():
    odd, priority, empty = rows("logs", syslog(b"just text", b"<11>text after a priority", b"<13>"))
    assert (odd["level"], odd["timestamp"], odd["source"]) == ("info", NOW, None)
    assert json.loads(odd["document"])["message"] == "just text"
    assert priority["level"] == "error"
    assert empty["level"] == "notice"


def test_messages_of_several_lines_stay_whole():
    trace = b"<11>Nov 14 22:13:20 host app: Traceback\n<13>Nov 14 22:13:21 no message of its own"
    (row,) = rows("logs", syslog(trace))
    assert json.loads(row["document"])["message"] == "Traceback\n<13>Nov 14 22:13:21 no message of its own"


def test_every_message_has_its_sender():
    both = record(records.SYSLOG, syslog(b"<13>a").body + syslog(b"<13>b", ip=address("::9")).body)
    assert [row["source_ip"] for row in rows("logs", both)] == [IP, address("::9")]


@given(st.lists(st.binary(min_size=1, max_size=80), max_size=5))
def test_any_syslog_is_one_row_a_message(messages):
    found = decode([syslog(*messages)])
    assert found.table("logs")["payload"].to_pylist() == messages
    for document in found.table("logs")["document"].to_pylist():
        json.loads(document)


def test_otlp_logs():
    sent = {
        "time": NOW * 1_000_000, "severity": 17, "body": "failed", "attributes": {"k": "v"},
        "trace": bytes(range(1, 17)),
    }  # fmt: skip
    body = resource_logs({"service.name": "shop", "host.name": "h1"}, "scope", [sent])
    (row,) = rows("logs", record(records.OTLP_PROTO, body))
    assert (row["timestamp"], row["level"], row["source"], row["service"]) == (NOW, "error", "h1", "shop")
    told = json.loads(row["payload"])
    assert (told["message"], told["attributes"], told["trace_id"]) == ("failed", {"k": "v"}, sent["trace"].hex())


@given(st.binary(max_size=200))
def test_any_bytes_as_otlp_do_no_harm(body):
    decode([record(records.OTLP_PROTO, body)])


def test_a_record_that_a_decoder_fails_at_holds_up_no_other(monkeypatch):
    real = decoding.decode_lines

    def fails(kind: str, body: bytes, received_at: int) -> object:
        return 1 / 0 if b"poison" in body else real(kind, body, received_at)

    monkeypatch.setattr(decoding, "decode_lines", fails)
    given_records = [record(records.LOG_LINES, b'{"message":"%s"}' % text) for text in (b"a", b"poison", b"b", b"c")]
    found = decode(given_records)
    assert found.table("logs").num_rows == 3
    ((reason, raw),) = [(refused.reason, refused.raw) for refused in found.refused]
    assert (reason, raw) == ("decode: ZeroDivisionError: division by zero", b'{"message":"poison"}')


LINES = b'{"type":"track","device_id":"550e8400-e29b-41d4-a716-446655440000"}'


def test_lines_of_each_kind():
    assert len(rows("events", record(records.EVENT_LINES, LINES))) == 1
    assert len(rows("logs", record(records.LOG_LINES, b'{"message":"a"}\n{"message":"b"}'))) == 2
    assert len(rows("snapshots", record(records.SNAPSHOT_LINES, b'{"source":"a","entity":"b"}'))) == 1


@pytest.mark.parametrize("identities", [(), (Identity.of(7, b"x"), Identity.of(2**64 - 1, b"y"))])
def test_records_are_read_as_they_were_written(identities):
    given_records = [record(n, bytes([n]) * n, workspace=n, identities=identities, key=b"k" * 8) for n in range(1, 8)]
    data = records.MAGIC + b"".join(one.packed() for one in given_records)
    found = [one for _, one in scan(memoryview(data))]
    assert [(r.kind, r.workspace, bytes(r.body), r.identities, r.listener, r.key) for r in found] == [
        (r.kind, r.workspace, r.body, r.identities, r.listener, r.key) for r in given_records
    ]


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_record_ends_the_segment(place, value):
    good = [record(records.EVENT_LINES, LINES, workspace=n) for n in (1, 2, 3)]
    data = bytearray(records.MAGIC + b"".join(one.packed() for one in good))
    place %= len(data)
    changed = data[place] != value
    data[place] = value
    found = [one.workspace for _, one in scan(memoryview(bytes(data)))]
    assert found == [1, 2, 3][: len(found)]
    assert (len(found) < 3) == changed


def test_columns_are_those_of_arrow():
    assert decode([]).table("events").schema == decoded_schema("events")
    assert isinstance(decode([]).table("logs"), pa.Table)
