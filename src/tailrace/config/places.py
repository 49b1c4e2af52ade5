"""Places in configuration files, and the errors and warnings that point at them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from tailrace.core.errors import ConfigError
from tailrace.core.registry import nearest

SECRET_NAME = re.compile(r"secret|token|password|credential|key", re.IGNORECASE)
_SECRET_TEXT = re.compile(r"(\w*(?:secret|token|password|credential|key)\w*\s*[=:]\s*[\"`])([^\"`]*)", re.IGNORECASE)
_WIDEST_EXCERPT = 160


@dataclass(frozen=True, slots=True, order=True)
class Where:
    """A place in a file; lines and columns count from 1, columns in characters."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Problem(ConfigError):
    """One thing that is wrong in a configuration file, with the line it stands on and a caret."""

    def __init__(self, message: str, code: str, place: Where, hint: str | None = None, excerpt: str = "") -> None:
        super().__init__(message, code=code, where=str(place), hint=hint)
        self.place = place
        self.excerpt = excerpt

    def __reduce__(self) -> tuple[object, ...]:
        return (Problem, (self.message, self.code, self.place, self.hint, self.excerpt))

    def render(self) -> str:
        """The message as people read it: place, line, caret, remedy."""
        parts = [str(self), *self.excerpt.splitlines()]
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)


class ConfigErrors(ConfigError):
    """Everything that is wrong with a configuration, in the order of the files."""

    def __init__(self, errors: Iterable[Problem]) -> None:
        self.errors = tuple(sorted(errors, key=lambda problem: problem.place))
        super().__init__("\n".join(problem.render() for problem in self.errors))

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

    def excerpt(self, where: Where) -> str:
        """The line of a place and a caret below it; secrets on it are starred out."""
        start = self._starts[where.line - 1]
        end = self.data.find(b"\n", start)
        line = self.data[start : end if end >= 0 else None].decode(errors="replace").rstrip().replace("\t", " ")
        line = _SECRET_TEXT.sub(lambda match: match[1] + "*" * len(match[2]), line)
        first = max(0, where.column - _WIDEST_EXCERPT // 2) if len(line) > _WIDEST_EXCERPT else 0
        shown = line[first : first + _WIDEST_EXCERPT]
        return f"  | {shown}\n  | {' ' * (where.column - 1 - first)}^"


class Report:
    """Collects problems and warnings, each once, so that a user sees all of them in one run."""

    def __init__(self) -> None:
        self._texts: dict[str, Text] = {}
        self._problems: dict[tuple[Where, str], Problem] = {}
        self._warnings: dict[tuple[Where, str], Problem] = {}

    def knows(self, text: Text) -> None:
        """Lines of this file may be shown from now on."""
        self._texts[text.file] = text

    def make(self, where: Where, message: str, code: str, hint: str | None = None) -> Problem:
        """A problem that is not yet part of the report, to be raised."""
        text = self._texts.get(where.file)
        return Problem(message, f"config.{code}", where, hint, text.excerpt(where) if text else "")

    def add(self, problem: Problem) -> None:
        """Take in a problem that was raised."""
        self._problems.setdefault((problem.place, problem.message), problem)

    def error(self, where: Where, message: str, code: str, hint: str | None = None) -> None:
        """Note an error and go on."""
        self.add(self.make(where, message, code, hint))

    def unknown(self, where: Where, kind: str, name: str, known: Iterable[str]) -> None:
        """Note a name that does not exist, with the nearest one that does."""
        self.error(where, f"unknown {kind} '{name}'", f"unknown-{kind.replace(' ', '-')}", meant(name, known))

    def warn(self, where: Where, message: str, code: str, hint: str | None = None) -> None:
        """Note something that works but is probably not meant."""
        self._warnings.setdefault((where, message), self.make(where, message, code, hint))

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(sorted(self._warnings.values(), key=lambda problem: problem.place))

    def check(self) -> None:
        """Raise everything that was noted, if anything was."""
        if self._problems:
            raise ConfigErrors(self._problems.values())


def meant(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the nearest known one, or all of them."""
    known = sorted(set(known))
    guess = nearest(name, known)
    return f"did you mean '{guess}'?" if guess else f"known: {', '.join(known) or 'none'}"
