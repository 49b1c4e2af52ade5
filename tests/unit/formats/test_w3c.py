"""The W3C's extended log format: headers anywhere, quotes or none, day and time together."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from layoutread import Chunks

from tailrace.core import Common, Table, W3c, col
from tailrace.formats import decoder
from tailrace.formats.base import Bad, Decoder

COLUMNS = (
    col("at", "timestamp", "date_time"),
    col("status", "integer", "sc-status"),
    col("agent", src="cs(User-Agent)"),
)
FORMAT = W3c((("date", "time", "sc-status"), ("date", "time", "sc-status", "cs(User-Agent)")))
READER = decoder(Table("t", "", FORMAT, COLUMNS, Common(time=("at",)), null="-"), FORMAT)
BARE = decoder(Table("t", "", W3c(), (), Common(time=())), W3c())


def read(*chunks: bytes, reader: Decoder = READER) -> tuple[list[dict[str, Any]], list[Bad], int]:
    rows: list[tuple[int, dict[str, Any]]] = []
    bad: list[Bad] = []
    skipped = 0
    for batch in reader.decode(Chunks(chunks)):
        for row in range(batch.rows):
            values = {n: a[row].as_py() for n, a in batch.columns.items() if a[row].as_py() is not None}
            extra = batch.extra[row].as_py() if batch.extra is not None else None
            told = {name: str(value) if name == "at" else value for name, value in values.items()}
            rows.append((int(batch.positions[row]), told | json.loads(extra or "{}")))
        bad += batch.bad
        skipped += batch.skipped
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])], bad, skipped


def test_day_and_time_make_one() -> None:
    rows, bad, skipped = read(b"#Version: 1.0\n#Fields: date time sc-status\n2024-07-05 10:00:00.5 200\n")
    assert rows == [{"at": "2024-07-05 10:00:00.500000", "status": 200}]
    assert (bad, skipped) == ([], 2)


def test_the_day_may_stand_in_a_directive() -> None:
    data = b"#Date: 2024-07-05 10:00:00\n#Fields: time sc-status\n10:00:00 200\n#Date: 2024-07-06\n00:00:01 -\n"
    assert read(data)[0] == [{"at": "2024-07-05 10:00:00", "status": 200}, {"at": "2024-07-06 00:00:01"}]


def test_fields_may_change() -> None:
    data = b"#Fields: sc-status x\n200 a\n#Fields: x cs(User-Agent) sc-status\nb curl 404\n"
    assert read(data)[0] == [{"status": 200, "x": "a"}, {"status": 404, "x": "b", "agent": "curl"}]


def test_lines_without_a_header_are_told_by_their_width() -> None:
    data = b"2024-07-05 10:00:00 200\n2024-07-05 10:00:01 201 curl\n1 2 3 4 5\n"
    rows, bad, _ = read(data)
    assert [(row["status"], row.get("agent")) for row in rows] == [(200, None), (201, "curl")]
    assert [b.reason for b in bad] == ["w3c: 5 fields instead of 3"]


def test_lines_that_have_lost_their_header() -> None:
    data = b"#Fields: sc-status x\n200 a\n2024-07-05 10:00:01 201 curl\n"
    assert read(data)[0] == [{"status": 200, "x": "a"}, {"at": "2024-07-05 10:00:01", "status": 201, "agent": "curl"}]


def test_quotes_blanks_and_tabs() -> None:
    rows, _, _ = read(
        b'#Fields: sc-status x cs(User-Agent)\n200 "a b" "say ""hi"""\n201 x="y" z"\n 202  two   blanks \n'
    )
    assert [(row["x"], row["agent"]) for row in rows] == [("a b", 'say "hi"'), ('x="y"', 'z"'), ("two", "blanks")]
    rows, _, _ = read(b"#Fields: sc-status x cs(User-Agent)\n200\ta b\tc\n201\t\td\n")
    assert [(row["status"], row.get("x"), row["agent"]) for row in rows] == [(200, "a b", "c"), (201, None, "d")]
    rows, _, _ = read(b'#Fields: sc-status,x,cs(User-Agent)\n200,"a,b",c\n')
    assert rows == [{"status": 200, "x": "a,b", "agent": "c"}]


def test_without_any_fields_nothing_is_known_but_the_line() -> None:
    rows, bad, _ = read(b"#Version: 1.0\na b\n", reader=BARE)
    assert not rows
    assert [b.raw for b in bad] == [b"a b"]


names = st.lists(st.from_regex(r"[a-z][a-z(-]{0,5}", fullmatch=True), min_size=1, max_size=4, unique=True)
values = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x85\x7f"), max_size=6)


def written(value: str, quoted: bool) -> str:
    return '"' + value.replace('"', '""') + '"' if quoted else value.replace(" ", "+").replace('"', "'") or "-"


@given(names, st.data(), st.booleans(), st.integers(1, 40))
def test_what_is_written_is_read_back(fields: list[str], data: st.DataObject, quoted: bool, size: int) -> None:
    rows = data.draw(st.lists(st.tuples(*[values] * len(fields)), min_size=1, max_size=4))
    lines = [" ".join(written(value, quoted) for value in row) for row in rows]
    lines = [line for line in lines if not line.startswith("#")]
    text = f"#Fields: {' '.join(fields)}\n" + "".join(f"{line}\n" for line in lines)
    encoded = text.encode()
    found, bad, _ = read(*(encoded[at : at + size] for at in range(0, len(encoded), size)), reader=BARE)
    assert not bad
    assert len(found) == len(lines)


@given(st.lists(st.binary(max_size=60), max_size=4), st.booleans())
def test_any_bytes_are_stored_or_refused(chunks: list[bytes], headed: bool) -> None:
    data = (b"#Fields: date time x\n" if headed else b"") + b"".join(chunks)
    rows, bad, skipped = read(data)
    assert len(rows) + len(bad) + skipped == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
