"""Which examples of other documentation `config validate` takes: `tools/hcl_examples.py FOLDER…` (.md and .tpc files).

An example often refers to blocks that it leaves out: a connection, a table of the example above it. Such a one is
loaded again beside the other examples of its page, with what is still missing declared, and counted on its own. Its
text is never changed.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tailrace.config import Config, ConfigErrors, Problem
from tailrace.config.load import load_texts
from tailrace.config.places import Text
from tailrace.pipeline.check import check

FENCE = re.compile(r"^[ \t]*```[ \t]*([\w.-]*)[^\n]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
LANGUAGES = {"hcl", "h", "tpc", "terraform"}
BLOCK = re.compile(r'\s*((#|//)[^\n]*\n\s*)*\w+([ \t]+"[^"\n]*")*[ \t]*\{[ \t]*(\n|\}|#|//)')
"How a block begins, for examples that do not say their language."
MISSING = re.compile(r"(\w+)\.([\w-]+)(?:\.([\w-]+))? does not exist")
NEEDS = {"grok": "layout = `%{GREEDYDATA:line}`", "regex": "layout = `(?<line>.*)`"}
"What a format of that type cannot be without."
AS_IS, COMPLETED, REFUSED = "loaded as they are", "loaded once what they refer to is declared", "refused"


@dataclass(frozen=True, slots=True)
class Example:
    """A piece of configuration and where it stands."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def examples(file: Path) -> Iterator[Example]:
    """The whole of a .tpc file; the fenced blocks of a page that are HCL by name or by look."""
    text = file.read_text(encoding="utf-8", errors="replace")
    if file.suffix == ".tpc":
        yield Example(file, 1, text)
        return
    for found in FENCE.finditer(text):
        if found[1] in LANGUAGES or (not found[1] and BLOCK.match(found[2])):
            yield Example(file, text[: found.start()].count("\n") + 2, found[2])


def problems(text: str, *beside: str) -> list[Problem]:
    """All that `config validate` says against a text, when others are there as well."""
    texts = [Text(f"{number}.tpc", each.encode(), ".") for number, each in enumerate((text, *beside))]
    found: tuple[Problem, ...] = ()
    try:
        config = load_texts(texts, now=datetime(2024, 3, 31), environ={})
    except ConfigErrors as raised:
        found, config = raised.errors, raised.config or Config()
    return [problem for problem in (*found, *check(config)) if problem.place.file == "0.tpc"]


def declared(found: list[Problem]) -> str:
    """Blocks for references that lead nowhere."""
    missing = {match.groups() for problem in found if (match := MISSING.match(problem.message))}
    blocks = []
    for kind, first, second in sorted(missing, key=str):
        labels = f'"{first}" "{second}"' if second else f'"{first}"'
        body = NEEDS.get(first, "") if second else 'type = "jsonl"' if kind == "format" else ""
        blocks.append(f"{kind} {labels} {{\n{body}\n}}\n")
    return "".join(blocks)


def outcome(example: Example, page: list[Example]) -> tuple[str, list[Problem]]:
    """How the example fares, and what is said against it."""
    alone = problems(example.text)
    if not alone:
        return AS_IS, []
    others = [other.text for other in page if other is not example]
    beside = problems(example.text, *others)
    if beside and problems(example.text, *others, declared(beside)):
        return REFUSED, alone
    return COMPLETED, []


def main() -> None:
    """Print what is refused, with the reasons, then the counts."""
    folders = [Path(name) for name in sys.argv[1:]] or sys.exit(__doc__)
    files = sorted(f for folder in folders for f in folder.rglob("*") if f.suffix in {".md", ".mdx", ".tpc"})
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for page in (list(examples(file)) for file in files):
        for example in page:
            result, found = outcome(example, page)
            counts[result] += 1
            reasons.update(sorted({problem.code for problem in found}))
            for problem in found:
                print(f"{example}: {problem.place.line}:{problem.place.column}: {problem.message}")
    for result in (AS_IS, COMPLETED, REFUSED):
        print(f"{counts[result]:5} {result}")
    for code, count in reasons.most_common():
        print(f"{count:5} with {code}")


if __name__ == "__main__":
    main()
