"""Characters of a text, found again in the file."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tailrace.config.inside import character_place
from tailrace.config.places import Report, Text
from tailrace.config.syntax import parse

LETTERS = st.sampled_from(["a", "é", "𝄞", "{", "$", "%", "^", " ", "x"])


def place_of(written: str, number: int) -> str:
    """What stands in the file where that character of the text is found."""
    text = Text("x.tpc", f"locals {{\n  a = {written}\n}}\n".encode())
    report = Report()
    (block,) = parse(text, report).blocks
    assert not report.problems
    where = character_place(text, block.attributes["a"].expression.where, number)
    return text.data[text.offset(where) :].decode()


def test_escapes_count_as_one():
    assert place_of(r'"a\"\té^"', 4).startswith("^")
    assert place_of(r'"\u00e9\U0001d11e^"', 2).startswith("^")
    assert place_of(r'"$${a}%%{b}^"', 8).startswith("^")
    assert place_of(r'"\d^"', 2).startswith("^")
    assert place_of(r"`\n^`", 2).startswith("^")


def test_heredocs_lose_their_margin():
    assert place_of("<<-E\n      a\n        b^\n      E", 5).startswith("^")
    assert place_of("<<E\n a\n  b^\nE", 6).startswith("^")


def test_what_is_no_text_begins_where_it_begins():
    assert place_of("12345", 3).startswith("12345")


@given(st.lists(LETTERS, max_size=12), st.sampled_from(["quoted", "raw", "heredoc", "margin"]))
def test_every_character_is_found(letters, form):
    plain = "".join(letters) + "!"
    escaped = re.sub(r"\$(?=\{)|%(?=\{)", lambda sign: sign[0] * 2, plain)
    if re.search(r"[$%]{3}\{", escaped):
        return
    written = {
        "quoted": f'"{escaped}"',
        "raw": f"`{plain}`",
        "heredoc": f"<<E\n{escaped}\nE",
        "margin": f"<<-E\n    {escaped.lstrip(' ')}\n  E",
    }[form]
    shown = plain.lstrip(" ") if form == "margin" else plain
    assert place_of(written, len(shown) - 1).startswith("!")
