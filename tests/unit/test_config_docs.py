"""The pages about the configuration say all that is declared, and what they show is true."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tailrace.config.attributes import BlockType
from tailrace.config.declare import BLOCK_TYPES, IGNORED_DELIMITED
from tailrace.config.functions import FUNCTIONS
from tailrace.config.load import load_texts
from tailrace.config.places import Text

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "config"
ON_OTHER_PAGES = {"column": "table", "tier": "store", "locals": "index", "variable": "index"}
NOON = datetime(2024, 1, 31, 12)
CALL = re.compile(r"^\| `(\w+)(\(.*\))` \| `(.*)` \|$", re.MULTILINE)
CODE = re.compile(r"^\| `(config\.[a-z-]+)` \|", re.MULTILINE)
FAMILIES = ("unknown-", "bad-")
"Codes that are put together from the kind of thing that is wrong."


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


def calls() -> list[tuple[str, str, str]]:
    functions = (PAGES / "index.md").read_text().partition("\n## Functions\n")[2].partition("\n## ")[0]
    return CALL.findall(functions)


@pytest.mark.parametrize(("name", "arguments", "value"), calls())
def test_functions_give_what_is_said(name: str, arguments: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "example.txt").write_text("from a file beside this one\n")
    text = f'format "jsonl" "x" {{\n description = jsonencode({name}{arguments})\n}}'
    config = load_texts([Text("a.tpc", text.encode(), str(tmp_path))], now=NOON, environ={"HOME": "/home/me"})
    (spec,) = config.formats
    assert json.loads(spec.description) == json.loads(value)


def test_every_function_is_documented() -> None:
    assert {name for name, _, _ in calls()} == set(FUNCTIONS)


def codes_in(file: Path) -> Iterator[str]:
    """Codes that are spelled out where errors and warnings are made."""
    for call in ast.walk(ast.parse(file.read_text())):
        if not isinstance(call, ast.Call):
            continue
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("error", "warn", "make"):
            given = [f"config.{code}" for argument in call.args[2:3] for code in texts(argument)]
        else:
            given = [code for word in call.keywords if word.arg == "code" for code in texts(word.value)]
        yield from (code for code in given if re.fullmatch(r"config\.[a-z]+(-[a-z]+)*", code))


def texts(node: ast.AST) -> Iterator[str]:
    """Whole texts: not the pieces of one that is put together."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*texts(node.body), *texts(node.orelse))


def test_every_code_is_documented() -> None:
    source = ROOT / "src" / "tailrace"
    used = {code for file in source.rglob("*.py") for code in codes_in(file)}
    told = CODE.findall((PAGES / "errors.md").read_text())
    assert len(told) == len(set(told))
    assert used - set(told) == set()
    assert {code for code in set(told) - used if not code.removeprefix("config.").startswith(FAMILIES)} == set()
