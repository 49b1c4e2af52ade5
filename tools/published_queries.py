"""Queries in files that others have published: SQL, blocks of Markdown pages, mods of Powerpipe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tailrace.config.evaluate import Evaluator
from tailrace.config.functions import Surroundings
from tailrace.config.limits import Budget
from tailrace.config.places import Problem, Report, Text
from tailrace.config.syntax import Attribute, Block, parse

FENCE = re.compile(r"^[ \t]*```[ \t]*sql\b[^\n]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE | re.IGNORECASE)
PARAMETER = re.compile(r"\$(\d+)")


@dataclass(frozen=True, slots=True)
class Query:
    """One query, and where it stands."""

    file: Path
    name: str
    sql: str
    problem: str = ""
    "Why its text could not be made out."


def queries_in(folder: Path) -> Iterator[Query]:
    """All queries below a folder, or in one file."""
    files = [folder] if folder.is_file() else sorted(path for path in folder.rglob("*") if path.is_file())
    for file in files:
        if file.suffix == ".sql":
            yield Query(file, "1", file.read_text())
        elif file.suffix == ".md":
            for number, block in enumerate(FENCE.findall(file.read_text()), 1):
                yield Query(file, str(number), block)
    mods: dict[Path, list[Path]] = {}
    for file in files:
        if file.suffix == ".pp":
            mods.setdefault(_mod_of(file), []).append(file)
    for root, inner in mods.items():
        yield from _of_mod(root, inner)


def _mod_of(file: Path) -> Path:
    """The folder whose files share their locals: that of `mod.pp`."""
    return next((folder for folder in file.parents if (folder / "mod.pp").is_file()), file.parent)


def _of_mod(root: Path, wanted: list[Path]) -> Iterator[Query]:
    report = Report()
    texts = [Text(str(file), file.read_bytes()) for file in sorted(root.rglob("*.pp"))]
    files = {text.file: parse(text, report) for text in texts}
    local: dict[str, Attribute] = {}
    for block in (block for file in files.values() for block in file.blocks if block.kind == "locals"):
        local |= block.attributes
    around = Surroundings(datetime.now(UTC).replace(tzinfo=None), {})
    evaluator = Evaluator(report, around, local, Budget(sum(len(text.data) for text in texts)))
    for file in wanted:
        for block in _inner(files[str(file)]):
            if "sql" in block.attributes:
                name = " ".join((block.kind, *block.labels))
                yield Query(file, name, *_sql(block.attributes["sql"], evaluator))


def _inner(block: Block) -> Iterator[Block]:
    for inner in block.blocks:
        yield inner
        yield from _inner(inner)


def _sql(attribute: Attribute, evaluator: Evaluator) -> tuple[str, str]:
    evaluator.budget.renew()
    try:
        return with_values(str(evaluator.value(attribute.expression))), ""
    except Problem as problem:
        return "", problem.message


def with_values(sql: str) -> str:
    """What a dashboard fills in: everything in lists that are searched, and `true` elsewhere."""

    def value(found: re.Match[str]) -> str:
        searched = re.search(rf"\bin\s*\(?\s*\${found[1]}\b", sql, re.IGNORECASE)
        return "('all')" if searched else "'true'"

    return PARAMETER.sub(value, sql)
