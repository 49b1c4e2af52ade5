"""Plain events, many at once: their columns are those that each line becomes by itself."""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from liveserver import DEVICE

from tailrace.streams import records
from tailrace.streams.decode import decode
from tailrace.streams.json_lines import decode_lines
from tailrace.streams.line_ids import optional_ids, required_ids
from tailrace.streams.plain_events import plain_columns, plain_events
from tailrace.streams.records import Record

NOW = 1_700_000_000_000
PLAIN = {"type": "track", "event": "e", "device_id": DEVICE, "timestamp": NOW - 5, "properties": {"a": 1}}
IDS = st.uuids().map(str) | st.uuids().map(lambda one: one.hex) | st.uuids().map(lambda one: str(one).upper())
EVENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["track", "identify", "purchase"]) | st.text(max_size=5),
        "device_id": IDS,
        "properties": st.dictionaries(st.text(max_size=5), st.integers(-9, 9) | st.text(max_size=5), max_size=3),
    },
    optional={
        "timestamp": st.none() | st.integers(-(2**63), 2**63 - 1),
        "event": st.none() | st.text(max_size=5),
        "session_id": st.none() | IDS | st.text(max_size=36),
    },
)


def body(*lines: object) -> bytes:
    return b"\n".join(map(msgspec.json.encode, lines))


@given(st.lists(EVENTS, min_size=1, max_size=8))
def test_columns_are_what_lines_become(events):
    sent = body(*events)
    lines = plain_events(sent)
    assert lines is not None
    columns = plain_columns(lines, np.full(len(lines), NOW))
    alone = decode_lines("events", sent, NOW)
    assert columns == alone.columns
    assert not alone.bad


@given(st.lists(st.lists(EVENTS | st.just(PLAIN | {"properties": None}), min_size=1, max_size=4), max_size=6))
def test_records_keep_their_rows_and_arrivals(requests):
    given_records = [
        Record(records.EVENT_LINES, number, NOW + number, bytes(16), "http.h", body(*events))
        for number, events in enumerate(requests, 1)
    ]
    together, alone = decode(given_records).table("events"), [decode([one]).table("events") for one in given_records]
    wanted = pa.concat_tables(alone) if alone else together.slice(0, 0)
    assert together.sort_by("workspace_id").to_pylist() == wanted.to_pylist()


@pytest.mark.parametrize("line", [
    PLAIN | {"user_id": "u"}, PLAIN | {"else": 1}, PLAIN | {"properties": [1]}, PLAIN | {"properties": None},
    PLAIN | {"timestamp": 1.5}, PLAIN | {"timestamp": 2**63}, PLAIN | {"device_id": "no"}, {"type": "track"},
    {"type": "track", "device_id": DEVICE}, [],
], ids=range(10))  # fmt: skip
def test_other_lines_are_not_plain(line):
    lines = plain_events(body(PLAIN, line))
    assert lines is None or plain_columns(lines, np.full(2, NOW)) is None


@pytest.mark.parametrize(("text", "good"), [
    (DEVICE, True), (DEVICE.upper(), True), (DEVICE.replace("-", ""), True), ("", False), (DEVICE[:-1], False),
    (DEVICE[:-1] + "g", False), (DEVICE[:-2] + " a", False), (DEVICE[:-1] + "\u0661", False),
    (DEVICE.replace("-", "0"), False), ("-" + DEVICE[:8] + DEVICE[9:], False), ("{" + DEVICE + "}", False),
])  # fmt: skip
def test_ids_of_devices(text, good):
    assert (required_ids([text]) is not None) == good
    for others in ([DEVICE, text], [text, DEVICE.replace("-", "")]):
        assert (required_ids(others) is not None) == good


def test_sessions_have_more_spellings_and_may_be_missing():
    given_ids = [DEVICE, None, "?", "{" + DEVICE + "}", ""]
    wanted = bytes.fromhex(DEVICE.replace("-", ""))
    assert optional_ids(given_ids).to_pylist() == [wanted, None, None, wanted, None]
    assert optional_ids([DEVICE, DEVICE]).to_pylist() == [wanted, wanted]
    assert optional_ids(["?", "!"]).to_pylist() == [None, None]
    assert optional_ids([]).to_pylist() == []
