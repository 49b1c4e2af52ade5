"""A layout taken apart at its slashes: which directories lead to the part of a path that names the date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from tailrace.sources.layout import Layout

_LITERAL = r"(?:[\w .=:@,-]|\\[.\-])"
_DATE = r"%\{(?:YEAR:year|MONTHNUM2?:month|MONTHDAY:day)\}"
_DATED = re.compile(rf"(?:{_LITERAL}|/)*{_DATE}(?:{_LITERAL}|/|{_DATE})*")
_PIECE = re.compile(rf"({_DATE})|((?:{_LITERAL}|/)+)")
_SPANS = re.compile(r"%\{GREEDYDATA|(?<!\\)\.[*+?{]|\[\^|\\[SWD]")
"What may reach over a slash: only a search of all directories below can tell."
_SAFE_PATTERN = re.compile(r"[\w\\|()?:+*{},=-]*")
_MOST_BRANCHES = 16


@dataclass(frozen=True, slots=True)
class Segment:
    """One directory on the way: a name, a pattern of names (`name` is None), or any depth of them (`spans`)."""

    layout: Layout
    name: str | None = None
    spans: bool = False

    def accepts(self, name: str) -> bool:
        if self.name is not None:
            return name == self.name
        return self.spans or self.layout.match(name) is not None


@dataclass(frozen=True)
class Dates:
    """The part of a layout made of dates and fixed text; `pieces` are texts or `year`, `month`, `day`."""

    pieces: tuple[tuple[str, bool], ...]
    ends: bool
    "Nothing follows it in the layout."

    @cached_property
    def parts(self) -> tuple[str, ...]:
        return tuple(text for text, is_date in self.pieces if is_date)

    @property
    def sorted(self) -> bool:
        """Do later days have greater names?"""
        return self.parts == ("year", "month", "day")[: len(self.parts)]

    @property
    def levels(self) -> int:
        """How many directories the date is spread over."""
        text = "".join("0" if is_date else text for text, is_date in self.pieces)
        return text.count("/")

    def open_with(self, name: str) -> bool:
        """May a directory of that name be the first of a date?"""
        text = "".join(r"\d+" if is_date else re.escape(text) for text, is_date in self.pieces)
        return "/" in text and re.fullmatch(text.partition("/")[0], name) is not None


@dataclass(frozen=True, slots=True)
class Branch:
    """Directories, and below them dates; without `dates` everything below them has to be looked at."""

    segments: tuple[Segment, ...]
    dates: Dates | None


def branches(layout: Layout | None) -> tuple[Branch, ...]:
    """All ways that the layout's optional parts leave open."""
    if layout is None:
        return (Branch((), None),)
    variants = _variants(layout.text)
    if variants is None or len(variants) > _MOST_BRANCHES:
        return (Branch((), None),)
    return tuple(dict.fromkeys(_branch(text, layout) for text in variants))


def _variants(text: str) -> list[str] | None:
    """The layout with and without each optional group that holds a slash; None where it is too clever."""
    if re.search(r"\[[^\]]*/", text):
        return None
    group = next((g for g in _groups(text) if "/" in text[g[0] : g[1]]), None)
    if group is None:
        return None if _alternatives(text) else [text]
    start, end = group
    inner = text[start + 1 : end - 1].removeprefix("?:")
    if text[end : end + 1] != "?" or inner.startswith("?") or _alternatives(inner):
        return None
    with_group = _variants(text[:start] + inner + text[end + 1 :])
    without = _variants(text[:start] + text[end + 1 :])
    return None if with_group is None or without is None else with_group + without


def _groups(text: str) -> list[tuple[int, int]]:
    """Where the outermost groups begin and end."""
    found: list[tuple[int, int]] = []
    depth = start = 0
    for at, letter in enumerate(text):
        if letter == "(":
            start = at if depth == 0 else start
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth == 0:
                found.append((start, at + 1))
    return found


def _alternatives(text: str) -> bool:
    """A `|` outside all groups."""
    for start, end in reversed(_groups(text)):
        text = text[:start] + text[end:]
    return "|" in text


def _branch(text: str, layout: Layout) -> Branch:
    parts = text.split("/")
    found: list[Segment] = []
    for number, part in enumerate(parts):
        dates = _dates("/".join(parts[number:]), layout)
        if dates is not None:
            return Branch(tuple(found), dates)
        if number + 1 < len(parts):
            found.append(_segment(part, layout, first=number == 0))
    # No date in sight: only fixed names spare anything.
    fixed = next((i for i, segment in enumerate(found) if segment.name is None), len(found))
    return Branch(tuple(found[:fixed]), None)


def _segment(text: str, layout: Layout, *, first: bool) -> Segment:
    if re.fullmatch(f"{_LITERAL}*", text):
        return Segment(layout, name=_plain(text))
    own = dict(layout.patterns)
    used = [own[name] for name in re.findall(r"%\{(\w+)", text) if name in own]
    spans = (first and text.startswith("%{DATA")) or any(not _SAFE_PATTERN.fullmatch(body) for body in used)
    return Segment(Layout(text, layout.patterns), spans=spans or _SPANS.search(text) is not None)


def _dates(rest: str, layout: Layout) -> Dates | None:
    found = _DATED.match(rest)
    names = [name for text in (layout.text, *dict(layout.patterns).values()) for name in _captured(text)]
    if found is None or any(names.count(part) > 1 for part in ("year", "month", "day")):
        return None  # of a name that is captured twice the last wins, and the first may say anything
    if {"YEAR", "MONTHNUM", "MONTHNUM2", "MONTHDAY"} & dict(layout.patterns).keys():
        return None
    # What follows may still be part of the last fixed text: `17.*`, `h=%{HOUR}`.
    after = rest[found.end() :]
    pieces = [
        (date[:-1].rpartition(":")[2], True) if date else (_plain(text), False)
        for date, text in _PIECE.findall(found[0])
    ]
    if after[:1] and after[0] in "*+?{" and not pieces[-1][1]:
        pieces[-1] = (pieces[-1][0][:-1], False)
    dates = Dates(tuple(piece for piece in pieces if piece[0]), not after)
    return dates if "year" in dates.parts and ("month" in dates.parts or "day" not in dates.parts) else None


def _captured(text: str) -> list[str]:
    return re.findall(r"%\{\w+:(\w+)", text) + re.findall(r"\(\?P?<(\w+)>", text)


def _plain(text: str) -> str:
    return text.replace("\\", "")
