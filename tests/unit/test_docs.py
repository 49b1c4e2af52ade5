"""The documentation holds: what is generated is current, examples run, links lead somewhere, nothing is left out."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import click
import pytest
from logfiles import access_lines, today, write
from world import World

from tailrace.cli.demo import CONFIG, QUESTIONS
from tailrace.cli.main import cli
from tailrace.cli.samples import write_samples
from tailrace.config import declare
from tailrace.config.load import load_texts
from tailrace.config.places import Text
from tailrace.core import TP_COLUMNS, Table
from tailrace.core.registry import find_table, table_names
from tailrace.formats import decoder
from tailrace.pipeline.enrich import Enricher

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def loaded(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


sys.path.insert(0, str(DOCS))  # the generator imports its neighbour
generate = loaded(DOCS / "generate.py", "tailrace_docs_generate")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path, *kinds: str) -> Iterator[Block]:
    text = page.read_text()
    for found in FENCE.finditer(text):
        kind = found[1].strip()
        if kind.split(" ")[0] in kinds:
            yield Block(page, text[: found.start()].count("\n") + 1, kind, found[2])


PAGES = sorted(DOCS.rglob("*.md"))
ALL_PAGES = [*PAGES, ROOT / "README.md", CONTRIBUTING, ROOT / "CHANGELOG.md"]
each_page = pytest.mark.parametrize("page", ALL_PAGES, ids=lambda p: str(p.relative_to(ROOT)))


# What is generated


def test_generated_parts_are_current() -> None:
    stale = [str(page.relative_to(ROOT)) for page in generate.out_of_date()]
    assert not stale, "run `make docs`"


def test_generated_parts_are_found_out_when_they_are_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\n<!-- generated: shared-columns -->\nold\n<!-- end -->\n\nby hand\n")
    monkeypatch.setattr(generate, "DOCS", tmp_path)
    ((page, text),) = generate.out_of_date().items()
    assert "tp_timestamp" in text
    assert text.endswith("by hand\n")
    page.write_text(text)
    assert generate.out_of_date() == {}


def regions(page: Path) -> list[str]:
    found: list[str] = generate.regions(page.read_text())
    return found


def test_every_command_and_option_is_documented() -> None:
    for path, command in generate.commands():
        assert f"command {' '.join(path)}" in regions(DOCS / "commands" / f"{path[0]}.md")
        assert command.help
        assert all(p.help for p in command.params if isinstance(p, click.Option)), path
    assert {"commands", "common-options", "exit-codes"} <= set(regions(DOCS / "commands/README.md"))


@pytest.mark.parametrize("name", table_names())
def test_every_table_and_column_is_documented(name: str) -> None:
    page = DOCS / "tables" / f"{name}.md"
    table = find_table(name)
    assert table is not None
    assert f"columns {name}" in regions(page)
    assert f"presets {name}" in regions(page) or not table.presets
    assert all(column.doc for column in table.columns)
    heads = re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE)
    assert heads == ["Configure", "Collect", "Query", "Columns"]
    assert len(list(blocks(page, "sql"))) >= 5
    assert table.doc.split(",")[0].rstrip(".").split(":")[0] in page.read_text()


def test_shared_columns_are_documented() -> None:
    assert "shared-columns" in regions(DOCS / "tables/README.md")
    assert all(column.doc for column in TP_COLUMNS)


def test_every_attribute_of_formats_and_sources_is_documented() -> None:
    found = {what for page in PAGES for what in regions(page)}
    assert {f"attributes {name}" for name in declare.FORMATS} <= found
    assert {"attributes file", "attributes source", "attributes layout"} <= found


# Links and claims


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), f"{page.name} → {target}"
        if anchor:
            heads = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
            assert anchor in slugs, f"{page.name} → {target}"


def test_every_page_can_be_found() -> None:
    linked = {(DOCS / target).resolve() for target in LINK.findall((DOCS / "README.md").read_text())}
    assert {p.resolve() for p in PAGES} - linked == {(DOCS / "README.md").resolve()}


@pytest.mark.parametrize("claim", sorted(set(re.findall(r"`(tests/[^`]+)`", (DOCS / "coverage.md").read_text()))))
def test_tests_that_are_named_exist(claim: str) -> None:
    found = list(ROOT.glob(claim))
    assert found
    assert all(p.is_file() or list(p.rglob("test_*.py")) for p in found)


# Examples


@each_page
def test_configuration_loads(page: Path) -> None:
    texts = [Text(str(block), block.text.encode(), str(page.parent)) for block in blocks(page, "hcl")]
    load_texts(texts, now=datetime(2024, 1, 1), environ={})


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The demo's logs, some of Apache's, and for every other table what its golden pair reads."""
    root = tmp_path_factory.mktemp("docs")
    write_samples(root / "logs", datetime.now(UTC).replace(tzinfo=None))
    write(root / "apache" / "access.log", access_lines(today() - timedelta(days=1), 200))
    world = World(root / "home")
    apache = f'partition "apache_access_log" "www" {{ source "file" {{ paths = ["{root}/apache"] }} }}'
    config = CONFIG.format(logs=root / "logs") + apache
    world.write_config(config)
    assert all(report.clean for report in world.collect())
    others = [name for name in table_names() if f'"{name}"' not in config]
    given = {name: path for name in others for path in (ROOT / "tests" / "golden" / name).glob("in.*")}
    for name, path in given.items():
        config += f'\npartition "{name}" "golden" {{ source "file" {{ paths = ["{path}"] }} }}'
    world.write_config(config)
    reports = world.collect(*(f"{name}.golden" for name in given))
    assert not [report for report in reports if report.error or report.troubles or not report.counts.stored]
    return world


