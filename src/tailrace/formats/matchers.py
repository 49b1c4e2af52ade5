"""Three ways to find an expression in many lines: RE2, a backtracking engine, and cutting at literals."""

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

from tailrace.formats.grok import Expression
from tailrace.formats.regex_split import Leaf, Mark, Part, Split
from tailrace.formats.regex_tree import parse, unsure_groups

Mask = npt.NDArray[np.bool_]
LINE_SECONDS = 0.2
"How long a backtracking engine may look at one line."
_PATIENCE = 10
_PASS = 4
"RE2 is fast up to this many groups."
_GROUP = re.compile(r"\(\?P<(f\d+)>")
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
        self.names = [capture.group for capture in expression.captures]
        self.search = regex.compile(portable(expression.text), regex.ASCII).search
        self.instead = instead
        self.timeouts = 0

    def match(self, lines: pa.StringArray) -> Matched:
        if self.instead and self.timeouts >= _PATIENCE:
            return self.instead.match(lines)
        rows: list[tuple[str | None, ...] | None] = []
        slow: list[int] = []
        search, names = self.search, self.names
        for line in lines.to_pylist():
            try:
                found = search(line, timeout=LINE_SECONDS)
            except TimeoutError:
                slow.append(len(rows))
                found = None
            rows.append(found.group(0, *names)[1:] if found else None)
        columns = [[row[i] if row else None for row in rows] for i in range(len(names))]
        groups = {name: pa.array(c, pa.string()) for name, c in zip(names, columns, strict=True)}
        matched = Matched(groups, np.array([row is not None for row in rows], bool), tuple(slow))
        self.timeouts += len(slow)
        return matched if not slow or self.instead is None else self._settled(lines, matched)

    def _settled(self, lines: pa.StringArray, matched: Matched) -> Matched:
        assert self.instead is not None
        slow = np.zeros(len(lines), bool)
        slow[list(matched.slow)] = True
        return _filled(matched, slow, self.instead.match(lines.filter(pa.array(slow))))


class Re2:
    """Linear time; no lookaround, no references."""

    def __init__(self, text: str, names: Iterable[str]) -> None:
        """ArrowInvalid if RE2 cannot compile it."""
        self.text = portable(text)
        self.names = list(names)
        self.passes = [(part, only(self.text, part)) for part in _fours(self.names)]
        self.optional, self.doubtful = unsure_groups(parse(self.text))
        self.exact = regex.compile(self.text, regex.ASCII)
        for _, passed in self.passes:
            pc.extract_regex(pa.array([""]), passed)

    def match(self, lines: pa.StringArray) -> Matched:
        groups: dict[str, pa.Array] = {}
        ok: Mask | None = None
        for names, text in self.passes:
            found = pc.extract_regex(lines, text)
            if ok is None:
                ok = _bools(found.is_valid())
            groups |= dict(zip(names, found.flatten(), strict=True))
        if ok is None:
            ok = _bools(pc.match_substring_regex(lines, self.text))
        for name in self.optional & groups.keys():
            groups[name] = self._told_apart(lines, name, groups[name])
        return Matched(groups, ok)

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


class Cutting:
    """Pieces between literals by a loose expression, then each against its leaf; other lines otherwise."""

    def __init__(self, cut: Split, names: Iterable[str], otherwise: Matcher) -> None:
        self.names = list(names)
        self.otherwise = otherwise
        leaves = [part for part in cut.parts if isinstance(part, Leaf)]
        self.quotes = cut.quotes if not all(leaf.quoteless for leaf in leaves) else 0
        checks = [_Check(f"piece{i}", leaf, cut.to_end) for i, leaf in enumerate(leaves)]
        self.leaves = [check for check in checks if check.needed]
        self.marks = [part.name for part in cut.parts if isinstance(part, Mark) and part.opens]
        self.passes = _passes(cut, {check.name for check in self.leaves})

    def match(self, lines: pa.StringArray) -> Matched:
        pieces: dict[str, pa.Array] = {}
        for names, text in self.passes:
            found = pc.extract_regex(lines, text)
            pieces |= dict(zip(names, found.flatten(), strict=True))
        ok = _bools(found.is_valid())  # the last pass reads the whole expression
        if self.quotes:
            ok &= _bools(pc.equal(pc.count_substring(lines, '"'), self.quotes))
        groups = {name: pieces[f"span_{name}"] for name in self.marks}
        for leaf in self.leaves:
            ok &= leaf.read(pieces[leaf.name], groups)
        matched = Matched({name: groups[name] for name in self.names}, ok)
        if ok.all():
            return matched
        return _filled(matched, ~ok, self.otherwise.match(lines.filter(pa.array(~ok))))


