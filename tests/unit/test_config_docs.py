"""The pages about the configuration say all that is declared, and what they show is true."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from tailrace.cli.main import cli
from tailrace.config.attributes import BlockType
from tailrace.config.declare import BLOCK_TYPES, IGNORED_DELIMITED
from tailrace.config.functions import FUNCTIONS
from tailrace.config.load import load_texts
from tailrace.config.places import Text

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "config"
ON_OTHER_PAGES = {"column": "table", "tier": "store", "locals": "index", "variable": "index"}
NOON = datetime(2024, 1, 31, 12)
EXAMPLE = re.compile(r"^\| .*?(`` `.+` ``|`[^`]+`) \| `(.*)` \|$", re.MULTILINE)


def page_of(block: str) -> str:
    return (PAGES / f"{ON_OTHER_PAGES.get(block, block)}.md").read_text()


def within(block: BlockType) -> Iterator[BlockType]:
    yield block
    for inner in (*block.types.values(), *block.blocks.values()):
        if inner.name not in BLOCK_TYPES or inner is block.types.get(inner.name):
            yield from within(inner)


@pytest.mark.parametrize("name", BLOCK_TYPES)
def test_everything_that_is_declared_is_on_the_page(name: str) -> None:
    page = page_of(name)
    for block in within(BLOCK_TYPES[name]):
        assert block.doc in page or name in ON_OTHER_PAGES
        for attribute, declared in block.attributes.items():
            assert declared.doc
            assert f"| `{attribute}` |" in page or attribute in IGNORED_DELIMITED, f"{block.name}: {attribute}"
            assert declared.doc.replace("|", "\\|") in page or attribute in IGNORED_DELIMITED


@pytest.mark.parametrize("name", [name for name in BLOCK_TYPES if name not in ON_OTHER_PAGES])
def test_every_block_has_an_example(name: str) -> None:
    example = BLOCK_TYPES[name].example
    assert example.startswith(name)
    assert f"```hcl\n{example}\n```" in page_of(name)


def test_every_page_is_about_a_block() -> None:
    blocks = {name for name in BLOCK_TYPES if name not in ON_OTHER_PAGES}
    assert {page.stem for page in PAGES.glob("*.md")} == blocks | {"index", "errors"}


def examples(head: str) -> list[tuple[str, str]]:
    """Expressions and their values, from the tables below a heading of the index."""
    part = (PAGES / "index.md").read_text().partition(f"\n## {head}\n")[2].partition("\n## ")[0]
    return [(code.strip("`").strip() if code[1] != "`" else code[3:-3], value) for code, value in EXAMPLE.findall(part)]


@pytest.mark.parametrize(("expression", "value"), [*examples("Language"), *examples("Functions")])
def test_expressions_give_what_is_said(expression: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "example.txt").write_text("from a file beside this one\n")
    text = f'format "jsonl" "x" {{\n description = jsonencode({expression})\n}}'
    config = load_texts([Text("a.tpc", text.encode(), str(tmp_path))], now=NOON, environ={"HOME": "/home/me"})
    (spec,) = config.formats
    assert json.loads(spec.description) == json.loads(value)


def test_every_function_is_documented() -> None:
    assert {expression.partition("(")[0] for expression, _ in examples("Functions")} == set(FUNCTIONS)
    assert len(examples("Language")) == 12


def fenced(page: str, kind: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{kind}\n(.*?)^```$", (PAGES / page).read_text(), re.DOTALL | re.MULTILINE)
    return found


def test_errors_look_as_they_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (wrong,), (told,) = fenced("errors.md", "tpc"), fenced("errors.md", "text")
    (tmp_path / "web.tpc").write_text(wrong)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["--config-path", "web.tpc", "config", "validate"])
    assert result.exit_code == 3
    assert result.stderr == told
    assert all((ROOT / page).is_file() for page in re.findall("more: (.*)", told))


@pytest.mark.parametrize("page", ["sink.md", "listener.md", "window.md"])
def test_toml_loads(page: str) -> None:
    texts = [Text("a.toml", text.encode()) for text in fenced(page, "toml")]
    assert len(load_texts(texts, now=NOON, environ={}).others) == 1
