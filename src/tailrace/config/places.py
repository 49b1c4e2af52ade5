"""Places in configuration files, and the errors and warnings that point at them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tailrace.config.secrets import starred
from tailrace.core.errors import ConfigError
from tailrace.core.registry import holding, nearest

if TYPE_CHECKING:
    from tailrace.config.model import Config
    from tailrace.config.syntax import Block

_WIDEST_EXCERPT = 160
_WORD = re.compile(r"[\w-]+(?: [\w-]+)*")
_NAME_AT = re.compile(rb"[\"`.]?([\w\-.]+)")
_WHERE_MISSED = frozenset(
    f"config.{code}" for code in ("dangling-reference", "unknown-table", "unknown-name", "unknown-workspace")
)
"What may be wrong only because a block could not be read."
_SHORTEST_HIDDEN = 3
_MOST_KNOWN = 30
_LONGEST_NAME = 100
"Likeness is costly to find between long texts."
_PAGES = {
    **{kind: kind for kind in ("connection", "format", "listener", "partition", "schema", "sink", "source")},
    **{kind: kind for kind in ("store", "table", "window", "workspace")},
    "collection": "partition",
    "dataset": "schema",
    "column": "table",
    "tier": "store",
}
"Blocks and the pages that describe them."
GENERAL_PAGE = "docs/config/index.md"
"About files, expressions, variables and functions."


class Where(NamedTuple):
    """A place in a file; lines and columns count from 1, columns in characters. Line 0: not in a file at all."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Problem(ConfigError):
    """One thing that is wrong in a configuration file, with the line it stands on and a caret."""

    def __init__(
        self, message: str, code: str, place: Where, hint: str | None = None, excerpt: str = "", page: str = ""
    ) -> None:
        super().__init__(message, code=code, where=str(place), hint=hint)
        self.place = place
        self.excerpt = excerpt
        self.page = page

    def __reduce__(self) -> tuple[object, ...]:
        return (Problem, (self.message, self.code, self.place, self.hint, self.excerpt, self.page))

    def render(self) -> str:
        """The message as people read it: place, line, caret, remedy, where to read more."""
        parts = [f"{self} [{self.code}]", *self.excerpt.splitlines()]
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        if self.page:
            parts.append(f"  more: {self.page}")
        return "\n".join(parts)


class ConfigErrors(ConfigError):
    """Everything that is wrong with a configuration, in the order of the files."""

    def __init__(self, errors: Iterable[Problem], config: Config | None = None) -> None:
        self.errors = tuple(sorted(errors, key=lambda problem: (problem.place, problem.message)))
        super().__init__("\n".join(problem.render() for problem in self.errors))
        self.config = config
        "What could be read all the same, so that more can be said about it."

    def __reduce__(self) -> tuple[object, ...]:
        return (ConfigErrors, (self.errors,))


