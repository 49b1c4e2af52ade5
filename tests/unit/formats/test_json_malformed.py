"""Malformed, hostile and huge JSON: everything whole is kept, the rest is quarantined, nothing vanishes."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from jsonblocks import TABLE, decode, names, told

from tailrace.core import Json, Jsonl
from tailrace.formats import json_cut, json_decode
from tailrace.formats.json_decode import json_decoder

GOOD = b'{"name":"good","n":1}'


@pytest.mark.parametrize(
    ("record", "name", "more"),
    [
        (b'{"name":"a","more":[1,NaN,-Infinity]}', "a", "[1, null, null]"),
        (rb'{"name":"a\ud800b"}', "a\ufffdb", None),
        (rb'{"name":"a","more":"\udfff"}', "a", '"\ufffd"'),
        (b'{"name":"a\x01\tb"}', "a\x01\tb", None),
        (b'{"name":"a\x00b"}', "a\x00b", None),
        (b'{"name":"a\xff"}', "a\ufffd", None),
        (b'{"name":"a","more":"\xff"}', "a", '"\ufffd"'),
        (b'{"name":"a","\xff":1}', "a", None),
        (b'{"name":"a","n":1e999}', "a", None),
    ],
)
@pytest.mark.parametrize("form", [b'{"Records":[%b,%b,%b]}', b"[%b,%b,%b]", b"%b\n%b\n%b"])
def test_records_that_are_nearly_json(record: bytes, name: str, more: str | None, form: bytes) -> None:
    for fmt in (Json(records="Records"), Jsonl()):
        if isinstance(fmt, Jsonl) and form[:1] != b"%":
            continue
        batches = decode(form % (GOOD, record, GOOD), fmt)
        assert names(batches) == ["good", name, "good"]
        _, (_, columns, kept, raw), _ = told(batches)
        assert (columns[2], raw) == (more, record)
        assert "tp_misfit" in json.loads(kept)
        assert sum(b.flagged for b in batches) == 1


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"12", "json: not an object"),
        (b'"text"', "json: not an object"),
        (b"null", "json: not an object"),
        (b'[{"name":"x"}]', "json: not an object"),
        (b'{"name":"x" "n":1}', "json: invalid"),
        (b'{"name":x}', "json: invalid"),
        (b'{"more":[{"name":"in"},{"name":"in"} {}]}', "json: invalid"),
        (b'{"name":"a","more":' + b"[" * 5000 + b"]" * 5000 + b"}", "json: nested too deep"),
        (b'{"name":\x00}', "json: invalid"),
    ],
)
@pytest.mark.parametrize("form", [b'{"Records":[%b,%b,%b]}', b"[%b,\n%b,\n%b]", b"%b\n%b\n%b"])
def test_records_that_are_none(record: bytes, reason: str, form: bytes) -> None:
    batches = decode(form % (GOOD, record, GOOD))
    assert names(batches) == ["good", "good"]
    (bad,) = (bad for batch in batches for bad in batch.bad)
    assert (bad.position, bad.raw.rstrip(b",\n"), bad.reason) == (1, record, reason)


@pytest.mark.parametrize(
    ("data", "kept", "bad"),
    [
        (b'{"Records":[' + GOOD + b"," + GOOD, 2, 0),
        (b'{"Records":[' + GOOD + b"," + GOOD[:-1], 1, 1),
        (b'{"Records":[' + GOOD + b"]} trailing", 1, 1),
        (b'{"Records":[' + GOOD + b"]}]}", 1, 1),
        (b'{"Records":[' + GOOD + b"]" + GOOD + b"]}", 2, 0),
        (b"[" + GOOD + GOOD + b"]", 2, 0),
        (GOOD + b"," + GOOD, 2, 0),
        (b"[" + GOOD + b",]", 1, 0),
        (b"garbage\n" + GOOD, 1, 1),
        (b"\x00" * 100 + b"\n" + GOOD, 1, 1),
        (b"not json at all", 0, 1),
        (b'{"other":[1]}', 0, 1),
        (b'{"Records":"none"}', 0, 1),
        (b'{"Records', 0, 1),
        (b"{", 0, 1),
        (b"[", 0, 0),
    ],
)
def test_broken_documents(data: bytes, kept: int, bad: int) -> None:
    batches = decode(data)
    assert names(batches) == ["good"] * kept
    assert sum(len(b.bad) for b in batches) == bad


class Generated:
    """A document that never exists as a whole."""

    truncated = False

    def __init__(self, head: bytes, body: bytes, times: int, tail: bytes) -> None:
        self._parts = (head, body, times, tail)

    def __iter__(self) -> Iterator[bytes]:
        head, body, times, tail = self._parts
        yield head
        for _ in range(times):
            yield body
        yield tail


def peak(stream: Generated, fmt: Json) -> tuple[list[tuple[int, int, int]], list[Any], int]:
    counts, bad = [], []
    tracemalloc.start()
    for batch in json_decoder(TABLE, fmt).decode(stream):
        counts.append((batch.rows, len(batch.bad), batch.flagged))
        bad += batch.bad
    top = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return counts, bad, top


@pytest.mark.parametrize("filler", [b"x" * (1 << 20), b'"},{"' * (1 << 17)])
def test_a_record_of_forty_megabytes_is_not_held(filler: bytes) -> None:
    head = b'{"Records":[' + GOOD + b',{"name":"' + (b"" if filler[:1] == b"x" else b'","more":[{"')
    tail = (b'"}' if filler[:1] == b"x" else b'":1}]}') + b"," + GOOD + b"]}"
    filler = filler if filler[:1] == b"x" else b'k":1},{"' * (1 << 17)
    counts, (bad,), top = peak(Generated(head, filler, 40, tail), Json(records="Records"))
    assert sum(rows for rows, _, _ in counts) == 2
    assert (bad.position, bad.reason) == (1, f"json: longer than {json_cut.MAX_RECORD_BYTES} bytes")
    assert bad.length > 40 << 20
    assert len(bad.raw) == 1 << 16
    assert top < 64 << 20


def test_memory_is_bounded_whatever_the_size() -> None:
    record = b'{"name":"x","n":1,"more":{"text":"' + b"t" * 400 + b'"}}'
    body = (record + b",") * 2_000
    counts, _, top = peak(Generated(b'{"Records":[', body, 20, record + b"]}"), Json(records="Records"))
    assert sum(rows for rows, _, _ in counts) == 40_001
    assert top < 32 << 20


@pytest.mark.parametrize("record", [b"{}", b"1"])
def test_tiny_records_come_in_many_batches(record: bytes) -> None:
    with patch.multiple(json_decode, WHOLE_BYTES=1 << 10, _COMMAS=10_000):
        batches = decode(b'{"Records":[' + (record + b",") * 50_000 + record + b"]}")
    assert sum(b.rows + len(b.bad) for b in batches) == 50_001
    assert max(b.rows + len(b.bad) for b in batches) <= 20_000
