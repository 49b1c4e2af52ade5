"""What every format promises: nothing is lost, and nothing depends on how the bytes arrive."""

from __future__ import annotations

import io
import pickle
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailrace.formats import decoder, field_names
from tailrace.formats.base import Batch
from tailrace.formats.stream import open_streams
from tailrace.testing import decoding, subjects
from tailrace.testing.decoding import Chunks, bad_of, pieces, total
from tailrace.testing.samples import COLUMNS, FormatSample

WORD = st.text("abcé\0\x0b\x7f😀", min_size=1, max_size=5)
JUNK = st.text('ab1= #{}[]:\\\t\0é"', max_size=12)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    found = subjects.samples()
    lines = {name: sample for name, sample in found.items() if sample.lines}
    subjects.run_over(metafunc, sample=found, line_sample=lines)


def decoded(sample: FormatSample, *chunks: bytes, truncated: bool = False) -> list[Batch]:
    return decoding.decoded(decoder(sample.table(), sample.format), COLUMNS, chunks, truncated)


def rows_of(batches: list[Batch]) -> list[tuple[Any, ...]]:
    return decoding.rows_of(batches, COLUMNS)


def test_good_records_come_out_whole(sample: FormatSample) -> None:
    records = [sample.text(f"r{i}", i, f"note {i}") for i in range(300)]
    rows = rows_of(decoded(sample, sample.written(records)))
    assert [row[1:] for row in rows] == [(f"r{i}", i, f"note {i}", None) for i in range(300)]


def test_empty_input(sample: FormatSample) -> None:
    assert total(decoded(sample)) == total(decoded(sample, b"")) == 0
    assert total(decoded(sample, sample.written([]))) == 0


def test_misfits_are_null_and_flagged(sample: FormatSample) -> None:
    records = [sample.text("a", 1, "x"), sample.text("b", sample.misfit, "y")]
    batches = decoded(sample, sample.written(records))
    assert [row[2] for row in rows_of(batches)] == [1, None]
    assert sum(batch.flagged for batch in batches) == 1


def test_one_byte_at_a_time(sample: FormatSample) -> None:
    data = sample.written([*(sample.text(f"r{i}", i, "é x") for i in range(20)), sample.broken])
    whole, single = decoded(sample, data), decoded(sample, *pieces(data, range(1, len(data))))
    assert rows_of(whole) == rows_of(single)
    assert bad_of(whole) == bad_of(single)
    assert total(whole) == total(single) == 21


@st.composite
def streams(draw: st.DrawFn, sample: FormatSample) -> tuple[bytes, int]:
    """Lines good and bad with any line end, and how many they are."""
    without = str.maketrans(dict.fromkeys(sample.never))
    safe = WORD.map(lambda word: word.translate(without) or "a")
    good = st.builds(sample.text, safe, st.integers(-5, 99), safe)
    lines = draw(st.lists(st.one_of(good, good, JUNK.map(lambda text: text.translate(without))), max_size=12))
    ends = draw(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=len(lines), max_size=len(lines)))
    if lines and lines[-1] and draw(st.booleans()):
        ends[-1] = ""
    return "".join(a + b for a, b in zip(lines, ends, strict=True)).encode(), len(lines)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_line_is_a_row_or_bad_or_skipped_however_it_arrives(
    line_sample: FormatSample, data: st.DataObject
) -> None:
    text, lines = data.draw(streams(line_sample))
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    whole, parts = decoded(line_sample, text), decoded(line_sample, *pieces(text, cuts))
    assert total(whole) == lines
    assert rows_of(whole) == rows_of(parts)
    assert bad_of(whole) == bad_of(parts)


def test_positions_and_raw_are_the_lines_own(line_sample: FormatSample) -> None:
    records = [line_sample.text(f"r{i}", i, "x") if i % 3 else "?" * i for i in range(1, 30)]
    data = line_sample.written(records).replace(b"\n", b"\r\n")
    for batch in decoder(line_sample.table(), line_sample.format).decode(Chunks([data])):
        for row, position in enumerate(batch.positions.tolist()):
            line = data[position : data.index(b"\r\n", position)]
            assert batch.raw(row) == line
        for bad in batch.bad:
            assert data[bad.position : data.index(b"\r\n", bad.position)] == bad.raw


def test_bom_is_no_part_of_the_first_line(line_sample: FormatSample) -> None:
    data = line_sample.written([line_sample.text("first", 1, "x"), line_sample.text("second", 2, "y")])
    (_, stream) = next(open_streams(io.BytesIO(b"\xef\xbb\xbf" + data), "x.log"))
    rows = rows_of(list(decoder(line_sample.table(), line_sample.format).decode(stream)))
    assert [row[1] for row in rows] == ["first", "second"]


def test_invalid_utf8_is_kept_and_flagged(sample: FormatSample) -> None:
    data = sample.written([sample.text("a", 1, "fine"), sample.text("b", 2, "<bytes>"), sample.text("c", 3, "fine")])
    batches = decoded(sample, data.replace(b"<bytes>", b"\xff\xfe"))
    assert [row[1:4] for row in rows_of(batches)] == [
        ("a", 1, "fine"), ("b", 2, "\ufffd\ufffd"), ("c", 3, "fine")
    ]  # fmt: skip
    assert sum(batch.flagged for batch in batches) == 1


def test_a_truncated_stream_keeps_whole_lines(line_sample: FormatSample) -> None:
    data = line_sample.written([line_sample.text("a", 1, "x"), line_sample.text("b", 2, "y")])
    batches = decoded(line_sample, data[:-4], truncated=True)
    assert [row[1] for row in rows_of(batches)] == ["a"]
    assert [b[3] for b in bad_of(batches)] == ["line: truncated"]


def test_a_decoder_serves_many_streams(sample: FormatSample) -> None:
    reused = decoder(sample.table(), sample.format)
    data = sample.written([sample.text("a", 1, "x")])
    first, second = (rows_of(list(reused.decode(Chunks([data])))) for _ in range(2))
    assert first == second


def test_field_names_are_known_where_the_format_says_them(sample: FormatSample) -> None:
    assert field_names(sample.format) == (("name", "n", "note") if sample.names_fields else None)


def test_a_format_travels_to_the_tasks(sample: FormatSample) -> None:
    assert pickle.loads(pickle.dumps(sample.format)) == sample.format


def test_every_format_of_a_package_has_a_sample() -> None:
    assert not subjects.without_sample(), "FORMATS of a module named under `tailrace.testing` lacks these"
