"""Records of several lines: a pattern says where each begins."""

from __future__ import annotations

import re
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from layoutread import Chunks

from tailrace.core import Common, ConfigError, Format, Grok, Regex, Table, col
from tailrace.formats import decoder, field_names
from tailrace.formats import multiline as module
from tailrace.formats.base import Bad
from tailrace.formats.line_texts import texts_of
from tailrace.formats.lines import cut_lines
from tailrace.formats.multiline import Starts, records


def read(format: Format, *chunks: bytes, truncated: bool = False) -> tuple[list[dict[str, Any]], list[Bad], int]:
    names = field_names(format) or ()
    table = Table("t", "", format, tuple(col(name) for name in names), Common(time=()))
    rows: list[tuple[int, dict[str, Any]]] = []
    bad: list[Bad] = []
    skipped = 0
    for batch in decoder(table, format).decode(Chunks(chunks, truncated)):
        for row in range(batch.rows):
            values = {n: batch.columns[n][row].as_py() for n in names if n in batch.columns}
            rows.append((int(batch.positions[row]), {n: v for n, v in values.items() if v is not None}))
        bad += batch.bad
        skipped += batch.skipped
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])], sorted(bad, key=lambda b: b.position), skipped


TRACES = Regex(r"^(?<at>\d+) (?<message>.*)$", start=r"^\d")


def test_stack_traces_belong_to_the_line_before() -> None:
    data = b"1 boom\n  at a\n\n  at b\n2 fine\r\n3 last\r\n  of all\r\n\n"
    rows, bad, _ = read(TRACES, data)
    assert rows == [
        {"at": "1", "message": "boom\n  at a\n\n  at b"},
        {"at": "2", "message": "fine"},
        {"at": "3", "message": "last\r\n  of all"},
    ]
    assert not bad


def test_lines_before_the_first_record_stand_alone() -> None:
    rows, bad, skipped = read(TRACES, b"lost\n\nalso lost\n1 x\n y\n")
    assert rows == [{"at": "1", "message": "x\n y"}]
    assert [(b.position, b.raw, b.reason) for b in bad] == [
        (0, b"lost", "regex: no match"), (6, b"also lost", "regex: no match")
    ]  # fmt: skip
    assert skipped == 1


def test_grok_and_further_expressions() -> None:
    grok = Grok("^%{INT:at} %{GREEDYDATA:message}$", start=r"^\d")
    assert read(grok, b"1 a\n b\n")[0] == [{"at": "1", "message": "a\n b"}]
    several = Regex(r"^(?<at>\d+) (?<message>.*)$", also=(r"^#(?<note>.*)$", r"^(?<odd>!+)$"))
    rows, bad, _ = read(several, b"#n\n1 a\n!!\n?\n")
    assert rows == [{"note": "n"}, {"at": "1", "message": "a"}, {"odd": "!!"}]
    assert [b.raw for b in bad] == [b"?"]


def test_backtracking_expressions_see_whole_records() -> None:
    rows, _, _ = read(Regex(r"^(?<at>\d+) (?<message>.*)(?<!x)$", start=r"^\d"), b"1 a\n b\n2 x\n")
    assert rows == [{"at": "1", "message": "a\n b"}]


@pytest.mark.parametrize("start", ["(", r"(?<=a)b", r"(a)\1"])
def test_a_start_that_cannot_be_used_is_refused(start: str) -> None:
    with pytest.raises(ConfigError, match="record"):
        read(Regex(r"(?<a>.)", start=start), b"")


def test_a_record_that_never_ends_falls_into_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RECORD_BYTES", 20)
    rows, bad, _ = read(TRACES, b"1 a\n" + b" more\n" * 10 + b"2 b\n c\n")
    assert rows == [{"at": "1", "message": "a"}, {"at": "2", "message": "b\n c"}]
    assert [b.raw for b in bad] == [b" more"] * 10


lines = st.lists(st.text("ab1 é", max_size=6), max_size=3)


@given(st.lists(st.tuples(st.integers(0, 99), lines), min_size=1, max_size=8), st.integers(1, 9))
def test_what_is_written_is_read_back(written: list[tuple[int, list[str]]], size: int) -> None:
    texts = ["\n".join([f">{number} x", *(f" {line}|" for line in more)]) for number, more in written]
    data = "".join(f"{text}\n" for text in texts).encode()
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    with patch.object(module, "cut_lines", partial(cut_lines, block_bytes=size)):
        blocks = list(records(Chunks(chunks), Starts("^>")))
    assert [text for block in blocks for text in texts_of(block).to_pylist()] == texts
    positions = [int(p) for block in blocks for p in block.positions]
    assert [data[p:].decode().startswith(t) for p, t in zip(positions, texts, strict=True)] == [True] * len(texts)


@given(st.lists(st.binary(max_size=40), max_size=5), st.booleans())
def test_any_bytes_are_stored_or_refused(chunks: list[bytes], truncated: bool) -> None:
    rows, bad, _ = read(TRACES, *chunks, truncated=truncated)
    # A \r that no \n follows is a character like any other, also at the very end.
    filled = [line for line in re.split(rb"\r?\n", b"".join(chunks)) if line.strip(b" \t")]
    assert len(rows) + len(bad) <= len(filled)
    assert bool(rows or bad) == bool(filled)
