"""Grok text → one regular expression whose groups are numbered and know their fields and types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import regex

from tailrace.core import ConfigError, Grok, Regex
from tailrace.core.errors import PatternError
from tailrace.core.patterns import LONGEST, too_long
from tailrace.core.registry import unknown
from tailrace.formats.grok_patterns import standard_patterns

TYPES = {
    "int": "bigint",
    "integer": "bigint",
    "long": "bigint",
    "float": "double",
    "double": "double",
    "bool": "boolean",
    "boolean": "boolean",
    "string": "varchar",
    "text": "varchar",
}
"Type words of `%{NAME:field:type}` → column types."

_GROUP = r"\(\?P?<(?P<group>[^=!<>][^<>]*)>"
_SKIPPED = r"\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]"
_REFERENCE = r"%\{(?P<name>\w+)(?::(?P<field>[^:{}]+))?(?::(?P<type>\w+))?\}"
_GROK_PIECE = re.compile(rf"{_SKIPPED}|{_GROUP}|{_REFERENCE}|(?P<broken>%\{{[^}}]*\}}?)")
_REGEX_PIECE = re.compile(rf"{_SKIPPED}|{_GROUP}")
_BRACKETED = re.compile(r"(?:\[[^\[\]]+\])+")


@dataclass(frozen=True, slots=True)
class Capture:
    """One group of an expression: the field it fills and the type its text was declared with, if any."""

    group: str
    field: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression to search for in lines. Of groups with one field the first that matched wins."""

    text: str
    captures: tuple[Capture, ...]
    kind: str
    "`grok` or `regex`: the word that begins the reason of a line without match."
    source: str
    "As it was written, for messages."

    @property
    def fields(self) -> tuple[str, ...]:
        """Field names in order of their first group, each once."""
        return tuple(dict.fromkeys(capture.field for capture in self.captures))

    @property
    def types(self) -> dict[str, str]:
        """Column types of the fields that were declared with one."""
        return {capture.field: capture.type for capture in self.captures if capture.type}


@lru_cache(maxsize=64)
def compiled(format: Grok | Regex) -> Expression:
    """The expression of a format, or a ConfigError that says where in which pattern it is wrong."""
    if isinstance(format, Regex):
        return _compile(format.layout, {}, "regex", _REGEX_PIECE)
    return _compile(format.layout, {**standard_patterns(), **dict(format.patterns)}, "grok", _GROK_PIECE)


def expressions_of(format: Grok | Regex) -> list[Expression]:
    """All expressions of a format, in the order in which they are tried."""
    others = format.also if isinstance(format, Regex) else ()
    if format.start is not None:
        checked_start(format.start)
    first = Grok(format.layout, format.patterns) if isinstance(format, Grok) else Regex(format.layout)
    return [compiled(first), *(compiled(Regex(text)) for text in others)]


def checked_start(pattern: str) -> str:
    """The pattern that begins a record of several lines, or a ConfigError that says what is wrong with it."""
    if len(pattern) > LONGEST:
        raise too_long("the pattern that begins a record", pattern, "config.start")
    try:
        regex.compile(pattern)
    except regex.error as error:
        raise PatternError(
            f"the pattern that begins a record is no regular expression: {error.msg}",
            pattern=pattern,
            at=error.pos or 0,
            code="config.start",
        ) from None
    return pattern


def _compile(layout: str, patterns: Mapping[str, str], kind: str, piece: re.Pattern[str]) -> Expression:
    expansion = _Expansion(layout, patterns, kind, piece)
    expansion.add(layout, None, ())
    text = expansion.checked(0)
    if not expansion.captures:
        raise ConfigError(
            f"the {kind} layout captures no field",
            code=f"config.{kind}",
            hint="write %{NAME:field}" if kind == "grok" else "write (?<field>...)",
        )
    return Expression(text, tuple(expansion.captures), kind, layout)


@dataclass
class _Expansion:
    """Text that grows as patterns take the place of their names; remembers where each part came from."""

    layout: str
    patterns: Mapping[str, str]
    kind: str
    piece: re.Pattern[str]
    out: list[str] = field(default_factory=list)
    captures: list[Capture] = field(default_factory=list)
    origins: list[tuple[int, str | None, int]] = field(default_factory=list)
    length: int = 0

    def add(self, text: str, owner: str | None, inside: tuple[str, ...]) -> None:
        done = 0
        for found in self.piece.finditer(text):
            parts = found.groupdict()
            if not any(parts.values()):
                continue
            self._emit(text[done : found.start()], owner, done)
            done = found.end()
            if parts.get("broken"):
                raise self._error(f"cannot read '{found[0]}'", owner, found.start())
            if parts["group"]:
                self._emit(self._open(parts["group"], None), owner, found.start())
            else:
                self._refer(parts, owner, found.start(), inside)
        self._emit(text[done:], owner, done)

    def _refer(self, parts: dict[str, str | None], owner: str | None, at: int, inside: tuple[str, ...]) -> None:
        name, field_name, type_word = str(parts["name"]), parts["field"], parts["type"]
        if name not in self.patterns:
            raise self._misnamed("grok-pattern", name, self.patterns, owner, at)
        if name in inside:
            raise self._error(f"pattern '{name}' contains itself: {' → '.join((*inside, name))}", owner, at)
        if type_word and type_word not in TYPES:
            raise self._misnamed("grok-type", type_word, TYPES, owner, at)
        opening = self._open(field_name, TYPES[type_word] if type_word else None) if field_name else "(?:"
        self._emit(opening, owner, at)
        begin = len(self.out)
        self.add(self.patterns[name], name, (*inside, name))
        if standard_patterns().get(name) != self.patterns[name]:
            self.checked(begin)  # alone, lest it closes a parenthesis that is not its own
        self._emit(")", owner, at)

    def _open(self, field_name: str, type: str | None) -> str:
        name = field_name.strip()
        if _BRACKETED.fullmatch(name):
            name = ".".join(name[1:-1].split("]["))
        group = f"f{len(self.captures)}"
        self.captures.append(Capture(group, name, type))
        return f"(?P<{group}>"

    def _emit(self, text: str, owner: str | None, at: int) -> None:
        if text:
            self.origins.append((self.length, owner, at))
            self.out.append(text)
            self.length += len(text)
            if self.length > LONGEST:
                raise too_long(f"the {self.kind} layout", self.layout, f"config.{self.kind}")

    def checked(self, begin: int) -> str:
        """The text since then, once it compiles; a fault in it is told in terms of what was written."""
        text = "".join(self.out[begin:])
        try:
            regex.compile(text, regex.ASCII)
        except regex.error as error:
            position = self.length - len(text) + (error.pos or 0)
            start, owner, at = max(o for o in self.origins if o[0] <= position)
            hint = "put a backslash before a sign that is meant as it stands, such as \\[ or \\("
            raise self._error(error.msg, owner, at + position - start, hint=hint) from None
        return text

    def _misnamed(self, what: str, name: str, known: Iterable[str], owner: str | None, at: int) -> PatternError:
        told = unknown(what, name, known)
        return self._error(told.message.replace("grok-", "grok "), owner, at, told.code, told.hint)

    def _error(
        self, message: str, owner: str | None, at: int, code: str | None = None, hint: str | None = None
    ) -> PatternError:
        pattern = self.patterns[owner] if owner else self.layout
        code, where = code or f"config.{self.kind}", self._place(owner, at)
        return PatternError(message, pattern=pattern, at=at, code=code, where=where, hint=hint)

    def _place(self, owner: str | None, at: int) -> str:
        return f"{f'pattern {owner}' if owner else f'{self.kind} layout'}, character {at + 1}"
