"""Whatever a file holds, the answer is a configuration or a configuration error."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.config import ConfigErrors
from tailrace.config.load import load_texts
from tailrace.config.places import Text

WHOLE = r"""
locals {
  root = "${env("HOME")}/logs"
}
connection "aws" "prod" {
  secret_key = "x"
}
format "grok" "g" {
  layout   = `%{IP:x} "q"`
  patterns = { A = "%{B}\d" }
}
table "t" {
  description = <<-EOT
    text ${local.root}
  EOT
  column "ts" {
    type = "datetime"
  }
}
partition "t" "p" {
  filter = 1 > 2 ? "a" : "b"
  source "file" {
    paths      = [for x in ["a", "b"] : "${local.root}/${x}"]
    connection = connection.aws.prod
    format     = format.grok.g
  }
  source_format = { type = "delimited", fields = [a, b] }
}
workspace "w" {
  path = formatdate("YYYY", timeadd(timestamp(), "-${3 * 4}h"))
}
"""
PIECES = [
    *"{}[]()\"`=.,:?!%$#\\\n\0é", "${", "%{", "<<EOT\n", "EOT\n", "...", "/*", "*/", "//", "=>", "for", "in",
    "if", "null", "1e999", "99999999999999999999", "local.root", "file(", "format(\"%999d\", 1)", "\\ud800",
    "partition", "source", "[*]",
]  # fmt: skip


def answer(data: bytes) -> None:
    try:
        load_texts([Text("x.tpc", data)], now=datetime(2024, 1, 31), environ={"HOME": "/h"})
    except ConfigErrors as errors:
        for problem in errors.errors:
            assert problem.place.line >= 1
            assert problem.render()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode(errors="replace")))
def test_any_bytes(data):
    answer(data)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES + WHOLE.split()), max_size=40).map(" ".join))
def test_any_words(text):
    answer(text.encode())


@settings(max_examples=500, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 30), st.sampled_from(["", *PIECES])), max_size=4))
def test_mutations_of_a_whole_file(edits):
    text = WHOLE
    for at, length, piece in edits:
        text = text[:at] + piece + text[at + length :]
    answer(text.encode())


def test_the_whole_file_loads():
    load_texts([Text("x.tpc", WHOLE.encode())], now=datetime(2024, 1, 31), environ={"HOME": "/h"})


@pytest.mark.parametrize(
    "expression",
    [
        "[" * 5000 + "]" * 5000,
        "(" * 90 + "1" + ")" * 90,
        "!" * 5000 + "true",
        "1" + " + 1" * 20000,
        '"${' * 200 + "1" + '}"' * 200,
    ],
)
def test_deep_nesting(expression):
    answer(f'source "http" {{\n  body = {expression}\n}}'.encode())
