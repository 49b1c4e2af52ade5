"""Lines whose words stand elsewhere than usual: two blanks, quotes inside quotes, no HTTP at all."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st
from layoutread import NGINX, read

from tailrace.core import Layout, col

TABLE = replace(
    NGINX,
    null="-",
    columns=tuple(col(name) for name in ("a", "b", "c", "d", "e", "method", "url", "version")),
    format=Layout('a b "c" d ?e', also=('a  b "c" d ?e',)),
)


def rows(data: bytes, layout: Layout | None = None) -> list[dict[str, object]]:
    table = TABLE if layout is None else replace(TABLE, format=layout)
    return [{name: value for name, value in row.items() if name != "at"} for row in read(table, data).rows]


def test_two_blanks_are_a_word_too_many() -> None:
    """Found out before every quoted field stands in the place of another."""
    shifted, inside = {"a": "1", "b": "2", "c": "x", "d": "4"}, {"a": "1", "b": "2", "c": "x  y", "d": "4"}
    assert rows(b'1  2 "x" 4\n1 2 "x  y" 4\n' * 3) == [shifted, inside] * 3
    assert rows(b'1  2 "x" 4\n') == [shifted]


def test_an_empty_word_is_a_value() -> None:
    assert rows(b'1 2 "x"  5\n') == [{"a": "1", "b": "2", "c": "x", "d": "", "e": "5"}]


def test_quotes_inside_a_quoted_field() -> None:
    assert rows(b'1 2 "say "a b" twice" 4 5\n') == [{"a": "1", "b": "2", "c": 'say "a b" twice', "d": "4", "e": "5"}]
    assert rows(b'1 2 ""x" 4\n') == [{"a": "1", "b": "2", "c": '"x', "d": "4"}]


@given(st.lists(st.sampled_from(["x", 'x"x', " ", '""']), max_size=12).map("".join))
def test_whatever_is_quoted_is_found(text: str) -> None:
    assume('" ' not in text and ' "' not in text)  # which looks like the end of one field and the start of another
    (row,) = rows(f'1 2 "{text}" 4 5\n'.encode())
    assert row == {"a": "1", "b": "2", "c": text, "d": "4", "e": "5"}


def test_three_markers_are_no_request() -> None:
    layout = Layout('a "request" d', split=(("request", ("method", "url", "version")),))
    assert rows(b'1 "- - - " 4\n1 "- - -" 4\n1 "GET / HTTP/1.1" 4\n', layout) == [
        {"a": "1", "d": "4"},
        {"a": "1", "d": "4"},
        {"a": "1", "d": "4", "method": "GET", "url": "/", "version": "HTTP/1.1"},
    ]
