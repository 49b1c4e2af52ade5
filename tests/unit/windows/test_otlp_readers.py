"""Two readers of OTLP's protobuf: a library's, and ours for what is odd. Where both read, they say the same."""

from __future__ import annotations

import random

import pytest
from layoutread import Chunks
from otlprequests import proto_request, random_request

from tailrace.formats.otlp_frames import Resources, resources
from tailrace.windows import proto_arrow
from tailrace.windows.from_nested import Odd, flattened
from tailrace.windows.from_proto import read_fields, read_resources
from tailrace.windows.nested import span, tagged, varint
from tailrace.windows.proto_arrow import nested
from tailrace.windows.schema import TABLES, Tables


def runs(body: bytes) -> list[Resources]:
    return list(resources(Chunks([body])))


def said(tables: Tables) -> list[str]:
    """As text: a number that is none is not equal to itself."""
    return [repr(tables.of(name).to_pylist()) for name in TABLES]


def test_both_readers_agree() -> None:
    dice = random.Random(1)
    read = 0
    for _ in range(30):
        for found in runs(b"".join(proto_request(random_request(dice)) for _ in range(3))):
            batch = nested(found)
            assert batch is not None
            assert said(flattened(batch)) == said(read_fields(found).tables)
            read += 1
    assert read > 20


def test_damaged_bytes_are_told_by_the_careful_reader() -> None:
    """Whatever is not read by the library comes out as if there were none.

    Groups alone differ, which protobuf gave up long ago: the library passes them over.
    """
    dice = random.Random(3)
    refused = 0
    for _ in range(50):
        body = bytearray(b"".join(proto_request(random_request(dice)) for _ in range(2)))
        if not body:
            continue
        for _ in range(3):
            body[dice.randrange(len(body))] = dice.randrange(256)
        for found in runs(bytes(body)):
            careful, quick = read_fields(found), read_resources(found)
            assert said(quick.tables) == said(careful.tables)
            assert quick.bad == careful.bad
            refused += bool(quick.bad)
    assert refused > 5


def _record(*fields: bytes) -> Resources:
    return runs(span(1, span(2, span(2, b"".join(fields)))))[0]


def test_a_value_with_two_kinds_is_the_last() -> None:
    found = _record(span(5, span(1, b"text") + tagged(3, 0) + varint(7)))
    batch = nested(found)
    assert batch is not None
    with pytest.raises(Odd):
        flattened(batch)
    (body,) = read_resources(found).tables.logs["body"].to_pylist()
    assert (body["type"], body["str"], body["int"]) == (2, None, 7)


@pytest.mark.parametrize(
    "fields",
    [span(9, b"short"), span(10, b"0123456789"), span(5, span(5, b"\x0a\x7f")), span(12, b"cut")[:-1]],
)
def test_what_cannot_be_stored_is_refused_with_its_bytes(fields: bytes) -> None:
    read = read_resources(_record(fields))
    assert len(read.tables.logs) == 0
    assert [bad.raw for bad in read.bad] == [fields]


def test_ids_of_zeros_are_none() -> None:
    found = _record(span(9, bytes(16)), span(10, b"12345678"))
    (row,) = read_resources(found).tables.logs.select(["trace_id", "span_id"]).to_pylist()
    assert row == {"trace_id": None, "span_id": b"12345678"}


def test_without_the_library_all_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = runs(proto_request(random_request(random.Random(7))))
    expected = said(read_resources(found).tables)
    monkeypatch.setattr(proto_arrow, "_handler", lambda: None)
    assert nested(found) is None
    assert said(read_resources(found).tables) == expected