class Text:
    """The bytes of one file, and how offsets in it read for people."""

    def __init__(self, file: str, data: bytes, directory: str = ".") -> None:
        self.file = file
        self.data = data
        self.directory = directory
        self._starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]

    def where(self, offset: int) -> Where:
        """Line and column of a byte offset."""
        line = bisect_right(self._starts, offset)
        before = self.data[self._starts[line - 1] : offset]
        return Where(self.file, line, len(before.decode(errors="replace")) + 1)

    def offset(self, where: Where) -> int:
        """The byte offset of a place."""
        start = self._starts[where.line - 1]
        line = self.data[start : start + 4 * where.column].decode(errors="replace")
        return start + len(line[: where.column - 1].encode())

    def excerpt(self, where: Where) -> str:
        """The line of a place and a caret below it; secrets on it are starred out."""
        start = self._starts[where.line - 1]
        end = self.data.find(b"\n", start)
        line = self.data[start : end if end >= 0 else None].decode(errors="replace").rstrip().replace("\t", " ")
        line = starred(line)
        first = max(0, where.column - _WIDEST_EXCERPT // 2) if len(line) > _WIDEST_EXCERPT else 0
        shown = line[first : first + _WIDEST_EXCERPT]
        return f"  | {shown}\n  | {' ' * (where.column - 1 - first)}^"


class Outline:
    """The files as they are written, for whoever finds fault with them now or later."""

    def __init__(self) -> None:
        self.texts: dict[str, Text] = {}
        self._roots: dict[str, Block] = {}
        self._strings: dict[str, Mapping[int, tuple[object, ...]]] = {}
        self._hidden: set[str] = set()
        self._blocks: dict[Where, Block] = {}

    def knows(self, text: Text) -> None:
        """Lines of this file may be shown from now on."""
        self.texts[text.file] = text

    def holds(self, file: str, root: Block, strings: Mapping[int, tuple[object, ...]]) -> None:
        """The file has been read; `strings` are its texts by offset."""
        self._roots[file] = root
        self._strings[file] = strings

    def hide(self, value: object) -> None:
        """Texts in this value are secret: they are starred out wherever they would be shown."""
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            self.hide(inner)
        if isinstance(value, str) and len(value) >= _SHORTEST_HIDDEN:
            self._hidden.add(value)

    @property
    def hidden(self) -> frozenset[str]:
        """Texts that are never to be shown."""
        return frozenset(self._hidden)

    def redacted(self, text: str) -> str:
        """The text without secrets."""
        for secret in sorted(self._hidden, key=len, reverse=True):
            text = text.replace(secret, "*" * len(secret))
        return text

    def problem(self, where: Where, message: str, code: str, hint: str | None = None) -> Problem:
        """Something wrong at a place."""
        text = self.texts.get(where.file) if where.line else None
        excerpt = self.redacted(text.excerpt(where)) if text else ""
        hint = self.redacted(hint) if hint else None
        return Problem(self.redacted(message), f"config.{code}", where, hint, excerpt, self._page(where))

    def value(self, block: Where, *path: str) -> Where:
        """Where the value of an attribute stands; `"column x", "transform"` leads through a block inside."""
        if not self._blocks:
            self._index(self._roots.values())
        found = self._blocks.get(block)
        for step in path:
            if found is None:
                break
            if step in found.attributes:
                return found.attributes[step].expression.where
            found = next((b for b in found.blocks if " ".join((b.kind, *b.labels)) == step), None)
        return found.where if found else block

    def find_text(self, text: str, after: Where) -> Where | None:
        """Where a text is written out, if it is: best in that file after that place."""
        found = [
            self.texts[file].where(at)
            for file, strings in self._strings.items()
            for at, pieces in strings.items()
            if pieces == (text,)
        ]
        return min(found, key=lambda where: (where.file != after.file, where < after, where), default=None)

    def _index(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            self._blocks[block.where] = block
            self._index(block.blocks)

    def _page(self, where: Where) -> str:
        """The page about the innermost block around a place."""
        block = self._roots.get(where.file)
        page = GENERAL_PAGE
        if block is not None and where.line:
            offset = self.texts[where.file].offset(where)
            while block is not None:
                page = f"docs/config/{_PAGES[block.kind]}.md" if block.kind in _PAGES else page
                block = next((inner for inner in block.blocks if inner.start <= offset < inner.end), None)
        return page

    def __reduce__(self) -> tuple[object, ...]:
        return (Outline, ())


class Report:
    """Collects problems and warnings, each once, so that a user sees all of them in one run."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._problems: dict[tuple[Where, str], Problem] = {}
        self._warnings: dict[tuple[Where, str], Problem] = {}
        self._missed: set[str] = set()

    def misses(self, data: bytes) -> None:
        """This text of a file cannot be read: any name in it may be one that others refer to."""
        self._missed.update(_WORD.findall(data.decode(errors="replace")))

    def knows(self, text: Text) -> None:
        """Lines of this file may be shown from now on."""
        self.outline.knows(text)

    def hide(self, value: object) -> None:
        """Never show the texts in this value."""
        self.outline.hide(value)

    @property
    def is_empty(self) -> bool:
        """Was nothing wrong so far?"""
        return not self._problems

    def make(self, where: Where, message: str, code: str, hint: str | None = None) -> Problem:
        """A problem that is not yet part of the report, to be raised."""
        return self.outline.problem(where, message, code, hint)

    def add(self, problem: Problem) -> None:
        """Take in a problem that was raised."""
        if self._missed and problem.code in _WHERE_MISSED and self._name_at(problem.place) in self._missed:
            return
        self._problems.setdefault((problem.place, problem.message), problem)

    def _name_at(self, where: Where) -> str | None:
        """The name that stands at a place, or the last part of it."""
        text = self.outline.texts.get(where.file)
        named = _NAME_AT.match(text.data, text.offset(where)) if text and where.line else None
        return named[1].decode().rpartition(".")[2] if named else None

    def error(self, where: Where, message: str, code: str, hint: str | None = None) -> None:
        """Note an error and go on."""
        self.add(self.make(where, message, code, hint))

    def refused(self, where: Where, error: ConfigError) -> None:
        """Note an error that was raised by somebody who does not know the place."""
        self.error(where, error.message, error.code.removeprefix("config."), error.hint)

    def unknown(self, where: Where, kind: str, name: str, known: Iterable[str], otherwise: str = "") -> None:
        """Note a name that does not exist, with the nearest one that does."""
        known = tuple(known)
        hint = meant(name, known, otherwise) if known or kind != "block" else f"write an attribute: {name} = …"
        self.error(where, f"unknown {kind} '{name}'", f"unknown-{kind.replace(' ', '-')}", hint)

    def warn(self, where: Where, message: str, code: str, hint: str | None = None) -> None:
        """Note something that works but is probably not meant."""
        self._warnings.setdefault((where, message), self.make(where, message, code, hint))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The errors so far."""
        return tuple(self._problems.values())

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(sorted(self._warnings.values(), key=lambda problem: problem.place))

    def check(self, config: Config) -> None:
        """Raise everything that was noted, if anything was."""
        if self._problems:
            raise ConfigErrors(self._problems.values(), config)


def meant(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A hint for an unknown name: the nearest known one; where none is near, what else to do, or all of them."""
    known = sorted(set(known))
    name, usual = name[:_LONGEST_NAME], [other for other in known if len(other) <= _LONGEST_NAME]
    guess = nearest(name, usual) or holding(name, usual)
    if guess:
        return f"did you mean '{guess}'?"
    if otherwise:
        return otherwise
    more = f" and {len(known) - _MOST_KNOWN} more" if len(known) > _MOST_KNOWN else ""
    return f"known: {', '.join(known[:_MOST_KNOWN]) or 'none'}{more}"
