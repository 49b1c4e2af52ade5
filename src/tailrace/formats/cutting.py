"""Lines cut at literals: a loose expression finds the pieces, then each piece is held against its leaf.

A line with anything behind the match is left to another matcher, which knows how to keep it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.leaf_check import LeafCheck
from tailrace.formats.matchers import Matched, Matcher, bools, filled, fours
from tailrace.formats.regex_split import Leaf, Mark, Part, Split


class Cutting:
    """Pieces between literals by a loose expression, then each against its leaf; other lines otherwise."""

    def __init__(self, cut: Split, names: Iterable[str], otherwise: Matcher) -> None:
        self.names = list(names)
        self.otherwise = otherwise
        leaves = [part for part in cut.parts if isinstance(part, Leaf)]
        self.shunned = cut.shunned
        self.quotes = cut.quotes if not all(leaf.quoteless for leaf in leaves) else 0
        checks = [LeafCheck(f"piece{i}", leaf, cut.to_end) for i, leaf in enumerate(leaves)]
        self.leaves = [check for check in checks if check.needed]
        self.marks = [part.name for part in cut.parts if isinstance(part, Mark) and part.opens]
        self.passes = _passes(cut, {check.name for check in self.leaves})

    def match(self, lines: pa.StringArray) -> Matched:
        pieces: dict[str, pa.Array] = {}
        for names, text in self.passes:
            found = pc.extract_regex(lines, text)
            pieces |= dict(zip(names, found.flatten(), strict=True))
        ok = bools(found.is_valid())  # the last pass reads the whole expression
        if self.quotes:
            ok &= bools(pc.equal(pc.count_substring(lines, '"'), self.quotes))
        if self.shunned:
            ok &= ~bools(pc.match_substring_regex(lines, f"[{self.shunned}]"))
        groups = {name: pieces[f"span_{name}"] for name in self.marks}
        for leaf in self.leaves:
            ok &= leaf.read(pieces[leaf.name], groups)
        matched = Matched({name: groups[name] for name in self.names}, ok)
        if ok.all():
            return matched
        return filled(matched, ~ok, self.otherwise.match(lines.filter(pa.array(~ok))))


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
    passes = fours(names)
    return [(some, _loose(named, some, some is passes[-1])) for some in passes]


def _loose(named: list[tuple[Part, str]], names: tuple[str, ...], last: bool) -> str:
    out = ["^"]
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
    return "".join(out) + "$"


def _loosely(leaf: Leaf) -> str:
    """Everything up to the literal that ends a leaf."""
    excluded = (leaf.until or "") + ('"' if leaf.quoteless else "")
    return f"[^{re.escape(excluded)}]*" if excluded else ".*"
