"""The short way reads what the grammar reads, or nothing."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.config.evaluate import Evaluator
from tailrace.config.functions import Surroundings
from tailrace.config.limits import Budget
from tailrace.config.literal import read_literal
from tailrace.config.places import Report, Text
from tailrace.config.syntax import Block, Constant, parse

PLAIN = """# A comment
connection "aws" "prod" {
  profile    = "p"   // trailing
  access_key = "x"
}

partition "nginx_access_log" "web site" {
  description = "It's 100% plain, $5"
  limit = 12
  on = true
  source "file" {
    paths       = [ "/var/log/*.log","/srv" ]
    file_layout = "%{YEAR:year}/${x}.log"
    raw         = `a\\b "c" ${d} # no comment`
    connection  = connection.aws.prod
    none        = []
  }
  source "file" "two" { paths = ["/two"] }
  empty {}
}\r
"""
OTHER = [
    "a = 1 + 1", 'a = "${b}"', 'a = "%%{b}"', 'layout = "$${b}"', 'a = "\\n"', "a = b", "a = local.x", "a = f(1)",
    "a = connection.x[0]", "a = 1.5", "a = -1", "a = null", 'a = ["x", 1]', "a = { b = 1 }", "a = <<E\nx\nE", "b {",
    "}",
    "a = 1\na = 2", 'b { a = 1, c = 2 }', 'a = "ü"', "a = 1 b = 2", "/* c */", "for = 1", 'a = "x" "y"', "a == 1",
    "b c {}", 'a = ["x",,]', 'a = "\0"', "a =", "a = ``\\", "{}", 'a = [["x"]]', "a =\n 1",
]  # fmt: skip
WORDS = st.sampled_from([
    "a", "b1", "layout", "connection", '"x"', '"%{A:b}"', '"$${c}"', '"a $ b"', "`r`", "=", "{", "}", "[", "]", ",",
    "\n", "\n", " ", "  ", "true", "12", "007", "1.5", "connection.a.b", "x.y", "# c", "// c", "null", "\t", "\r\n",
    "-", '"',
])  # fmt: skip


def by_grammar(text: Text) -> tuple[Block, dict[int, tuple[object, ...]], Report]:
    report = Report()
    whole = parse(text, report)
    return whole, dict(report.outline._strings[text.file]), report


def described(block: Block, evaluator: Evaluator) -> object:
    """Everything about a block, with the values of its attributes."""
    attributes = {
        name: (attribute.name, attribute.where, attribute.expression.where, evaluator.value(attribute.expression))
        for name, attribute in block.attributes.items()
    }
    inner = [described(each, evaluator) for each in block.blocks]
    return block.kind, block.labels, block.label_places, block.where, block.start, block.end, attributes, inner


def same(data: bytes) -> bool:
    """Whether the short way was taken; then it gave what the grammar gives."""
    short = read_literal(Text("f", data))
    if short is None:
        return False
    block, strings, report = by_grammar(Text("f", data))
    evaluator = Evaluator(report, Surroundings(datetime(2024, 1, 1), {}), {}, Budget(10_000))
    assert report.problems == ()
    assert report.warnings == ()
    assert repr(described(short[0], evaluator)) == repr(described(block, evaluator))
    assert short[1] == strings
    return True


def test_a_plain_file_takes_the_short_way() -> None:
    assert same(PLAIN.encode())
    found = read_literal(Text("f", PLAIN.encode()))
    assert found is not None
    assert all(isinstance(a.expression, Constant) for block in found[0].blocks for a in block.attributes.values())


@pytest.mark.parametrize("text", OTHER)
def test_whatever_is_not_plain_is_left_to_the_grammar(text: str) -> None:
    assert read_literal(Text("f", text.encode())) is None


@settings(max_examples=400)
@given(st.lists(WORDS, max_size=14))
def test_any_text_is_read_alike(words: list[str]) -> None:
    same("".join(words).encode())


@settings(max_examples=200)
@given(st.integers(0, len(PLAIN)), st.integers(0, 12), st.text('a"`{}[]=,.$%#\\/ \n', max_size=4))
def test_mutated_files_are_read_alike(at: int, gone: int, put: str) -> None:
    same((PLAIN[:at] + put + PLAIN[at + gone :]).encode())
