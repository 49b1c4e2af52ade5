"""FlatBuffers batches: every layout gives the same rows, and nothing in them is believed."""

from __future__ import annotations

import struct

import flatwrite as fw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.streams.flat_batches import FlatDecoded, decode_messages
from tailrace.streams.flat_wire import Wire
from tailrace.streams.kinds import LEVELS


def decoded(*messages: bytes, layout: str = "auto") -> FlatDecoded:
    ends = np.cumsum([len(message) for message in messages]).astype(np.int64)
    starts = ends - [len(message) for message in messages]
    return decode_messages(Wire(b"".join(messages)), starts, ends, layout)


def rows(found: FlatDecoded, kind: str) -> list[dict[str, object]]:
    columns = found.rows[kind].columns
    return [
        dict(zip(columns, row, strict=True)) for row in zip(*(c.to_pylist() for c in columns.values()), strict=True)
    ]


WANTED = {
    "event_type": "track", "event_name": "page_view_0", "timestamp": 1_700_000_000_000, "device_id": fw.DEVICE,
    "session_id": fw.SESSION, "payload": b'{"page": "/home"}', "service": None,
}  # fmt: skip


@pytest.mark.parametrize("layout", ["v1", "v2"])
@pytest.mark.parametrize("write", [fw.events, fw.built_events], ids=["fixed", "library"])
def test_both_layouts_of_events_are_the_same_rows(write, layout):
    found = decoded(write([fw.event(0), fw.event(1)], layout))
    assert rows(found, "events") == [WANTED, WANTED | {"event_name": "page_view_1", "timestamp": 1_700_000_000_001}]
    assert not found.messages
    assert not found.records


@pytest.mark.parametrize("write", [fw.events, fw.built_events], ids=["fixed", "library"])
def test_the_service_of_a_newer_event(write):
    (row,) = rows(decoded(write([fw.event(service="shop")])), "events")
    assert row == WANTED | {"service": "shop"}


def test_layouts_mixed_in_many_messages_keep_their_order():
    messages = [fw.events([fw.event(n) for n in range(m, m + 3)], "v1" if m % 2 else "v2") for m in range(20)]
    found = decoded(*messages)
    assert [row["event_name"] for row in rows(found, "events")] == [
        f"page_view_{m + n}" for m in range(20) for n in range(3)
    ]
    assert found.rows["events"].owner.tolist() == [m for m in range(20) for _ in range(3)]


def test_a_layout_can_be_said():
    """A writer of the newer layout that trims absent slots looks like the older one."""
    short = fw.built_events([fw.event(payload=None, name=None, session=None, device=fw.DEVICE, service="x")])
    (row,) = rows(decoded(short, layout="v2"), "events")
    assert (row["service"], row["device_id"], row["payload"]) == ("x", fw.DEVICE, b"")


@pytest.mark.parametrize("number", range(9))
def test_levels_have_the_names_of_the_schema(number):
    (row,) = rows(decoded(fw.logs([fw.log(level=number)])), "logs")
    assert row["level"] == LEVELS[number]
    assert (row["source"], row["service"], row["event_type"]) == ("web-1", "api", "log")


def test_a_log_without_a_level_is_no_emergency():
    (row,) = rows(decoded(fw.logs([fw.log(level=None)])), "logs")
    assert row["level"] == "info"


def test_snapshots():
    (row,) = rows(decoded(fw.snapshots([fw.snapshot()])), "snapshots")
    assert (row["source"], row["entity"], row["payload"]) == ("github", "user/repo", b'{"stars": 7}')


def test_ids_of_another_length_are_none():
    (row,) = rows(decoded(fw.events([fw.event(device=b"short", session=bytes(17))])), "events")
    assert (row["device_id"], row["session_id"]) == (None, None)