@pytest.mark.parametrize("block", [b for page in ALL_PAGES for b in blocks(page, "sql")], ids=str)
def test_sql_runs_and_has_an_answer(block: Block, lake: World) -> None:
    """A block marked `sql empty` may have none."""
    assert lake.query(block.text) or block.kind == "sql empty"


@pytest.mark.parametrize(("question", "sql"), QUESTIONS)
def test_demo_has_answers(question: str, sql: str, lake: World) -> None:
    assert question.endswith((".", "?"))
    assert lake.query(sql)


def command_lines() -> Iterator[tuple[str, str]]:
    for page in ALL_PAGES:
        for block in blocks(page, "sh", "console", "bash"):
            joined = re.sub(r"\\\n\s*", " ", block.text)
            for line in joined.splitlines():
                for part in re.split(r"\s\|\s|\s&&\s", line.strip().removeprefix("$ ")):
                    if part.startswith("tailrace"):
                        yield str(block), part


@pytest.mark.parametrize(("where", "line"), list(command_lines()))
def test_command_lines_are_understood(where: str, line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    words = words[: words.index(">")] if ">" in words else words
    command: click.Command = cli
    context: click.Context | None = None
    # `--help` and `--version` end the parsing.
    with suppress(click.exceptions.Exit):
        while isinstance(command, click.Group):
            context = command.make_context(command.name, words, parent=context)
            _, inner, words = command.resolve_command(context, [*context._protected_args, *context.args])
            assert inner is not None, where
            command = inner
        command.make_context(command.name, words, parent=context)


# 'Add a table in 10 minutes'


class Whole:
    """All bytes in one block."""

    truncated = False

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __iter__(self) -> Iterator[bytes]:
        return iter([self.data])


def test_the_worked_example_works(tmp_path: Path) -> None:
    (code,) = blocks(CONTRIBUTING, "python")
    given, expected = blocks(CONTRIBUTING, "json")
    module = tmp_path / "caddy_access_log.py"
    module.write_text(code.text)
    table: Table = loaded(module, "tailrace_docs_example").TABLE
    assert table.name == module.stem
    assert f"src/tailrace/tables/{module.name}" in CONTRIBUTING.read_text()
    (batch,) = decoder(table, table.format).decode(Whole(given.text.encode()))
    assert (batch.rows, batch.flagged, len(batch.bad)) == (3, 1, 1)
    wanted = json.loads(expected.text)
    assert batch.extra is not None
    assert json.loads(batch.extra[0].as_py()) == wanted["extra"]
    for name, value in wanted["row"].items():
        found = batch.columns[name][0].as_py()
        assert (str(found) if isinstance(found, datetime) else found) == value
    shared = Enricher(table).made(batch.columns, batch.rows)
    assert shared["tp_ips"].to_pylist() == [["192.0.2.7"], ["2001:db8::1"], ["192.0.2.8"]]
    assert shared["tp_usernames"].to_pylist() == [["alice"], None, None]
