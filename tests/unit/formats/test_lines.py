from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from layoutread import Chunks

from tailrace.formats.base import RAW_LIMIT, Bad
from tailrace.formats.lines import LineBlock, cut_lines

Lines = list[tuple[int, bytes, bytes]]


def gather(blocks: Iterator[LineBlock]) -> tuple[Lines, list[Bad]]:
    """(position, raw, text) of every line, and all bad ones."""
    lines: Lines = []
    bad: list[Bad] = []
    for block in blocks:
        block.buffer.decode()
        for i in range(len(block)):
            text = block.buffer[block.starts[i] : block.ends[i]]
            lines.append((int(block.positions[i]), block.raw(i), text))
        bad += block.bad
    return lines, bad


def slices(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(c % (len(data) + 1) for c in cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


def test_line_ends() -> None:
    lines, bad = gather(cut_lines(Chunks([b"a\r\nb\n\nc\rd\r\r\n\0\ne"])))
    assert [raw for _, raw, _ in lines] == [b"a", b"b", b"", b"c\rd\r", b"\0", b"e"]
    assert [position for position, _, _ in lines] == [0, 3, 5, 6, 12, 14]
    assert bad == []


def test_empty_streams() -> None:
    assert list(cut_lines(Chunks([]))) == []
    assert list(cut_lines(Chunks([b"", b""]))) == []


def test_truncated_stream_refuses_only_the_unfinished_line() -> None:
    lines, bad = gather(cut_lines(Chunks([b"a\nbc"], truncated=True)))
    assert [raw for _, raw, _ in lines] == [b"a"]
    assert bad == [Bad(2, b"bc", 2, "line: truncated")]
    assert gather(cut_lines(Chunks([b"a\n"], truncated=True)))[1] == []


def test_long_line_is_not_held() -> None:
    huge = [b"x" * 1_000_000] * 20
    lines, bad = gather(cut_lines(Chunks([b"a\n", *huge, b"\nb\n"])))
    assert lines == [(0, b"a", b"a"), (20_000_003, b"b", b"b")]
    assert bad == [Bad(2, b"x" * RAW_LIMIT, 20_000_000, "line: longer than 16777216 bytes")]


def test_invalid_utf8_is_replaced_and_the_bytes_stay_known() -> None:
    data = "é\n".encode() + b"\xe9t\xe9 \xff\n" + b"ok\n"
    lines, _ = gather(cut_lines(Chunks([data])))
    assert lines == [
        (0, "é".encode(), "é".encode()),
        (3, b"\xe9t\xe9 \xff", "\ufffdt\ufffd \ufffd".encode()),
        (9, b"ok", b"ok"),
    ]
    (block,) = cut_lines(Chunks([data]))
    assert block.originals == {1: b"\xe9t\xe9 \xff"}


def reference(data: bytes, limit: int, truncated: bool) -> tuple[list[tuple[int, bytes]], list[tuple[int, int]]]:
    lines, bad, position = [], [], 0
    parts = data.split(b"\n")
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        line = part[:-1] if part.endswith(b"\r") and not last else part
        if last and not part:
            break
        if len(line) > limit or (last and truncated):
            bad.append((position, len(line)))
        else:
            lines.append((position, line))
        position += len(part) + 1
    return lines, bad


@given(
    st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"bc" * 5, "é".encode(), b"\xff", b"\0"])).map(b"".join),
    st.lists(st.integers(0, 400), max_size=8),
    st.integers(1, 12),
    st.integers(1, 30),
    st.booleans(),
)
def test_any_chunking_gives_the_same_lines(
    data: bytes, cuts: list[int], limit: int, block: int, truncated: bool
) -> None:
    lines, bad = gather(cut_lines(Chunks(slices(data, cuts), truncated), limit, block))
    want_lines, want_bad = reference(data, limit, truncated)
    assert [(p, raw) for p, raw, _ in lines] == want_lines
    assert all(text == raw.decode(errors="replace").encode() for _, raw, text in lines)
    assert sorted((b.position, b.length) for b in bad) == want_bad