@pytest.mark.parametrize("schema", [0, fw.METRIC, fw.TRACE, 77])
def test_what_has_no_file_is_told(schema):
    found = decoded(fw.batch(fw.data_of([fw.event_v1(fw.event())]), schema), fw.events([fw.event()]))
    ((message, reason),) = found.messages
    assert message == 0
    assert "not stored" in reason
    assert len(rows(found, "events")) == 1


def test_one_bad_record_leaves_the_others():
    events = [fw.event(n, name=b"\xff\xfe" if n == 41 else f"e{n}") for n in range(100)]
    found = decoded(fw.events(events))
    assert [row["event_name"] for row in rows(found, "events")] == [f"e{n}" for n in range(100) if n != 41]
    assert found.records == [(0, 41, "flatbuffers: event_name is not UTF-8")]


def test_a_table_outside_of_its_message_is_one_bad_record():
    message = bytearray(fw.events([fw.event(n) for n in range(3)]))
    inner = fw.data_of([fw.event_v2(fw.event(n)) for n in range(3)])
    vector = message.index(inner) + inner.index(struct.pack("<I", 3))
    struct.pack_into("<I", message, vector + 4 + 4, 0x7FFFFFFF)
    found = decoded(bytes(message))
    assert [row["event_name"] for row in rows(found, "events")] == ["page_view_0", "page_view_2"]
    assert found.records == [(0, 1, "flatbuffers: a field lies outside")]


def test_one_table_named_many_times_is_refused():
    """Else a small message would become gigabytes."""
    whole = fw.event_v2(fw.event(payload=b"{" + b" " * 1000 + b"}"))
    (root,) = struct.unpack_from("<I", whole)
    count = 50
    vector = struct.pack("<I", count) + b"".join(struct.pack("<I", 4 * (count - n) + root - 4) for n in range(count))
    body = struct.pack("<iI", 8, 4) + vector + whole[4:]
    data = struct.pack("<I", 12) + struct.pack("<HHHH", 6, 8, 4, 0) + body
    found = decoded(fw.batch(data))
    assert found.messages == [(0, "flatbuffers: more than the message holds")]


def test_no_events_at_all():
    found = decoded(fw.events([]))
    assert rows(found, "events") == []
    assert not found.messages


MALFORMED = [
    b'{"type":"track"}', bytes(4), b"\xff" * 4, b"\x00\x00\x00\x40", bytes(100),
    b"\xef\xbb\xbfhello there, this is text",
    b"\x10\x00\x00\x00" + bytes(20), fw.events([fw.event()])[:40],
]  # fmt: skip


@pytest.mark.parametrize("message", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_messages_beside_good_ones(message):
    found = decoded(fw.events([fw.event(1)]), message, fw.events([fw.event(2)]))
    assert [row["event_name"] for row in rows(found, "events")] == ["page_view_1", "page_view_2"]
    assert [number for number, _ in found.messages] == [1]


@given(st.binary(max_size=400))
def test_any_bytes_do_no_harm(data):
    found = decoded(data)
    assert len(found.messages) <= 1


@given(st.data())
def test_any_change_of_a_good_message_does_no_harm(data):
    good = bytearray(fw.events([fw.event(n, service="s") for n in range(3)]))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(good) - 1))
        good[place] = data.draw(st.integers(0, 255))
    found = decoded(bytes(good), fw.events([fw.event(9)]))
    assert rows(found, "events")[-1]["event_name"] == "page_view_9"
    for row in rows(found, "events"):
        assert row["device_id"] is None or len(row["device_id"]) == 16


@given(st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=60), st.integers(0, 2**64 - 1)), max_size=8))
def test_what_is_written_is_read(given_rows):
    made = [fw.event(name=name, payload=payload, timestamp=stamp) for name, payload, stamp in given_rows]
    found = rows(decoded(fw.events(made, "v1"), fw.built_events(made)), "events")
    wanted = [(name, payload, stamp - 2**64 if stamp >= 2**63 else stamp) for name, payload, stamp in given_rows]
    assert [(row["event_name"], row["payload"], row["timestamp"]) for row in found] == [*wanted, *wanted]
