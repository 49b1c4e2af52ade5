"""An expression cut at its literal characters, so that a line splits in one way only.

`%{IP:client} (%{HTTPDATE:at}) "%{DATA:request}" %{INT:status}` has four leaves. A leaf ends where the
literal after it first occurs, because none of its own characters can be that one. For quotes this is made
true by counting: a line with exactly as many quotes as the expression demands has none left inside a leaf.
So a line whose pieces match their leaves, each alone, matches as a search over the whole line would. Other
lines are for another matcher to judge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tailrace.formats.grok_patterns import standard_patterns
from tailrace.formats.regex_tree import Node, mask, parse

_QUOTE, _BLANK = mask('"'), mask(" ")
_WORD = re.compile(r"\w", re.ASCII)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A piece of each line: what it must match, and the groups inside."""

    text: str
    until: str | None
    "The literal that ends it; None = it is the rest of the line."
    captures: tuple[str, ...]
    whole: str | None
    "The group that is the leaf as a whole."
    quoteless: bool
    "In a line with the right number of quotes it holds none."
    blanks: bool = True
    "It may hold blanks."


@dataclass(frozen=True, slots=True)
class Mark:
    """A group that spans several parts begins or ends here."""

    name: str
    opens: bool


Part = str | Leaf | Mark


@dataclass(frozen=True, slots=True)
class Split:
    """An expression as literals, leaves and marks, from the beginning of a line."""

    parts: tuple[Part, ...]
    quotes: int
    "How many quotes a line must have; 0 = it does not matter."
    to_end: bool
    "The last part must reach the end of the line."
    shunned: str
    "Characters that a line must not have."


@lru_cache(maxsize=64)
def split(text: str) -> Split | None:
    """The expression cut so that a line splits in one way at most; None if that leaves it whole."""
    # Without the other two kinds of quotes in a line, a quoted string is one between double quotes.
    patterns = standard_patterns()
    narrowed = text.replace(patterns["QUOTEDSTRING"], patterns["DQS"])
    shunned = "" if narrowed == text else "'`"
    text = narrowed
    nodes, to_end = _body(text)
    if nodes is None:
        return None
    quotes = sum(map(_quotes, nodes))
    parts = _Cutter(text, guarded=quotes > 0).cut(nodes, None, None)
    if parts is None or sum(isinstance(part, Leaf) for part in parts) < 2:
        return None
    return Split(tuple(parts), quotes, to_end, shunned)


def _body(text: str) -> tuple[tuple[Node, ...] | None, bool]:
    """The nodes between the anchors, without groups around all of them; and is there an end anchor?"""
    branches = parse(text).branches
    to_end = False
    while len(branches) == 1:
        nodes = branches[0]
        if nodes and text[nodes[0].start : nodes[0].end] in ("^", r"\A"):
            nodes = nodes[1:]
        if nodes and text[nodes[-1].start : nodes[-1].end] in ("$", r"\z", r"\Z"):
            nodes, to_end = nodes[:-1], True
        if len(nodes) == 1 and _plain(nodes[0]) and nodes[0].name is None:
            branches = nodes[0].branches
            continue
        return (None if any(node.strange for node in nodes) else nodes), to_end
    return None, to_end


def _plain(node: Node) -> bool:
    """A group that could as well be written without its parentheses."""
    return node.once and len(node.branches) == 1


def _quotes(node: Node) -> int:
    """How many quotes every match of the node has outside of repetitions and alternatives."""
    return sum(map(_quotes, node.branches[0])) if _plain(node) else int(node.literal == '"')


@dataclass(frozen=True, slots=True)
class _Cutter:
    text: str
    guarded: bool

    def cut(self, nodes: tuple[Node, ...], before: str | None, after: str | None) -> list[Part] | None:
        """Parts of a sequence between two literals (None = a line's beginning or end)."""
        parts: list[Part] = []
        at = 0
        while at < len(nodes):
            literal = nodes[at].literal
            if literal is not None:
                parts.append(literal)
                before, at = literal, at + 1
                continue
            found = self._leaf(nodes, at, before, after)
            if found is None:
                return None
            parts += found[0]
            at = found[1]
        return parts

    def _leaf(
        self, nodes: tuple[Node, ...], at: int, before: str | None, after: str | None
    ) -> tuple[list[Part], int] | None:
        """The parts from a node on: the shortest run that the next literal ends, or what its group holds."""
        for end in range(at + 1, len(nodes) + 1):
            until = nodes[end].literal if end < len(nodes) else after
            if end < len(nodes) and until is None:
                continue
            run = nodes[at:end]
            ends = until is None or not self._chars(run) & mask(until)
            first = run[0]
            several = len(list(first.captures())) > 1 or _quotes(first) > 0
            worth_opening = not ends or (until is None and several)
            if len(run) == 1 and _plain(first) and worth_opening:
                inner = self.cut(first.branches[0], before, until)
                if inner is not None:
                    marks = [Mark(first.name, opens) for opens in (True, False)] if first.name else []
                    return [*marks[:1], *inner, *marks[1:]], end
            if ends and not (any(n.edge for n in run) and _touches_word(before, until)):
                return [self._made(run, until)], end
        return None

    def _chars(self, run: tuple[Node, ...]) -> int:
        """What a run may consume in a line that has no more quotes than it must."""
        chars = 0
        for node in run:
            if node.literal is not None or not self.guarded:
                chars |= node.chars
            elif _plain(node):
                chars |= self._chars(node.branches[0])
            else:
                chars |= node.chars & ~_QUOTE
        return chars

    def _made(self, run: tuple[Node, ...], until: str | None) -> Leaf:
        captures = tuple(name for node in run for name in node.captures())
        whole = run[0].name if len(run) == 1 and run[0].once else None
        quoteless = self.guarded and not any(map(_quotes, run))
        blanks = any(node.chars & _BLANK for node in run)
        return Leaf(self.text[run[0].start : run[-1].end], until, captures, whole, quoteless, blanks)


def _touches_word(*neighbours: str | None) -> bool:
    return any(char is not None and _WORD.match(char) for char in neighbours)
