"""Lines read as words give what a search for the expression gives, or are left to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tailrace.core import Grok, Regex
from tailrace.formats.grok import Expression, compiled
from tailrace.formats.line_texts import Lines
from tailrace.formats.lines import cut_lines
from tailrace.formats.matchers import portable
from tailrace.formats.regex_engine import word_reader
from tailrace.formats.regex_split import split
from tailrace.formats.regex_tree import free_chars, parse
from tailrace.formats.regex_words import words
from tailrace.formats.word_reader import WordReader

COMBINED = (
    r'^(?P<addr>\S+) \S+ (?P<user>\S+) \[(?P<time>[^\]]*)\] "(?P<method>\S+) (?P<path>\S+) (?P<protocol>[^"]*)" '
    r'(?P<status>\d+) "(?P<agent>[^"]*)"$'
)
LAYOUTS: list[Grok | Regex] = [
    Grok("%{COMBINEDAPACHELOG}"),
    Grok('%{IP:a} %{USER:b} "%{DATA:c}" (?:%{INT:d}|-)'),
    Grok('"%{DATA:a}" %{QS:b} %{QS:c}'),
    Grok('^%{WORD:a} "%{WORD:b} %{NOTSPACE:c}" %{INT:d}$'),
    Grok(r"\[%{HTTPDATE:a}\] %{WORD:b} %{NOTSPACE:c}"),
    Grok(r'%{WORD:a} \[(?<b>[^]]*)\] "%{DATA:c}"'),
    Grok("%{IP:a}:%{INT:b} %{WORD:c}ms %{NOTSPACE:d}"),
    Regex(COMBINED),
    Regex(r'(?<a>[^ ]*) (?<b>"(?<c>[^"]*)") x(?<d>\d+)y$'),
    Regex(r'(?<a>\w+) "(?<b>(?<c>\w+) (?<d>\w+))" (?<e>a|ab)'),
    Regex(r"(?<a>[^ ]+) (?<b>\d+) - (?<c>[a-z]+)$"),
]
SIGNS = [
    *"abz1 0-\":,[]\\'é`\0\x0b\r\t",
    "1.2.3.4",
    "bob",
    '" ',
    ' "',
    "] ",
    " [",
    '\\"',
    '"a b"',
    "[a b]",
    " - ",
    "  ",
]
WRITTEN = [
    "1.2.3.4",
    "bob",
    '"GET / HTTP/1.1"',
    "[10/Oct/2000:13:55:36 -0700]",
    "[a b]",
    "200",
    "-",
    '"a b"',
    '"-"',
    "é",
]
LINE = st.lists(st.sampled_from(SIGNS), max_size=12).map("".join) | st.lists(
    st.sampled_from(WRITTEN) | st.sampled_from(SIGNS), max_size=10
).map(" ".join)
GOOD = '1.2.3.4 - bob [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 17 "-" "Mozilla (x)"'


@dataclass
class Text:
    data: bytes
    truncated: bool = False

    def __iter__(self) -> Iterator[bytes]:
        return iter([self.data])


def lines_of(texts: list[str]) -> Lines:
    (block,) = cut_lines(Text("".join(f"{text}\n" for text in texts).encode()))
    return Lines.filled(block)


@cache
def prepared(layout: Grok | Regex) -> tuple[Expression, WordReader]:
    expression = compiled(layout)
    reader = word_reader(expression)
    assert reader is not None
    return expression, reader


def compare(expression: Expression, reader: WordReader, lines: Lines) -> int:
    """Every line that was read must be as a search would have it; gives back how many were read."""
    groups, found = reader.read(lines)
    taken = np.array(lines.texts.to_pylist())[found].tolist() if len(lines) else []
    expected = [regex.search(portable(expression.text), line, regex.ASCII) for line in taken]
    assert all(expected), expression.source
    assert [match[0] for match in expected if match] == taken, "what a match leaves of its line is not lost here"
    for capture in expression.captures if taken else ():
        assert groups[capture.group].to_pylist() == [match[capture.group] for match in expected if match], capture
    return len(taken)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.layout[:30])
@settings(max_examples=40, deadline=None)
@given(lines=st.lists(LINE, min_size=1, max_size=8).map(lambda lines: [line for line in lines if "\n" not in line]))
@example([GOOD, GOOD.replace("/ HTTP", '/"a HTTP'), GOOD.replace("- bob", '"-" bob'), GOOD])
@example([GOOD.replace('"-"', '"a"b" "c'), GOOD, GOOD.replace('"-"', "-").replace("200", '"200"')])
@example(['"a" b c', 'a "b" c', '"a"x" b c "', "a b c"])
def test_lines_read_as_words_match(layout: Grok | Regex, lines: list[str]) -> None:
    compare(*prepared(layout), lines_of(lines))


LEAVES = ["(?<x{}>[^ ]*)", "(?<x{}>\\w+)", '"(?<x{}>.*?)"', "(?:(?<x{}>a|ab)|-)", "\\d+", "(?<x{}>\"[^\"]*\")",
          "(?<x{}>[ab]+)?", "(?<x{}>a(?<y{}>b?))", "\\[(?<x{}>[^\\]]*)\\]", '"(?<x{}>\\w+) (?<y{}>\\S+)"', "-",
          "(?<x{}>[^\\Wa]+)", "(?<x{}>\\b[a-z-]+)", "(?<x{}>[éa]+)", "(?<x{}>[[:alpha:]]+)",
          "(?<x{}>\\d{{2,}})"]  # fmt: skip
TEXTS = ["a", "ab", "b", "1", "12", '"a b"', '"a"', "[a b]", "[a]", "[]", '""', "-", "é", "a-", "", "'", '"ab é"', "-a"]


@settings(max_examples=150, deadline=None)
@given(
    parts=st.lists(st.sampled_from(LEAVES), min_size=2, max_size=5),
    end=st.sampled_from(["", "$"]),
    lines=st.lists(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6).map(" ".join), min_size=1, max_size=8),
)
def test_any_expression_of_words(parts: list[str], end: str, lines: list[str]) -> None:
    text = " ".join(part.format(i, i) for i, part in enumerate(parts)) + end
    if "<x" not in text:
        return
    expression = compiled(Regex(text))
    reader = word_reader(expression)
    if reader is not None:
        compare(expression, reader, lines_of(lines))


@pytest.mark.parametrize("layout", [Grok("%{COMBINEDAPACHELOG}"), LAYOUTS[7]])
def test_good_lines_are_read_as_words(layout: Grok | Regex) -> None:
    line = GOOD if isinstance(layout, Grok) else GOOD.replace(' 17 "-"', "")
    assert compare(*prepared(layout), lines_of([line] * 3 + ["", "nothing of the sort"] + [line])) == 4


@pytest.mark.parametrize(
    "text",
    [
        "(?<a>.*) (?<b>.*)",
        "(?<a>a b|c) (?<b>x)",
        "(?<a>[^,]*),(?<b>[^,]*)",
        '(?<a>\\w+) "(?<b>\\w+)',
        "(?<a>\\w+  b) c",
    ],
)
def test_what_is_no_sequence_of_words_is_left_alone(text: str) -> None:
    cut = split(portable(compiled(Regex(text)).text))
    assert cut is None or words(cut) is None


@pytest.mark.parametrize(
    ("text", "chars"),
    [
        (r"\d+", "0123456789"), (r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)", "0123456789"), (r"\b[a-c-]+\b", "abc"), ("ab", ""),
        ("[ab]", ""), ("[ab]{2,}", ""), ("[ab]{1,}c?", "ab"), ("a+b+", ""), ("(?:[ab]+)?", ""), ("é+", ""),
        ("[é-ü]*", ""), (r"(?:\b)[ab-]+", "ab"),
    ],
)  # fmt: skip
def test_characters_of_which_every_text_matches(text: str, chars: str) -> None:
    free = free_chars(parse(text))
    assert "".join(chr(c) for c in range(128) if free >> c & 1) == chars
    for sample in (chars, chars[:1] * 3, chars[::-1]):
        assert not sample or regex.fullmatch(text, sample, regex.ASCII)
