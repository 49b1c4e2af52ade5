from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layoutread import Chunks

from tailrace.core import Column, Common, Delimited, Table, col
from tailrace.formats.base import Bad
from tailrace.formats.delimited import delimited_decoder

Row = dict[str, Any]


def table(*columns: Column, null: str | None = None, **fmt: Any) -> Table:
    return Table("t", "", Delimited(**fmt), columns, Common(time=("a",)), null=null)


ABC = (col("a"), col("b", "integer"), col("c"))


def read(table: Table, data: bytes | list[bytes]) -> tuple[list[Row], list[Bad], int]:
    """All rows by position, nulls left out, `extra` parsed."""
    chunks = [data] if isinstance(data, bytes) else data
    whole = b"".join(chunks)
    rows: list[Row] = []
    bad: list[Bad] = []
    skipped = 0
    assert isinstance(table.format, Delimited)
    for batch in delimited_decoder(table, table.format).decode(Chunks(chunks)):
        columns = {name: array.to_pylist() for name, array in batch.columns.items()}
        for i in range(batch.rows):
            row = {name: values[i] for name, values in columns.items() if values[i] is not None}
            extra = batch.extra[i].as_py() if batch.extra is not None else None
            row |= {"extra": json.loads(extra)} if extra else {}
            row["at"] = int(batch.positions[i])
            assert whole[row["at"] :].startswith(batch.raw(i))
            rows.append(row)
        bad += batch.bad
        skipped += batch.skipped
    return sorted(rows, key=lambda r: int(r["at"])), sorted(bad, key=lambda b: b.position), skipped


def values(table: Table, data: bytes) -> list[Row]:
    return [{k: v for k, v in row.items() if k != "at"} for row in read(table, data)[0]]


def test_header_is_detected_and_repeated_ones_are_skipped() -> None:
    rows, bad, skipped = read(table(*ABC), b"c,b,a,more\nz,1,x,q\nc,b,a,more\nw,2,y,\n")
    assert rows == [
        {"a": "x", "b": 1, "c": "z", "extra": {"more": "q"}, "at": 11},
        {"a": "y", "b": 2, "c": "w", "at": 30},
    ]
    assert (bad, skipped) == ([], 2)


def test_without_header_fields_come_in_order() -> None:
    assert values(table(*ABC), b"x,1,z\n") == [{"a": "x", "b": 1, "c": "z"}]
    assert values(table(*ABC), b"x,1\n") == [{"a": "x", "b": 1}]
    assert values(table(*ABC), b"x,1,z,more\n") == [{"a": "x", "b": 1, "c": "z", "extra": {"field_4": "more"}}]
    assert values(table(*ABC, fields=("c", "b", "a")), b"x,1,z\n") == [{"a": "z", "b": 1, "c": "x"}]
    assert values(table(*ABC, header=False), b"a,b,c\n") == [{"a": "a", "c": "c", "extra": {"tp_misfit": {"b": "b"}}}]
    assert values(table(*ABC, header=True), b"p,b,q\nx,1,y\n") == [{"b": 1, "extra": {"p": "x", "q": "y"}}]


def test_last_fields_may_be_missing_in_a_whole_file() -> None:
    short = table(col("a"), col("b"), col("c"), header=False, fields=("a", "b", "c"), optional=1)
    assert values(short, b"1,2\n3,4\n") == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]
    assert values(short, b"1,2,3\n") == [{"a": "1", "b": "2", "c": "3"}]
    rows, bad, _ = read(short, b"1\n1,2\n1,2,3\n")
    assert rows == [{"a": "1", "b": "2", "at": 2}]
    assert len(bad) == 2


def test_field_map_and_letter_case() -> None:
    mapped = table(*ABC, field_map=(("a", "Name"), ("c", "Text")))
    assert values(mapped, b"name,B,text\nx,1,y\n") == [{"a": "x", "b": 1, "c": "y"}]


def test_quotes() -> None:
    data = b'"x, y",1,"he said ""no"""\n"two\nlines",2,z\n,3,""\n'
    assert read(table(*ABC), data)[0] == [
        {"a": "x, y", "b": 1, "c": 'he said "no"', "at": 0},
        {"a": "two\nlines", "b": 2, "c": "z", "at": 26},
        {"b": 3, "at": 42},
    ]
    escaped = table(*ABC, escape="\\")
    assert values(escaped, b'"a \\" b",1,z\n') == [{"a": 'a " b', "b": 1, "c": "z"}]
    assert values(table(*ABC, quote=""), b'"a,1,z"\n') == [{"a": '"a', "b": 1, "c": 'z"'}]


