"""Two engines that find an expression in many lines: RE2, and one that backtracks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import regex

from tailrace.core import DataError
from tailrace.formats.grok import Expression
from tailrace.formats.outside import WHOLE, Outside, around, takes_all
from tailrace.formats.regex_tree import parse, unsure_groups

Mask = npt.NDArray[np.bool_]
LINE_SECONDS = 0.2
"How long a backtracking engine may look at one line."
_PATIENCE = 3
"So many lines may take that long where another engine can read them all."
_MOST_TIMEOUTS = 100
"So many, where none can."
_PASS = 4
"RE2 is fast up to this many groups."
_GROUP = re.compile(rf"\(\?P<(f\d+|{WHOLE})>")
_TOKEN = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\\.|\(\??|.", re.DOTALL)
_REFERENCES = re.compile(r"\\[1-9]|\\k|\\g|\(\?P[=>]|\(\?\(")
_REWRITTEN = {
    "(": "(?:",
    r"\s": r"[\t-\r ]",
    r"\S": r"[^\t-\r ]",
    r"\Z": "$",
    r"\z": "$",
    r"\h": "[0-9A-Fa-f]",
}


@dataclass(slots=True)
class Matched:
    """What was found in each line."""

    groups: dict[str, pa.Array]
    "Group → its text per line, null where it took no part in the match or there is none."
    ok: Mask
    "Lines that match."
    slow: tuple[int, ...] = ()
    "Lines that were given up after LINE_SECONDS."
    outside: Outside | None = None
    "What stands outside of the matches; None: they are whole lines."


class Matcher(Protocol):
    """Finds an expression in lines."""

    def match(self, lines: pa.StringArray) -> Matched: ...


def portable(text: str) -> str:
    """The expression as RE2 and the backtracking engine read it alike; unnamed groups capture nothing."""
    if _REFERENCES.search(text):
        return text
    return "".join(_rewritten(token) for token in _TOKEN.findall(text))


def _rewritten(token: str) -> str:
    if token.startswith("[") and r"\s" in token:  # RE2's \s has no vertical tab
        return token.replace(r"\s", r"\t-\r ")
    return _REWRITTEN.get(token, token)


def only(text: str, names: Iterable[str] = ()) -> str:
    """The expression with no groups but these."""
    wanted = set(names)
    return _GROUP.sub(lambda found: found[0] if found[1] in wanted else "(?:", text)


class Backtracking:
    """Every syntax; each line on its own, and for so long only."""

    def __init__(self, expression: Expression, instead: Re2 | None) -> None:
        """`instead` judges the lines that take too long, and after a few of them all lines."""
        self.expression = expression
        self.names = [capture.group for capture in expression.captures]
        self.search = regex.compile(portable(expression.text), regex.ASCII).search
        self.takes_all = takes_all(portable(expression.text))
        self.instead = instead
        self.timeouts = 0

    def match(self, lines: pa.StringArray) -> Matched:
        if self.instead and self.timeouts >= _PATIENCE:
            return self.instead.match(lines)
        rows: list[tuple[str | None, ...] | None] = []
        slow: list[int] = []
        partial: dict[int, tuple[str, str]] = {}
        search, names, takes_all = self.search, self.names, self.takes_all
        for line in lines.to_pylist():
            try:
                found = search(line, timeout=LINE_SECONDS)
            except TimeoutError:
                slow.append(len(rows))
                found = None
                if self._given_up():
                    return self.match(lines)
            if found and not takes_all and found.span() != (0, len(line)):
                partial[len(rows)] = line[: found.start()], line[found.end() :]
            rows.append(found.group(0, *names)[1:] if found else None)
        columns = [[row[i] if row else None for row in rows] for i in range(len(names))]
        groups = {name: pa.array(c, pa.string()) for name, c in zip(names, columns, strict=True)}
        ok = np.array([row is not None for row in rows], bool)
        matched = Matched(groups, ok, tuple(slow), _outside(partial, len(lines)))
        return matched if not slow or self.instead is None else self._settled(lines, matched)

    def _given_up(self) -> bool:
        """Counts a line that took too long: is it one too many?"""
        self.timeouts += 1
        if self.instead is None and self.timeouts > _MOST_TIMEOUTS:
            kind, source = self.expression.kind, self.expression.source
            raise DataError(
                f"the {kind} pattern '{source}' took more than {LINE_SECONDS} s on {self.timeouts} lines",
                code="data.slow-pattern",
                hint="write it without nested repetitions, or without lookaround",
            )
        return self.instead is not None and self.timeouts >= _PATIENCE

    def _settled(self, lines: pa.StringArray, matched: Matched) -> Matched:
        assert self.instead is not None
        slow = np.zeros(len(lines), bool)
        slow[list(matched.slow)] = True
        return filled(matched, slow, self.instead.match(lines.filter(pa.array(slow))))


class Re2:
    """Linear time; no lookaround, no references."""

    def __init__(self, text: str, names: Iterable[str]) -> None:
        """ArrowInvalid if RE2 cannot compile it."""
        self.text = portable(text)
        self.takes_all = takes_all(self.text)
        self.names = [*([] if self.takes_all else [WHOLE]), *names]
        spanned = self.text if self.takes_all else f"(?P<{WHOLE}>{self.text})"
        self.passes = [(part, only(spanned, part)) for part in fours(self.names)]
        self.optional, self.doubtful = unsure_groups(parse(self.text))
        self.exact = regex.compile(self.text, regex.ASCII)
        for _, passed in self.passes:
            pc.extract_regex(pa.array([""]), passed)
        if not self.takes_all:
            around(only(self.text), pa.array([""]))

    def match(self, lines: pa.StringArray) -> Matched:
        matched = self.found(lines)
        whole = matched.groups.pop(WHOLE, None)
        matched.outside = None if whole is None else self._outside(lines, whole)
        return matched

    def found(self, lines: pa.StringArray) -> Matched:
        """The same without what is outside, but with a group for the whole match unless that is the line anyhow."""
        groups: dict[str, pa.Array] = {}
        ok: Mask | None = None
        for names, text in self.passes:
            if ok is not None and not ok.any():
                groups |= dict.fromkeys(names, pa.nulls(len(lines), pa.string()))
                continue
            found = pc.extract_regex(lines, text)
            if ok is None:
                ok = bools(found.is_valid())
            groups |= dict(zip(names, found.flatten(), strict=True))
        if ok is None:
            ok = bools(pc.match_substring_regex(lines, self.text))
        for name in self.optional & groups.keys():
            groups[name] = self._told_apart(lines, name, groups[name])
        return Matched(groups, ok)

    def _outside(self, lines: pa.StringArray, whole: pa.Array) -> Outside | None:
        """Only lines that are longer than what was found in them are looked at once more."""
        longer = bools(pc.greater(pc.binary_length(lines), pc.binary_length(whole)).fill_null(False))
        if not longer.any():
            return None
        found = Outside.of(*around(only(self.text), lines.filter(pa.array(longer))))
        return found and Outside.spread(found, longer)

    def _told_apart(self, lines: pa.StringArray, name: str, texts: pa.Array) -> pa.Array:
        """Null where the group took no part: RE2 says '' for that, and also where it matched nothing."""
        nothing = pc.equal(texts, "").fill_null(False)
        if not pc.any(nothing).as_py():
            return texts
        out = pc.if_else(nothing, pa.scalar(None, pa.string()), texts)
        if name not in self.doubtful:
            return out
        values = [self._exactly(line, name) for line in lines.filter(nothing).to_pylist()]
        return pc.replace_with_mask(out, nothing, pa.array(values, pa.string()))

    def _exactly(self, line: str, name: str) -> str | None:
        try:
            found = self.exact.search(line, timeout=LINE_SECONDS)
        except TimeoutError:
            return None
        return found.group(name) if found else None


def _outside(partial: dict[int, tuple[str, str]], count: int) -> Outside | None:
    """Of the lines, by number, that were not taken as a whole."""
    if not partial:
        return None
    where = np.zeros(count, bool)
    where[list(partial)] = True
    before, behind = (pa.array(texts, pa.string()) for texts in zip(*partial.values(), strict=True))
    found = Outside.of(before, behind)
    return found and Outside.spread(found, where)


def fours(names: list[str]) -> list[tuple[str, ...]]:
    return [tuple(names[at : at + _PASS]) for at in range(0, len(names), _PASS)]


def bools(values: pa.Array) -> Mask:
    mask: Mask = values.to_numpy(zero_copy_only=False)
    return mask


def filled(matched: Matched, where: Mask, rest: Matched) -> Matched:
    """The same with the lines at `where` taken from another matcher's result for them."""
    mask = pa.array(where)
    groups = {name: pc.replace_with_mask(texts, mask, rest.groups[name]) for name, texts in matched.groups.items()}
    ok = matched.ok.copy()
    ok[where] = rest.ok
    places = np.flatnonzero(where)
    outside = matched.outside
    if outside is None:
        outside = rest.outside and Outside.spread(rest.outside, where)
    elif rest.outside is not None:
        outside = outside.replaced(mask, rest.outside)
    return Matched(groups, ok, tuple(int(places[i]) for i in rest.slow), outside)
