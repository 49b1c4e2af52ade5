"""Messages in pieces and out of order: both readers say what the protobuf library says."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st
from layoutread import Chunks
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from tailrace.formats.otlp_frames import Resources, resources
from tailrace.windows.from_proto import Read, read_fields, read_resources
from tailrace.windows.nested import span, tagged, varint
from tailrace.windows.to_proto import messages

Wire = st.SearchStrategy[bytes]
SCALARS = st.one_of(
    st.text("ab", max_size=2).map(lambda text: span(1, text.encode())),
    st.booleans().map(lambda flag: tagged(2, 0) + varint(flag)),
    st.integers(-3, 300).map(lambda number: tagged(3, 0) + varint(number)),
    st.floats(allow_nan=False, width=16).map(lambda number: tagged(4, 1) + struct.pack("<d", number)),
    st.binary(max_size=2).map(lambda body: span(7, body)),
    st.integers(0, 9).map(lambda number: tagged(99, 0) + varint(number)),
)


def pieces(*fields: Wire, most: int = 4) -> Wire:
    """Fields of a message in any order, any of them several times or not at all."""
    return st.lists(st.one_of(*fields), max_size=most).map(b"".join)


def pair(values: Wire) -> Wire:
    return pieces(st.sampled_from([span(1, b"k"), span(1, b"key")]), values.map(lambda body: span(2, body)))


def within(values: Wire) -> Wire:
    lists = st.lists(values.map(lambda body: span(1, body)), max_size=2).map(lambda bodies: span(5, b"".join(bodies)))
    maps = st.lists(pair(values).map(lambda body: span(1, body)), max_size=2).map(lambda b: span(6, b"".join(b)))
    return pieces(SCALARS, lists, maps)


VALUES = st.recursive(SCALARS, within, max_leaves=8)
PAIRS = pair(VALUES)
RECORDS = pieces(
    VALUES.map(lambda body: span(5, body)),
    PAIRS.map(lambda body: span(6, body)),
    st.integers(0, 24).map(lambda number: tagged(2, 0) + varint(number)),
    st.sampled_from([span(9, bytes(range(16))), span(9, b""), span(3, b"WARN"), span(12, b"event"), span(12, b"")]),
    st.integers(0, 2**64 - 1).map(lambda time: tagged(1, 1) + struct.pack("<Q", time % 2**62)),
)
SCOPES = pieces(
    st.sampled_from([span(1, b"name"), span(1, b""), span(2, b"1.0"), tagged(4, 0) + varint(7)]),
    PAIRS.map(lambda body: span(3, body)),
)
SCOPE_LOGS = pieces(
    SCOPES.map(lambda body: span(1, body)), RECORDS.map(lambda body: span(2, body)), st.just(span(3, b"url")), most=6
)
RESOURCES = pieces(PAIRS.map(lambda body: span(1, body)), st.integers(0, 9).map(lambda n: tagged(2, 0) + varint(n)))
REQUESTS = pieces(
    pieces(
        RESOURCES.map(lambda body: span(1, body)),
        SCOPE_LOGS.map(lambda body: span(2, body)),
        SCOPE_LOGS.map(lambda body: span(2, body)),
        st.sampled_from([span(3, b"one"), span(3, b"")]),
        most=6,
    ).map(lambda body: span(1, body)),
    most=30,
)


def runs(body: bytes) -> list[Resources]:
    return list(resources(Chunks([body])))


def told(found: Iterable[Read]) -> list[bytes]:
    """What there is with logs in it; which numbers resources have by themselves does not matter."""
    return [message for read in found for message in messages(read.tables)]


@settings(max_examples=150, deadline=None)
@given(REQUESTS)
def test_what_comes_in_pieces_is_put_together_as_protobuf_does(body: bytes) -> None:
    plain = LogsData.FromString(body)
    plain.DiscardUnknownFields()
    expected = told(read_fields(run) for run in runs(plain.SerializeToString()))
    for reader in (read_fields, read_resources):
        found = [reader(run) for run in runs(body)]
        assert told(found) == expected
        assert not any(one.bad for one in found)


def test_a_list_goes_on_until_a_value_of_another_kind() -> None:
    first, second, text = span(5, span(1, span(1, b"a"))), span(5, span(1, span(1, b"b"))), span(1, b"text")
    kinds = {first + second: ["a", "b"], first + text + second: ["b"], first + second + text: None}
    for value, expected in kinds.items():
        (run,) = runs(span(1, span(2, span(2, span(5, value)))))
        for reader in (read_fields, read_resources):
            (body,) = reader(run).tables.logs["body"].to_pylist()
            if expected is None:
                assert (body["type"], body["str"], body["ser"]) == (1, "text", None)
            else:
                assert body["ser"] == bytes([0x80 + len(expected)]) + b"".join(b"a" + e.encode() for e in expected)