@pytest.mark.parametrize(
    ("delimiter", "data"),
    [
        ("\t", b'x\t1\t"y z"\n'),
        (";", b"x;1;y z\n"),
        ("||", b'x||1||"y z"\n'),
        (r"\s", b'  x   1 \t "y z" \n'),
        (r"\s", b'x 1 "y z"\r\n'),
    ],
)
def test_delimiters(delimiter: str, data: bytes) -> None:
    assert values(table(*ABC, delimiter=delimiter), data) == [{"a": "x", "b": 1, "c": "y z"}]


def test_nulls_comments_and_blank_lines() -> None:
    rows, bad, skipped = read(table(*ABC, null="-", null_str="NULL", comment="#"), b"# it's \"\nNULL,-,-x\n\n \n")
    assert rows == [{"c": "-x", "at": 9}]
    assert (bad, skipped) == ([], 3)


def test_bad_records() -> None:
    rows, bad, _ = read(table(*ABC), b'x,1,z\nx,1\nx,1,z,q\n"open,1,z\ny,2,z\n')
    assert [row["a"] for row in rows] == ["x", "y"]
    assert [(b.position, b.raw, b.reason) for b in bad] == [
        (6, b"x,1", "delimited: 2 fields instead of 3"),
        (10, b"x,1,z,q", "delimited: 4 fields instead of 3"),
        (18, b'"open,1,z', "delimited: quote not closed"),
    ]


def test_two_stray_quotes_do_not_swallow_what_lies_between() -> None:
    rows, bad, _ = read(table(*ABC), b'x,1,z\n"p,1,z\ny,2,z\n"q,1,z\nw,3,z\n')
    assert [row["a"] for row in rows] == ["x", "y", "w"]
    assert [b.raw for b in bad] == [b'"p,1,z', b'"q,1,z']


def test_misfits_and_odd_bytes() -> None:
    rows, bad, _ = read(table(*ABC), b"x,1,z\ny,abc,\0\n\xff,3,a\rb\n")
    assert bad == []
    assert rows == [
        {"a": "x", "b": 1, "c": "z", "at": 0},
        {"a": "y", "c": "\0", "extra": {"tp_misfit": {"b": "abc"}}, "at": 6},
        {"a": "\ufffd", "b": 3, "c": "a\rb", "extra": {"tp_misfit": {"tp_line": "invalid utf-8"}}, "at": 14},
    ]


def test_typed_columns() -> None:
    columns = (
        col("t", "timestamp", time="epoch_s"),
        col("f", "double"),
        col("l", "varchar[]", list_separator="|"),
    )
    assert values(table(*columns), b"t,f,l\n0,1.5,a|b\n") == [{"t": datetime(1970, 1, 1), "f": 1.5, "l": ["a", "b"]}]


FIELD = st.text(st.sampled_from('ab1 ,"\n\ré'), max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(FIELD, min_size=3, max_size=3), max_size=6), st.lists(st.integers(0, 100), max_size=4))
def test_what_python_writes_is_read_back(records: list[list[str]], cuts: list[int]) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(records)
    data = out.getvalue().encode()
    edges = [0, *sorted(c % (len(data) + 1) for c in cuts), len(data)]
    texts = table(col("a"), col("b"), col("c"), header=False)
    rows, bad, skipped = read(texts, [data[a:b] for a, b in pairwise(edges)])
    assert (bad, skipped) == ([], 0)
    assert [[row.get(name, "") for name in "abc"] for row in rows] == records


LINES = [
    b"x,1,z\n",
    b'"q\n',
    b'"p,1,z\n',
    b'"two\nlines",2,z\n',
    b"x\n",
    b"\n",
    b"a,b,c\n",
    b"x,n,z\r\n",
    b'z,"\n',
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=10).map(b"".join), st.lists(st.integers(0, 100), max_size=4))
def test_rows_do_not_depend_on_chunks(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(c % (len(data) + 1) for c in cuts), len(data)]
    assert read(table(*ABC), [data[a:b] for a, b in pairwise(edges)]) == read(table(*ABC), data)


def test_real_csv(real_logs: Path) -> None:
    path = real_logs / "otrf-aws/AWS_S3_HoneyBucketLogs.csv"
    with path.open(newline="", encoding="utf-8-sig") as file:
        want = list(csv.DictReader(file))
    names = list(want[0])
    columns = tuple(col(f"c{n}", src=name) for n, name in enumerate(names))
    rows, bad, skipped = read(table(*columns), path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    assert (bad, skipped) == ([], 1)
    assert [[row.get(f"c{n}", "") for n in range(len(names))] for row in rows] == [
        [record[name] for name in names] for record in want
    ]
