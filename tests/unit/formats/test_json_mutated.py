"""Mutated JSON: whatever happens to a document, no record vanishes."""

from __future__ import annotations

import json
import random
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonblocks import decode, names, told

from tailrace.core import Json, Jsonl
from tailrace.formats import json_cut, json_decode
from tailrace.formats.json_scan import Nesting


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
