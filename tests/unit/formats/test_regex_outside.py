"""What a line holds beside the match of a regular expression is kept."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from layoutread import Chunks

from tailrace.core import Common, Grok, Regex, Table, col
from tailrace.formats.grok import compiled
from tailrace.formats.matchers import Matched, portable
from tailrace.formats.outside import takes_all
from tailrace.formats.regex_engine import matchers, regex_decoder

JOB = r"(?P<at>\S+) job=(?P<job>\w+) took (?P<s>[0-9.]+)s"
LINES = {
    "00:01 job=a took 1s": {},
    "PREFIX 00:02 job=b took 2s": {"tp_before": "PREFIX"},
    "00:03 job=c took 3s TRAILER": {"tp_rest": "TRAILER"},
    "x y 00:04 job=d took 4s, z ": {"tp_before": "x y", "tp_rest": ", z"},
    "00:05 job=e took 5s  ": {},
}


def read(format: Regex | Grok, text: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Rows with what is kept beside their columns."""
    columns = tuple(col(name) for name in compiled(format).fields)
    decoder = regex_decoder(Table("t", "", format, columns, Common(time=())), format)
    rows = []
    for batch in decoder.decode(Chunks([text.encode()])):
        assert not batch.bad
        assert batch.flagged == 0
        extra = batch.extra.to_pylist() if batch.extra is not None else [None] * len(batch.positions)
        columns_read = {name: texts.to_pylist() for name, texts in batch.columns.items()}
        for row, kept in enumerate(extra):
            rows.append(({name: texts[row] for name, texts in columns_read.items()}, json.loads(kept or "{}")))
    return rows


@pytest.mark.parametrize(
    "format",
    [
        Regex(JOB),
        Regex(JOB + "(?!!)"),
        Grok(r"%{NOTSPACE:at} job=%{WORD:job} took %{NUMBER:s}s"),
        Regex(JOB, start=r"\d\d:\d\d job="),
    ],
    ids=["regex", "lookaround", "grok", "records"],
)
@pytest.mark.parametrize("times", [1, 60])
def test_what_stands_around_the_match_is_kept(format: Regex | Grok, times: int) -> None:
    found = read(format, ("\n".join(LINES) + "\n") * times)
    assert [kept for _, kept in found] == [*LINES.values()] * times
    assert [row["job"] for row, _ in found] == [*"abcde"] * times


def test_only_what_is_beside_the_match_not_what_is_like_it() -> None:
    assert read(Regex(r"\b(?P<word>cat)\b"), "concat cat bobcat\n") == [
        ({"word": "cat"}, {"tp_before": "concat", "tp_rest": "bobcat"})
    ]


def test_a_record_of_several_lines_keeps_the_lines_behind_the_match() -> None:
    found = read(Regex(r"^(?P<at>\d+) (?P<level>[A-Z]+)", start=r"^\d"), "1 WARN slow\n  at f\n  at g\n2 INFO\n")
    assert [kept for _, kept in found] == [{"tp_rest": "slow\n  at f\n  at g"}, {}]


PARTS = [
    r"(?<x{}>[^ ]*)", r"(?<x{}>\w+)", r'"(?<x{}>.*?)"', "(?:(?<x{}>a|ab)|-)", "(?<x{}>.*)", "(?<x{}>.*?)", "^", "$",
    r"\d+", "(?<x{}>[ab]+)?", r"\b(?<x{}>a(?<y{}>b?))", "(?:^a|(?<x{}>b)$)", "(?<x{}>a b (?<y{}>[0-9]+))",
]  # fmt: skip
LINE = st.lists(st.sampled_from([*'abz1 0-":é', "ab ", ' "', " b"]), max_size=12).map("".join)


@settings(max_examples=200, deadline=None)
@given(
    parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=5),
    glue=st.sampled_from([" ", ":", "b", "|", ""]),
    lines=st.lists(LINE, min_size=1, max_size=8),
)
@example(["(?<x{}>a b (?<y{}>[0-9]+))"], "", ["a b 12 z", "a b 1z"])
def test_every_matcher_keeps_what_a_search_leaves(parts: list[str], glue: str, lines: list[str]) -> None:
    text = glue.join(part.format(i, i) for i, part in enumerate(parts))
    if "<x" not in text:
        return
    expression = compiled(Regex(text))
    found = [regex.search(expression.text, line, regex.ASCII) for line in lines]
    expected = [
        (line[: match.start()].strip() or None, line[match.end() :].strip() or None) if match else (None, None)
        for line, match in zip(lines, found, strict=True)
    ]
    for matcher in matchers(expression):
        assert outside(matcher.match(pa.array(lines, pa.string())), len(lines)) == expected, (type(matcher), text)
    if takes_all(portable(expression.text)):
        assert not any(filter(any, expected)), text


def outside(matched: Matched, count: int) -> list[tuple[str | None, str | None]]:
    if matched.outside is None:
        return [(None, None)] * count
    return list(zip(matched.outside.before.to_pylist(), matched.outside.behind.to_pylist(), strict=True))


@pytest.mark.parametrize("text", ["^a$", r"\A(?:a|b)\z", "^(?P<f0>a.*)", ".*?a.*", "^a$|^b$", "(?i)^a$"])
def test_a_match_that_is_bound_to_both_ends_leaves_nothing(text: str) -> None:
    assert takes_all(text)


@pytest.mark.parametrize(
    "text", ["a", "^a", "a$", "^a|b$", "^(?:a$|b)", "(?m)^a$", "^(?P<f0>.*?)", "^(?:a$)?", "(?=^a$)"]
)
def test_a_match_that_is_not_may_leave_something(text: str) -> None:
    assert not takes_all(text)
