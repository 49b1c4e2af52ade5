"""Malformed, hostile and huge JSON: everything whole is kept, the rest is quarantined, nothing vanishes."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.core import Common, Json, Jsonl, Table, col, struct
from tailrace.formats import json_cut, json_decode
from tailrace.formats.base import Batch
from tailrace.formats.json_decode import json_decoder
from tailrace.formats.json_scan import Nesting

TABLE = Table(
    "t",
    "",
    Json(),
    (
        col("name"),
        col("n", "integer"),
        col("more", "json"),
        col("who", struct(col("id"), col("list", "varchar[]"))),
    ),
    Common(time=()),
)


class Blocks:
    truncated = False

    def __init__(self, *blocks: bytes) -> None:
        self._blocks = blocks

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._blocks)


def decode(data: bytes, fmt: Json | Jsonl | None = None, *blocks: bytes) -> list[Batch]:
    batches = []
    for batch in json_decoder(TABLE, fmt or Json(records="Records")).decode(Blocks(*(blocks or (data,)))):
        for array in batch.columns.values():
            array.validate(full=True)
            assert len(array) == batch.rows
        [batch.raw(row) for row in range(batch.rows)]
        batches.append(batch)
    return batches


def names(batches: list[Batch]) -> list[Any]:
    return [name for batch in batches for name in batch.columns["name"].to_pylist()]


def told(batches: list[Batch]) -> list[Any]:
    """Everything about a result that a person could see."""
    out: list[Any] = []
    for b in batches:
        extra = b.extra.to_pylist() if b.extra is not None else [None] * b.rows
        columns = zip(*(a.to_pylist() for a in b.columns.values()), strict=True)
        out += zip(b.positions.tolist(), columns, extra, (b.raw(row) for row in range(b.rows)), strict=True)
        out += [(bad.position, bad.reason, bad.length, bad.raw) for bad in b.bad]
    return sorted(out, key=lambda entry: entry[0])


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
        (b'{"name":"a","more":' + b"[" * 5000 + b"]" * 5000 + b"}", "json: invalid"),
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


def mutated(data: bytes, changes: list[tuple[float, str, int]]) -> bytes:
    for where, how, byte in changes:
        at = int(where * len(data))
        keep = at if how == "insert" else at + 1
        data = data[:at] + (b"" if how == "delete" else bytes([byte])) + data[keep:]
    return data


changes = st.lists(
    st.tuples(
        st.floats(0, 0.999),
        st.sampled_from(["insert", "delete", "replace"]),
        st.sampled_from(list(b'"\\{}[],:\n\x00\xffa1 ')) | st.integers(0, 255),
    ),
    max_size=4,
)
forms = st.sampled_from(["records", "array", "pretty", "lines"])


def document(form: str, count: int, shuffle: int) -> bytes:
    picked = random.Random(shuffle)
    records = []
    for i in range(count):
        more = picked.choice([None, 1.5, 'q"},{"name":"no', {"list": [{"name": "in"}, {"a": "\\"}]}, "é" * 9])
        record = {"name": f"<{i:03}>", "n": i, "more": more, "who": {"id": "x", "list": ["y"]}}
        records.append(dict(picked.sample(list(record.items()), 4)) if picked.random() < 0.2 else record)
    if form == "records":
        return json.dumps({"v": 1, "Records": records, "next": None}, ensure_ascii=False).encode()
    if form == "lines":
        return "\n".join(json.dumps(r) for r in records).encode()
    return json.dumps(records, indent=2 if form == "pretty" else None).encode()


def small_windows() -> Any:
    return patch.multiple(json_cut, WINDOW_BYTES=600, MAX_RECORD_BYTES=1500, DENSE=6)


@settings(deadline=None, max_examples=150)
@given(forms, st.integers(0, 25), st.integers(0, 99), changes, st.booleans())
def test_no_record_vanishes(form: str, count: int, shuffle: int, edits: list[Any], small: bool) -> None:
    data = mutated(document(form, count, shuffle), edits)
    with small_windows(), patch.object(json_decode, "WHOLE_BYTES", 0 if small else 1 << 20):
        batches = decode(data)
    entries = told(batches)
    assert [entry[0] for entry in entries] == list(range(len(entries)))
    raws = b"".join(entry[3] for entry in entries)
    held = all(bad.length == len(bad.raw) for batch in batches for bad in batch.bad)
    for i in range(count if held else 0):
        marker = b"<%03d>" % i
        assert (marker in data) <= (marker in raws)
    if not edits:
        assert sorted(names(batches)) == [f"<{i:03}>" for i in range(count)]


@settings(deadline=None, max_examples=100)
@given(
    forms,
    st.integers(0, 25),
    st.integers(0, 99),
    changes,
    st.lists(st.integers(1, 400), max_size=30),
    st.booleans(),
)
def test_blocks_do_not_matter(
    form: str, count: int, shuffle: int, edits: list[Any], sizes: list[int], as_lines: bool
) -> None:
    data = mutated(document(form, count, shuffle), edits)
    fmt = Jsonl() if as_lines else Json(records="Records")
    blocks, at = [], 0
    for size in sizes:
        blocks.append(data[at : at + size])
        at += size
    with small_windows(), patch.object(json_decode, "WHOLE_BYTES", 900):
        assert told(decode(data, fmt, *blocks, data[at:])) == told(decode(data, fmt))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 25), st.integers(0, 99), changes)
def test_every_line_is_counted(count: int, shuffle: int, edits: list[Any]) -> None:
    data = mutated(document("lines", count, shuffle), edits)
    batches = decode(data, Jsonl())
    lines = data.split(b"\n")
    lines = lines if lines[-1] else lines[:-1]
    assert sum(b.rows + len(b.bad) + b.skipped for b in batches) == len(lines)


@given(st.binary(max_size=300), st.booleans())
@settings(deadline=None, max_examples=100)
def test_any_bytes(data: bytes, as_lines: bool) -> None:
    entries = told(decode(data, Jsonl() if as_lines else Json()))
    assert as_lines or [entry[0] for entry in entries] == list(range(len(entries)))


@given(st.text('{}[]"\\a,', max_size=60), st.lists(st.integers(1, 7)))
def test_nesting_is_followed_across_blocks(text: str, sizes: list[int]) -> None:
    def expected() -> int | None:
        depth, quoted, escaped = 0, False, False
        for at, sign in enumerate(text):
            if escaped and sign in '"\\':
                escaped = False
                continue
            escaped = False
            if sign == "\\":
                escaped = True
            elif sign == '"':
                quoted = not quoted
            elif not quoted and sign in "{}[]":
                depth += 1 if sign in "{[" else -1
                if depth <= 0:
                    return at + 1
        return None

    nesting, at, found = Nesting(), 0, None
    for size in [*sizes, len(text) + 1]:
        end = nesting.end(text[at : at + size].encode())
        if end is not None:
            found = at + end
            break
        at += size
    assert found == expected()


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
