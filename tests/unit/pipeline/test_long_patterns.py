"""Patterns that no engine compiles in reasonable time are refused before one tries."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from world import World

from tailrace.core import ConfigError, Grok, Layout, Regex
from tailrace.core.patterns import LONGEST
from tailrace.formats.dialects import parse_layout
from tailrace.formats.grok import compiled, expressions_of
from tailrace.pipeline.check import check
from tailrace.sources.layout import compile_layout

ALTERNATIVES = "|".join(f"word{n:06}" for n in range(300_000))
DOUBLING = {f"P{n}": f"%{{P{n + 1}}}%{{P{n + 1}}}" for n in range(40)} | {"P40": "x"}
"A few hundred characters that stand for a million million."


def refused(config: str, home: Path) -> ConfigError:
    world = World(home)
    world.write_config(config)
    began = time.process_time()
    (problem,) = check(world.config())
    assert time.process_time() - began < 10
    assert len(str(problem)) + len(problem.excerpt) < 2_000, "the pattern is not told as a whole"
    return problem


def test_a_layout_of_alternatives(tmp_path: Path) -> None:
    problem = refused(f'format "regex" "x" {{\n  layout = `(?P<a>{ALTERNATIVES})`\n}}\n', tmp_path)
    assert problem.code == "config.regex"
    assert problem.exit_code == 3
    assert problem.message == "the regex layout has more than 65,536 characters, its patterns included"
    assert str(problem.where).endswith(":2:13")
    assert "filter" in (problem.hint or "")


def test_a_beginning_of_records(tmp_path: Path) -> None:
    text = f'format "regex" "x" {{\n  layout = `(?P<a>.*)`\n  start = `{ALTERNATIVES}`\n}}\n'
    assert refused(text, tmp_path).message.startswith("the pattern that begins a record has more than")


def test_patterns_that_double_each_other() -> None:
    with pytest.raises(ConfigError, match="the grok layout has more than"):
        compiled(Grok("%{P0:x}", tuple(DOUBLING.items())))
    with pytest.raises(ConfigError, match="file_layout has more than"):
        compile_layout("%{P0:x}", DOUBLING)


def test_other_layouts() -> None:
    with pytest.raises(ConfigError, match="file_layout has more than"):
        compile_layout(f"({ALTERNATIVES}).log")
    with pytest.raises(ConfigError, match="the layout has more than"):
        parse_layout(Layout("$a " * LONGEST, "nginx"))


def test_as_long_as_it_may_be() -> None:
    # The name of the group becomes one of two characters.
    body = "|".join(f"w{n:05}" for n in range(9_000))
    fits = f"(?P<ab>{body}|{'y' * (LONGEST - len(body) - 9)})"
    assert len(fits) == LONGEST
    assert len(expressions_of(Regex(fits))[0].text) == LONGEST
    with pytest.raises(ConfigError):
        expressions_of(Regex(fits.replace("|y", "|yy")))