class _Check:
    """One leaf: is a piece what it must be, and which texts do its groups have there?"""

    def __init__(self, name: str, leaf: Leaf, to_end: bool) -> None:
        self.name = name
        text = portable(leaf.text)
        plain = only(text)
        to_end = to_end or leaf.until is not None
        end = "$" if to_end else ""
        body = plain[3:-1] if leaf.whole else plain
        self.needless = body == ".*" or (to_end and body == ".*?")
        self.whole = leaf.whole if to_end or self.needless else None
        inner = [n for n in leaf.captures if n != self.whole]
        self.inner = Re2(f"^(?:{text}){end}", inner) if inner else None
        self.test = f"^(?:{plain}){end}"
        self.needed = bool(leaf.captures) or not self.needless

    def read(self, pieces: pa.Array, groups: dict[str, pa.Array]) -> Mask:
        """Which pieces match; adds the texts of the groups in them."""
        if self.whole:
            groups[self.whole] = pieces
        if self.needless and self.inner is None:
            return np.ones(len(pieces), bool)
        coded = pieces.dictionary_encode()
        where = coded.indices
        if self.inner is None:
            return _bools(pc.match_substring_regex(coded.dictionary, self.test).take(where).fill_null(False))
        found = self.inner.match(coded.dictionary)
        groups |= {name: texts.take(where) for name, texts in found.groups.items()}
        return _bools(pa.array(found.ok).take(where).fill_null(False))


def _passes(cut: Split, wanted: set[str]) -> list[tuple[tuple[str, ...], str]]:
    """Loose expressions of at most four groups, each cut off after the literal behind its last group."""
    numbers = iter(range(len(cut.parts)))
    named: list[tuple[Part, str]] = []
    for part in cut.parts:
        if isinstance(part, Leaf):
            named.append((part, f"piece{next(numbers)}"))
        else:
            named.append((part, f"span_{part.name}" if isinstance(part, Mark) else ""))
    names = [name for part, name in named if name in wanted or (isinstance(part, Mark) and part.opens)]
    passes = _fours(names)
    return [(some, _loose(named, some, some is passes[-1], cut.to_end)) for some in passes]


def _loose(named: list[tuple[Part, str]], names: tuple[str, ...], last: bool, to_end: bool) -> str:
    out = ["^"]
    rest = '[^"]*$' if all(part.quoteless for part, _ in named if isinstance(part, Leaf)) else ""
    missing = set(names)
    depth = 0
    for part, name in named:
        opening = f"(?P<{name}>" if name in names else "(?:"
        missing.discard(name)
        if isinstance(part, Mark):
            depth += 1 if part.opens else -1
            out.append(opening if part.opens else ")")
        elif isinstance(part, Leaf):
            out.append(f"{opening}{_loosely(part)})")
        else:
            out.append(re.escape(part))
            if not missing and not depth and not last:
                return "".join(out)
    return "".join(out) + ("$" if to_end else rest)


def _fours(names: list[str]) -> list[tuple[str, ...]]:
    return [tuple(names[at : at + _PASS]) for at in range(0, len(names), _PASS)]


def _loosely(leaf: Leaf) -> str:
    """Everything up to the literal that ends a leaf."""
    excluded = (leaf.until or "") + ('"' if leaf.quoteless else "")
    return f"[^{re.escape(excluded)}]*" if excluded else ".*"


def _bools(values: pa.Array) -> Mask:
    mask: Mask = values.to_numpy(zero_copy_only=False)
    return mask


def _filled(matched: Matched, where: Mask, rest: Matched) -> Matched:
    """The same with the lines at `where` taken from another matcher's result for them."""
    mask = pa.array(where)
    groups = {
        name: pc.replace_with_mask(texts, mask, rest.groups[name]) for name, texts in matched.groups.items()
    }
    ok = matched.ok.copy()
    ok[where] = rest.ok
    places = np.flatnonzero(where)
    return Matched(groups, ok, tuple(int(places[i]) for i in rest.slow))
