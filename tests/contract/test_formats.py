"""What every engine promises: nothing is lost, and nothing depends on how the bytes arrive."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.core import Common, Delimited, Format, Grok, Json, Jsonl, Layout, Regex, Table, col
from tailrace.core.arrow import arrow_type
from tailrace.formats import decoder, field_names
from tailrace.formats.base import RAW_LIMIT, Batch
from tailrace.formats.stream import open_streams

COLUMNS = (col("name"), col("n", "bigint"), col("note"))


@dataclass(frozen=True)
class Case:
    """A format, and how a record of it is written."""

    format: Format
    record: str
    lines: bool = True

    def table(self) -> Table:
        return Table("t", "", self.format, COLUMNS, Common(time=()))

    def text(self, name: str, n: object, note: str) -> str:
        return self.record.replace("<name>", name).replace("<n>", str(n)).replace("<note>", note)


CASES = {
    "jsonl": Case(Jsonl(), '{"name":"<name>","n":<n>,"note":"<note>"}'),
    "delimited": Case(Delimited(header=False, fields=("name", "n", "note")), "<name>,<n>,<note>"),
    "layout": Case(Layout('name n "note"'), '<name> <n> "<note>"'),
    "grok": Case(Grok('%{WORD:name} %{NOTSPACE:n} "%{DATA:note}"'), '<name> <n> "<note>"'),
    "regex": Case(Regex(r"^(?<name>\w+)=(?<n>[^ ]*) (?<note>.*)$"), "<name>=<n> <note>"),
    "lookaround": Case(Regex(r"^(?!#)(?<name>\w+)=(?<n>[^ ]*) (?<note>.*)$"), "<name>=<n> <note>"),
    "json": Case(Json(), '{"name":"<name>","n":<n>,"note":"<note>"}', lines=False),
    "records": Case(Json("Records"), '{"name":"<name>","n":<n>,"note":"<note>"}', lines=False),
}
every_format = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
line_formats = pytest.mark.parametrize(
    "case", [c for c in CASES.values() if c.lines], ids=[name for name, c in CASES.items() if c.lines]
)


@dataclass
class Chunks:
    chunks: Sequence[bytes]
    truncated: bool = False

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.chunks)


def document(case: Case, records: list[str]) -> bytes:
    if case.lines:
        return "".join(f"{record}\n" for record in records).encode()
    array = f"[{','.join(records)}]"
    return (array if case.format == Json() else f'{{"Records":{array}}}').encode()


def decoded(case: Case, *chunks: bytes, truncated: bool = False) -> list[Batch]:
    batches = []
    for batch in decoder(case.table(), case.format).decode(Chunks(chunks, truncated)):
        check(batch)
        batches.append(batch)
    places = [p for b in batches for p in (*b.positions.tolist(), *(bad.position for bad in b.bad))]
    assert len(places) == len(set(places)), "two records at one place"
    return batches


def check(batch: Batch) -> None:
    positions = batch.positions.tolist()
    assert positions == sorted(set(positions)), "positions must increase"
    for column in COLUMNS:
        array = batch.columns.get(column.name)
        if array is not None:
            assert len(array) == batch.rows
            assert array.type == arrow_type(column.type)
            array.validate(full=True)
    flagged = 0
    if batch.extra is not None:
        assert len(batch.extra) == batch.rows
        flagged = sum('"tp_misfit"' in (text or "") for text in batch.extra.to_pylist())
    assert batch.flagged == flagged
    for bad in batch.bad:
        assert len(bad.raw) <= min(RAW_LIMIT, bad.length)
        assert ":" in bad.reason
    for row in range(batch.rows):
        assert isinstance(batch.raw(row), bytes)


def rows_of(batches: list[Batch]) -> list[tuple[Any, ...]]:
    rows = []
    for batch in batches:
        columns = [batch.columns[c.name].to_pylist() for c in COLUMNS if c.name in batch.columns]
        extra = batch.extra.to_pylist() if batch.extra is not None else [None] * batch.rows
        rows += list(zip(batch.positions.tolist(), *columns, extra, strict=True))
    return sorted(rows)


def bad_of(batches: list[Batch]) -> list[tuple[int, bytes, int, str]]:
    return sorted((b.position, b.raw, b.length, b.reason) for batch in batches for b in batch.bad)


def total(batches: list[Batch]) -> int:
    return sum(batch.rows + len(batch.bad) + batch.skipped for batch in batches)


@every_format
def test_good_records_come_out_whole(case: Case) -> None:
    records = [case.text(f"r{i}", i, f"note {i}") for i in range(300)]
    rows = rows_of(decoded(case, document(case, records)))
    assert [row[1:] for row in rows] == [(f"r{i}", i, f"note {i}", None) for i in range(300)]


@every_format
def test_empty_input(case: Case) -> None:
    assert total(decoded(case)) == total(decoded(case, b"")) == 0
    assert total(decoded(case, document(case, []))) == 0


@every_format
def test_misfits_are_null_and_flagged(case: Case) -> None:
    quote = '"' if isinstance(case.format, Json | Jsonl) else ""
    records = [case.text("a", 1, "x"), case.text("b", f"{quote}many{quote}", "y")]
    batches = decoded(case, document(case, records))
    assert [row[2] for row in rows_of(batches)] == [1, None]
    assert sum(batch.flagged for batch in batches) == 1


@every_format
def test_one_byte_at_a_time(case: Case) -> None:
    records = [case.text(f"r{i}", i, "é x") for i in range(20)] + ["broken" if case.lines else "7"]
    data = document(case, records)
    whole, single = decoded(case, data), decoded(case, *(data[i : i + 1] for i in range(len(data))))
    assert rows_of(whole) == rows_of(single)
    assert bad_of(whole) == bad_of(single)
    assert total(whole) == total(single) == 21


WORD = st.text("abcé\0\x0b\x7f😀", min_size=1, max_size=5)
JUNK = st.text('ab1= #{}[]:\\\t\0é"', max_size=12)


@st.composite
def streams(draw: st.DrawFn, case: Case) -> tuple[bytes, int]:
    """Lines good and bad with any line end, and how many they are."""
    safe = WORD.map(lambda word: word.replace("\0", "") or "a") if case.format == Jsonl() else WORD
    junk = JUNK.map(lambda text: text.replace('"', "")) if isinstance(case.format, Delimited) else JUNK
    good = st.builds(case.text, safe, st.integers(-5, 99), safe)
    lines = draw(st.lists(st.one_of(good, good, junk), max_size=12))
    ends = draw(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=len(lines), max_size=len(lines)))
    if lines and lines[-1] and draw(st.booleans()):
        ends[-1] = ""
    return "".join(a + b for a, b in zip(lines, ends, strict=True)).encode(), len(lines)


@line_formats
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_line_is_a_row_or_bad_or_skipped_however_it_arrives(case: Case, data: st.DataObject) -> None:
    text, lines = data.draw(streams(case))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole, pieces = decoded(case, text), decoded(case, *chunks)
    assert total(whole) == lines
    assert rows_of(whole) == rows_of(pieces)
    assert bad_of(whole) == bad_of(pieces)


@line_formats
def test_positions_and_raw_are_the_lines_own(case: Case) -> None:
    records = [case.text(f"r{i}", i, "x") if i % 3 else "?" * i for i in range(1, 30)]
    data = document(case, records).replace(b"\n", b"\r\n")
    for batch in decoder(case.table(), case.format).decode(Chunks([data])):
        for row, position in enumerate(batch.positions.tolist()):
            line = data[position : data.index(b"\r\n", position)]
            assert batch.raw(row) == line
        for bad in batch.bad:
            assert data[bad.position : data.index(b"\r\n", bad.position)] == bad.raw


@line_formats
def test_bom_is_no_part_of_the_first_line(case: Case) -> None:
    data = document(case, [case.text("first", 1, "x"), case.text("second", 2, "y")])
    (_, stream) = next(open_streams(io.BytesIO(b"\xef\xbb\xbf" + data), "x.log"))
    rows = rows_of(list(decoder(case.table(), case.format).decode(stream)))
    assert [row[1] for row in rows] == ["first", "second"]


@every_format
def test_invalid_utf8_is_kept_and_flagged(case: Case) -> None:
    data = document(case, [case.text("a", 1, "fine"), case.text("b", 2, "<bytes>"), case.text("c", 3, "fine")])
    batches = decoded(case, data.replace(b"<bytes>", b"\xff\xfe"))
    assert [row[1:4] for row in rows_of(batches)] == [
        ("a", 1, "fine"), ("b", 2, "\ufffd\ufffd"), ("c", 3, "fine")
    ]  # fmt: skip
    assert sum(batch.flagged for batch in batches) == 1


@line_formats
def test_a_truncated_stream_keeps_whole_lines(case: Case) -> None:
    data = document(case, [case.text("a", 1, "x"), case.text("b", 2, "y")])
    batches = decoded(case, data[:-4], truncated=True)
    assert [row[1] for row in rows_of(batches)] == ["a"]
    assert [b[3] for b in bad_of(batches)] == ["line: truncated"]


@every_format
def test_a_decoder_serves_many_streams(case: Case) -> None:
    reused = decoder(case.table(), case.format)
    data = document(case, [case.text("a", 1, "x")])
    first, second = (rows_of(list(reused.decode(Chunks([data])))) for _ in range(2))
    assert first == second


@every_format
def test_field_names_are_known_where_the_format_says_them(case: Case) -> None:
    expected = None if isinstance(case.format, Json | Jsonl) else ("name", "n", "note")
    assert field_names(case.format) == expected
