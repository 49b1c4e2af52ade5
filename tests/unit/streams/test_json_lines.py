"""JSON lines: what is accepted is what is stored, and a bad line is told by its number."""

from __future__ import annotations

import json
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.streams.json_lines import check, decode_lines

NOW = 1_700_000_000_000
DEVICE = "550e8400-e29b-41d4-a716-446655440000"
EVENT = {"type": "track", "event": "page_view", "device_id": DEVICE, "timestamp": NOW - 5}


def body(*lines: object) -> bytes:
    return b"\n".join(line if isinstance(line, bytes) else msgspec.json.encode(line) for line in lines)


def rows(kind: str, *lines: object) -> list[dict[str, object]]:
    found = decode_lines(kind, body(*lines), NOW)
    assert not found.bad
    names = [name for name in found.columns if name != "document"]
    return [
        dict(zip(names, row, strict=True)) for row in zip(*(found.columns[n].to_pylist() for n in names), strict=True)
    ]


def payload(kind: str, line: object) -> object:
    (row,) = rows(kind, line)
    return json.loads(row["payload"])


def test_an_event():
    (row,) = rows("events", EVENT | {"session_id": DEVICE.replace("-", ""), "properties": {"a": 1}})
    assert row == {
        "timestamp": NOW - 5, "event_type": "track", "event_name": "page_view", "device_id": UUID(DEVICE).bytes,
        "session_id": UUID(DEVICE).bytes, "payload": b'{"a":1}',
    }  # fmt: skip


def test_an_event_without_a_time_has_that_of_its_arrival():
    (row,) = rows("events", {"type": "track", "device_id": DEVICE})
    assert (row["timestamp"], row["event_name"], json.loads(row["payload"])) == (NOW, None, {})


def test_types_that_are_not_known_and_sessions_that_are_none():
    (row,) = rows("events", EVENT | {"type": "purchase", "session_id": "?"})
    assert (row["event_type"], row["session_id"]) == ("unknown", None)


@pytest.mark.parametrize(("line", "wanted"), [
    ({"user_id": "u", "properties": {"a": 1}}, {"user_id": "u", "a": 1}),
    ({"group_id": "g", "traits": {"plan": "x"}}, {"group_id": "g", "plan": "x"}),
    ({"context": {"ip": 1}, "properties": {}}, {"_context": {"ip": 1}}),
    ({"service": "web", "amount": 1.5, "nested": {"b": [1]}}, {"service": "web", "amount": 1.5, "nested": {"b": [1]}}),
    ({"previous_id": "p", "user_id": None}, {"previous_id": "p"}),
    ({"properties": [1, 2]}, {"properties": [1, 2]}),
    ({"properties": None}, {}),
])  # fmt: skip
def test_everything_that_is_no_protocol_is_in_the_payload(line, wanted):
    assert payload("events", EVENT | line) == wanted


def test_logs():
    (row,) = rows("logs", {"message": "boom", "level": "WARN", "source": "h", "service": "s", "data": {"k": 1}, "x": 2})
    assert (row["level"], row["event_type"], row["source"], row["service"]) == ("warning", "log", "h", "s")
    assert json.loads(row["payload"]) == {"message": "boom", "k": 1, "x": 2}


@pytest.mark.parametrize(
    "level", ["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug", "trace"]
)
def test_levels_keep_their_names(level):
    assert rows("logs", {"message": "m", "level": level})[0]["level"] == level


def test_snapshots():
    (row,) = rows("snapshots", {"timestamp": 5, "source": "github", "entity": "a/b", "stars": 3})
    assert (row["timestamp"], row["source"], row["entity"], row["payload"]) == (5, "github", "a/b", b'{"stars":3}')


def test_bad_lines_are_named_and_the_others_kept():
    lines = (EVENT, b"{nope", EVENT | {"device_id": "no uuid"}, b"", {"type": "track"}, EVENT | {"type": 5})
    found = check("events", body(*lines), 100)
    assert [number for number, _ in found.errors] == [2, 3, 5, 6]
    assert found.count == 1
    assert found.body == msgspec.json.encode(EVENT)


def test_an_object_stands_in_one_line():
    found = check("events", b'{"type":"track",\n"device_id":"%s"}' % DEVICE.encode(), 10)
    assert (found.count, [number for number, _ in found.errors]) == (0, [1, 2])


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\n\n", b" \n "])
def test_ends_of_lines(ends):
    found = check("events", ends.join([msgspec.json.encode(EVENT)] * 3) + ends, 10)
    assert (found.count, found.errors) == (3, [])
    assert len(decode_lines("events", found.body, NOW).columns["timestamp"]) == 3


def test_more_lines_than_allowed_are_one_error():
    found = check("events", body(*[EVENT] * 5), 3)
    assert (found.count, found.errors) == (3, [(4, "more than 3 lines")])


@pytest.mark.parametrize(("depth", "good"), [(30, True), (31, True), (32, False), (200, False), (5000, False)])
def test_depth(depth, good):
    deep = b'{"type":"track","device_id":"%s","properties":%s}' % (
        DEVICE.encode(), b"[" * depth + b"]" * depth,
    )  # fmt: skip
    found = check("events", body(EVENT, deep), 10)
    assert found.count == (2 if good else 1)
    assert [number for number, _ in found.errors] == ([] if good else [2])


def test_braces_in_texts_are_no_depth():
    assert not check("events", body(EVENT | {"properties": {"a": '{[\\"' * 100}}), 10).errors


@pytest.mark.parametrize("stamp", [2**63, 2**64, -(2**63) - 1, 1e300, -1])
def test_times_that_cannot_be_are_below_zero(stamp):
    assert rows("events", EVENT | {"timestamp": stamp})[0]["timestamp"] < 0


@given(st.lists(st.binary(max_size=60) | st.sampled_from([msgspec.json.encode(EVENT)]), max_size=6))
def test_what_is_accepted_can_be_decoded(lines):
    found = check("events", b"\n".join(lines), 100)
    decoded = decode_lines("events", found.body, NOW)
    assert not decoded.bad
    assert len(decoded.columns["timestamp"]) == found.count


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5))
def test_any_properties_come_back(properties):
    assert payload("events", EVENT | {"properties": properties}) == properties


def test_bytes_that_are_no_text_are_told_wherever_they_stand():
    good = b'{"type":"track","device_id":"550e8400-e29b-41d4-a716-446655440000","properties":{"a":"%s"},"%s":1}'
    found = check("events", b"\n".join([good % (b"x", b"y"), good % (b"\xff", b"y"), good % (b"x", b"\xb8")]), 10)
    assert [number for number, _ in found.errors] == [2, 3]
    assert found.count == 1


@pytest.mark.parametrize(("lines", "wrong"), [
    (b'{"message":1}{"message":2}', [1]),
    (b'{"message":\n1}', [1, 2]),
    (b'{"message":1}{"message":2}\n{"message":\n3}', [1, 2, 3]),
    (b'{"message":{}\n,"k":{"a":1}}', [1, 2]),
    (b'  {"message":1} \r\n\n\t{"message":2}\r\n', []),
    (b'{"message":"}\\n{"}\n{"message":2}', []),
])  # fmt: skip
def test_a_line_is_one_record(lines, wrong):
    found = check("logs", lines, 100)
    assert [number for number, _ in found.errors] == wrong
    stored = decode_lines("logs", found.body, NOW)
    assert (len(stored.columns["timestamp"]), stored.bad) == (found.count, [])
