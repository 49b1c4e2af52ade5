"""Kept records decoded again: each as if it stood in its artifact, whatever stands beside it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core import (
    Common,
    Delimited,
    Format,
    Grok,
    Json,
    Jsonl,
    Layout,
    Otlp,
    Pairs,
    Regex,
    Syslog,
    Table,
    W3c,
    col,
)
from tailrace.formats import decoder
from tailrace.formats.again import again, framing, is_whole
from tailrace.formats.base import RAW_LIMIT, Batch, Dated
from tailrace.formats.feed import Once

TABLE = Table(name="t", doc="", format=Jsonl(), common=Common(time=()), columns=(col("a"), col("b", "bigint")))
MESSAGES = Table(
    name="s", doc="", format=Syslog(), common=Common(time=()), columns=(col("timestamp", "timestamp"), col("message"))
)
MOMENT = datetime(2023, 7, 1)
FORMATS: dict[str, tuple[Format, list[bytes]]] = {
    "jsonl": (Jsonl(), [b'{"a": "x", "b": 1}', b"{", b'{"b": "no"}', b" ", b'{"a": "\xff"}', b'{"a": 1}\r']),
    "logfmt": (Pairs(), [b"a=x b=1", b'a="x y', b"", b"b=7"]),
    "layout": (Layout("a b"), [b"x 1", b'"x y" 2', b"only", b"x 1 2 3"]),
    "regex": (Regex(r"^(?P<a>\w+) (?P<b>\d+)$"), [b"x 1", b"y", b"z 3"]),
    "grok": (Grok("%{WORD:a} %{INT:b}"), [b"x 1", b"", b"z 3"]),
    "several lines": (
        Regex(r"^(?P<a>\w+) (?P<b>\d+)(?P<c>.*)$", start=r"^\w+ \d"),
        [b"x 1\n  more", b"  no start", b"y 2"],
    ),
    "delimited": (Delimited(fields=("a", "b")), [b"a,b", b"x,1", b'"x\r\ny",2', b'"open,3', b"1,2,3"]),
    "json": (Json("r"), [b'{"a": "x", "b": 1}', b'{"a": oops}', b"17", b'{"b": 2}', b'"text"']),
}
Told = dict[int, tuple[Any, bytes]]


def told(batches: Iterator[Batch], shift: int = 0) -> Told:
    """By position: the row, or why there is none."""
    found: Told = {}
    for batch in batches:
        columns = {name: array.to_pylist() for name, array in batch.columns.items()}
        for row, position in enumerate(batch.positions.tolist()):
            assert position + shift not in found
            found[position + shift] = {n: v[row] for n, v in columns.items() if v[row] is not None}, batch.raw(row)
        for bad in batch.bad:
            assert bad.position + shift not in found
            found[bad.position + shift] = (bad.reason, bad.raw)
    return found


@pytest.mark.parametrize("kind", FORMATS)
@given(data=st.data())
def test_together_they_are_what_each_is_alone(kind: str, data: st.DataObject) -> None:
    fmt, samples = FORMATS[kind]
    raws = data.draw(st.lists(st.sampled_from(samples), max_size=12))
    gaps = data.draw(st.lists(st.integers(1, 2**33), min_size=len(raws), max_size=len(raws)))
    # Never the first of its artifact: there a header may stand.
    positions = np.cumsum(np.array([len(raw) + gap for raw, gap in zip(raws, gaps, strict=True)], np.int64))
    found = told(again(TABLE, fmt).decode(raws, positions, None))
    engine = decoder(TABLE, fmt if kind != "delimited" else Delimited(fields=("a", "b"), header=False))
    expected: Told = {}
    for raw, position in zip(raws, positions.tolist(), strict=True):
        alone = b"[" + raw + b"]" if kind == "json" else raw + b"\r\n"
        expected |= told(engine.decode(Once(alone)), position)
    assert found == expected


def test_a_header_is_one_only_where_the_artifact_begins() -> None:
    engine = again(TABLE, Delimited(fields=("a", "b")))
    raws = [b"a,b", b"a,b", b"x,1"]
    found = told(engine.decode(raws, np.array([0, 4, 8]), None))
    assert list(found) == [4, 8]


def test_years_are_those_of_the_artifact() -> None:
    raw = b"Nov  3 10:00:00 host app: hello"
    found = told(again(MESSAGES, Syslog()).decode([raw], np.array([70]), MOMENT))
    assert found == told(decoder(MESSAGES, Syslog()).decode(Dated(Once(raw), MOMENT)), 70)
    ((row, _),) = found.values()
    assert row["timestamp"] == datetime(2022, 11, 3, 10)


def test_formats_whose_records_need_the_rest_have_no_framing() -> None:
    for fmt in (
        Delimited(),
        Delimited(fields=("a",), header=True),
        W3c(),
        Otlp(),
        Jsonl(unwrap=("d",)),
        Layout("a", "vpc"),
    ):
        assert framing(fmt) is None
    assert framing(Jsonl()) == framing(Pairs()) == framing(Grok("%{WORD:a}"))
    assert len({framing(f) for f in (Jsonl(), Json(), Json("Records"), Syslog(), Regex("a", start="b"))}) == 5


def test_what_is_known_to_be_a_part_is_not_whole() -> None:
    assert is_whole(RAW_LIMIT, "layout: no match")
    assert not is_whole(RAW_LIMIT + 1, "layout: no match")
    assert not is_whole(3, "line: truncated")
    assert not is_whole(3, "artifact: gone")
