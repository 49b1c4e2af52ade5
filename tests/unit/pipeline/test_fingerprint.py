"""What is remembered of a file's bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.pipeline import fingerprint
from tailrace.pipeline.fingerprint import EDGE, LEAD, Trace, lead_in, lead_of, resembles, span_of, verified
from tailrace.pipeline.fingerprint import verified_stream as streamed

NUMBERS = b"".join(b"%07d\n" % n for n in range(400_000))


def reading(data: bytes) -> fingerprint.ReadAt:
    return lambda offset, size: data[offset : offset + size]


def traced(data: bytes, *cuts: int) -> Trace:
    trace = Trace()
    for start, end in zip((0, *sorted(cuts)), (*sorted(cuts), len(data)), strict=True):
        trace.feed(data[start:end])
    return trace


@given(st.lists(st.integers(0, 3_000_000), max_size=6), st.integers(0, 3_000_000), st.integers(0, 200_000))
def test_it_is_the_same_however_the_bytes_came(cuts: list[int], size: int, left: int) -> None:
    data = NUMBERS[:size]
    span = max(len(data) - left, 0)
    whole = traced(data, *(cut for cut in cuts if cut < size)).fingerprint(span)
    assert whole is not None
    assert span_of(whole) == span
    begun = Trace.begun(reading(data), span)
    assert begun is not None
    assert begun.fingerprint(span) == whole
    assert verified(reading(data), whole)
    assert streamed([data[:1000], data[1000:]], whole)
    begun.feed(NUMBERS[span : span + 500_000])
    more = min(span + 500_000, len(NUMBERS))
    assert begun.fingerprint(more) == traced(NUMBERS[:more]).fingerprint(more)


@given(st.integers(0, 2 * EDGE - 1))
def test_a_small_file_is_compared_byte_by_byte(place: int) -> None:
    data = bytearray(NUMBERS[: 2 * EDGE])
    before = traced(bytes(data)).fingerprint(len(data))
    data[place] ^= 1
    assert before
    assert not verified(reading(bytes(data)), before)


@given(st.integers(0, len(NUMBERS) - 9))
def test_what_moves_bytes_is_noticed(place: int) -> None:
    before = traced(NUMBERS).fingerprint(len(NUMBERS)) or ""
    assert not verified(reading(NUMBERS[:place] + NUMBERS[place + 8 :] + NUMBERS[:100]), before)
    assert not verified(reading(NUMBERS[:place] + b"x" + NUMBERS[place:]), before)


def test_a_file_that_is_shorter_or_an_offset_too_far_back() -> None:
    before = traced(NUMBERS).fingerprint(len(NUMBERS)) or ""
    assert not verified(reading(NUMBERS[:-1]), before)
    assert traced(NUMBERS, 1_000_000, 2_000_000).fingerprint(10) is None
    assert lead_in(before) == lead_of(NUMBERS[:LEAD])


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (lambda d: d, True),
        (lambda d: d.replace(b"0000001", b"xxxxxxx"), True),
        (lambda d: d[8 * 3 :], True),
        (lambda d: d + d, True),
        (lambda d: b"first\n" + d, True),
        (lambda d: bytes(d[:100].upper()), False),
        (lambda d: NUMBERS[80_000:160_000], False),
        (lambda d: b"#Fields: a b\n" + NUMBERS[80_000:160_000], False),
        (lambda d: b"", False),
    ],
)
def test_changed_or_another_file(changed, expected) -> None:  # type: ignore[no-untyped-def]
    data = b"#Fields: a b\n" + b"".join(b"a%07d\n" % n for n in range(5000))
    lines = traced(data).lines(len(data), b"")
    assert resembles(reading(changed(data)), lines, len(data)) is expected
