"""Answers as text, in every form."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.query.engine import Result
from tailrace.query.render import RENDERERS, as_json, render, width

texts = st.text(st.characters(blacklist_categories=("Cs",)))


def shown(output: str, columns: Iterable[str], *rows: tuple[Any, ...], types: Iterable[str] = ()) -> str:
    names = tuple(columns)
    out = io.StringIO(newline="")
    render(Result(names, tuple(types) or ("VARCHAR",) * len(names), iter(rows)), output, out)
    return out.getvalue()


def test_table() -> None:
    answer = shown("table", ["name", "n"], ("a", 1), (None, 20), types=["VARCHAR", "BIGINT"])
    assert answer == (
        "┌──────┬────┐\n│ name │ n  │\n├──────┼────┤\n│ a    │  1 │\n│      │ 20 │\n└──────┴────┘\n2 rows\n"
    )


def test_table_without_rows() -> None:
    assert shown("table", ["a"]).endswith("0 rows\n")
    assert shown("table", ["a"], ("x",)).endswith("1 row\n")


def test_table_with_more_rows_than_widths_are_taken_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.query.render.WIDTH_FROM", 1)
    assert "│ wide │\n" in shown("table", ["a"], ("x",), ("wide",))


def test_wide_characters_keep_the_table_straight() -> None:
    lines = shown("table", ["a"], ("日本",), ("é",), ("🙂",), ("plain",)).splitlines()[:-1]
    assert {width(line) for line in lines} == {9}


def test_plain_is_the_table_without_lines() -> None:
    assert shown("plain", ["name", "n"], ("a", 1), ("long", 20)) == "name  n\na     1\nlong  20\n"
    assert shown("pretty", ["a"], ("x",)) == shown("table", ["a"], ("x",))


@pytest.mark.parametrize("output", ["table", "line"])
def test_control_characters_do_not_reach_the_terminal(output: str) -> None:
    nasty = "\x1b[2J\x9b1m\r\n\t\u202e\0"
    answer = shown(output, [f"n{nasty}"], (nasty,), ([nasty],), ({"k": nasty},))
    assert all(c == "\n" or c.isprintable() for c in answer)
    assert "\\u001b[2J" in answer


def test_csv_keeps_texts_as_they_are() -> None:
    row = ('say "x", y', "two\nlines", "\x1b", None, "")
    answer = shown("csv", "abcde", row)
    assert list(csv.reader(io.StringIO(answer, newline=""))) == [list("abcde"), [v or "" for v in row]]


def test_csv_tells_null_from_an_empty_text() -> None:
    assert shown("csv", ["a", "b"], (None, "")) == 'a,b\n,""\n'


@given(st.lists(st.tuples(texts, texts)))
def test_csv_comes_back(rows: list[tuple[str, str]]) -> None:
    # Python's reader gives up on NUL.
    rows = [(a.replace("\0", ""), b.replace("\0", "")) for a, b in rows]
    answer = shown("csv", ["a", "b"], *rows)
    assert [tuple(r) for r in csv.reader(io.StringIO(answer, newline=""))] == [("a", "b"), *rows]


def test_line() -> None:
    answer = shown("line", ["a", "long"], (1, "x"), (2, None))
    assert answer.splitlines() == [
        "-[ row 1 ]--------------------", "a    | 1", "long | x",
        "-[ row 2 ]--------------------", "a    | 2", "long | ",
    ]  # fmt: skip


VALUES: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (170141183460469231731687303715884105727, 170141183460469231731687303715884105727),
    (1.5, 1.5),
    (math.nan, None),
    (math.inf, None),
    (-math.inf, None),
    (datetime(2024, 1, 2, 3, 4, 5, 600), "2024-01-02T03:04:05.000600"),
    (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00+00:00"),
    (date(2024, 1, 2), "2024-01-02"),
    (time(3, 4), "03:04:00"),
    (timedelta(days=3), "3 days, 0:00:00"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (b"ab\xff", "ab\\xFF"),
    ("é\n", "é\n"),
    ([1, None, math.nan], [1, None, None]),
    ({"a": {"b": [date(2024, 1, 2)]}}, {"a": {"b": ["2024-01-02"]}}),
    ({date(2024, 1, 2): 1}, {"2024-01-02": 1}),
]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=lambda v: repr(v)[:20])
@pytest.mark.parametrize("output", ["json", "jsonl"])
def test_json_holds_every_kind_of_value(output: str, value: Any, expected: Any) -> None:
    answer = json.loads(shown(output, ["v"], (value,)), parse_constant=pytest.fail)
    assert (answer[0] if output == "json" else answer) == {"v": expected}


@pytest.mark.parametrize("value", [value for value, _ in VALUES], ids=lambda v: repr(v)[:20])
@pytest.mark.parametrize("output", list(RENDERERS))
def test_every_form_shows_every_kind_of_value(output: str, value: Any) -> None:
    assert shown(output, ["v"], (value,))


def test_decimals_keep_their_digits() -> None:
    assert shown("jsonl", ["m"], (Decimal("9999999999999999.90"),)) == '{"m": 9999999999999999.90}\n'
    assert as_json([Decimal("1E+3")]) == "[1000]"


@pytest.mark.parametrize("text", ['{"a": 1.10, "a": 2}', "[1e400]", '"\u2028"', "null", '{\n"a":\r\n1}'])
def test_json_columns_are_values(text: str) -> None:
    answer = shown("jsonl", ["j"], (text,), types=["JSON"])
    assert answer == f'{{"j": {text}}}\n'.replace("\r\n", "  ").replace("{\n", "{ ")
    assert answer.count("\n") == 1


@pytest.mark.parametrize("text", ["{broken", "NaN", '{"a": Infinity}', ""])
def test_what_only_claims_to_be_json_is_a_text(text: str) -> None:
    assert json.loads(shown("jsonl", ["j"], (text,), types=["JSON"])) == {"j": text}


def test_columns_of_one_name_are_all_there() -> None:
    assert json.loads(shown("jsonl", ["a", "a", "a_2"], (1, 2, 3))) == {"a": 1, "a_2": 2, "a_2_2": 3}


def test_json_without_rows() -> None:
    assert shown("json", ["a"]) == "[]\n"
    assert shown("jsonl", ["a"]) == ""


@given(st.lists(st.tuples(texts, st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False))))
def test_json_comes_back(rows: list[tuple[str, Any]]) -> None:
    expected = [{"a": a, "b": b} for a, b in rows]
    assert json.loads(shown("json", ["a", "b"], *rows)) == expected
    assert [json.loads(line) for line in shown("jsonl", ["a", "b"], *rows).split("\n") if line] == expected


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "table", "pretty", "plain", "line", "markdown"])
def test_bytes_look_the_same_in_every_form(form: str) -> None:
    answer = shown(form, ["b"], (b'\xfcber \x00\n\\{"a"}',), types=["BLOB"])
    wanted = r'\xFCber \x00\x0A\x5C{"a"}'
    spelled = {"csv": wanted.replace('"', '""')}.get(form, wanted)
    assert (json.dumps(wanted) if form.startswith("json") else spelled) in answer


@given(st.binary())
def test_bytes_come_back(value: bytes) -> None:
    ((text,),) = (row.values() for row in json.loads(shown("json", ["b"], (value,), types=["BLOB"])))
    assert text.isascii()
    assert text.isprintable() or not text
    assert duckdb.execute("select $1::varchar::blob", [text]).fetchall() == [(value,)]


def test_bytes_inside_of_others() -> None:
    assert json.loads(shown("jsonl", ["b"], ({"id": b"\x01"},))) == {"b": {"id": r"\x01"}}
