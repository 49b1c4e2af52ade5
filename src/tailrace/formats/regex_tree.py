"""A regular expression as a tree: which characters each part may consume, and what may match nothing.

Knows the syntax that RE2 and backtracking engines share; anything else is read over and marked `strange`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

OTHER = 1 << 128
"Stands for every character outside ASCII."
ALL = (1 << 129) - 1
_DIGITS = sum(1 << c for c in range(48, 58))
_WORDS = _DIGITS | sum(1 << c for c in (*range(65, 91), *range(97, 123), 95))
_BLANKS = sum(1 << c for c in (9, 10, 11, 12, 13, 32))
_CLASSES = {"d": _DIGITS, "w": _WORDS, "s": _BLANKS}
_CLASSES |= {name.upper(): ALL ^ chars for name, chars in _CLASSES.items()}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "a": 7}
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(\d*)(?:,(\d*))?\})[?+]?")
_SET = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)
_HEX = re.compile(r"x([0-9A-Fa-f]{2})")


def mask(char: str) -> int:
    """The set that holds one character."""
    return 1 << ord(char) if ord(char) < 128 else OTHER


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression, with its quantifier."""

    start: int
    end: int
    chars: int = 0
    "The characters it may consume."
    empty: bool = False
    "May match without consuming any."
    literal: str | None = None
    "It is exactly this one character, once."
    branches: tuple[tuple[Node, ...], ...] = ()
    "Of a group."
    name: str | None = None
    "Of a capturing group."
    once: bool = True
    "It has no quantifier."
    optional: bool = False
    "Its quantifier allows none."
    many: bool = False
    "Its quantifier allows any number from one on."
    edge: bool = False
    "Looks at the characters beside it: a word boundary."
    vague: bool = False
    "It may not consume all of its characters: those outside ASCII are not told apart."
    strange: bool = False
    "Anchors, lookaround, references, flags: it does not mean the same when it stands alone."

    def captures(self) -> Iterator[str]:
        """Names of the capturing groups in it, in order."""
        if self.name:
            yield self.name
        for branch in self.branches:
            for node in branch:
                yield from node.captures()


@lru_cache(maxsize=256)
def parse(text: str) -> Node:
    """The whole expression as one group. It must be valid: compile it first."""
    parser = _Parser(text)
    return parser.group(0, None, whole=True)


def free_chars(root: Node) -> int:
    """Characters of which every text but the empty one matches as a whole; 0 where no such are known."""
    if root.strange or not (root.once or root.many):
        return 0
    if not root.branches:
        return root.chars if root.many and not root.vague else 0
    return max(map(_free_in_sequence, root.branches), key=int.bit_count)


def _free_in_sequence(nodes: tuple[Node, ...]) -> int:
    """One node takes all of the text, the others nothing. A word has boundaries at both of its ends."""
    filled = [node for node in nodes if not node.empty]
    found = 0
    for node in filled or nodes if len(filled) < 2 else ():
        chars = free_chars(node)
        if any(other.edge for other in nodes if other is not node):
            chars &= _WORDS
        found = max(found, chars, key=int.bit_count)
    return found


def unsure_groups(root: Node) -> tuple[set[str], set[str]]:
    """Groups that may be left out of a match, and of these the ones that may also match nothing."""
    optional: set[str] = set()
    doubtful: set[str] = set()

    def walk(node: Node, maybe: bool) -> None:
        maybe = maybe or node.optional
        if node.name and maybe:
            optional.add(node.name)
            if any(all(n.empty for n in branch) for branch in node.branches):
                doubtful.add(node.name)
        for branch in node.branches:
            for child in branch:
                walk(child, maybe or len(node.branches) > 1)

    walk(root, False)
    return optional, doubtful


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.flags = False

    def group(self, start: int, name: str | None, *, whole: bool = False, strange: bool = False) -> Node:
        branches: list[list[Node]] = [[]]
        while self.at < len(self.text) and self.text[self.at] != ")":
            if self.text[self.at] == "|":
                self.at += 1
                branches.append([])
            else:
                branches[-1].append(self._quantified(self._atom()))
        self.at += not whole
        nodes = [node for branch in branches for node in branch]
        chars = 0
        for node in nodes:
            chars |= node.chars
        return Node(
            start,
            self.at,
            ALL if strange else chars,
            any(all(n.empty for n in branch) for branch in branches) or strange,
            branches=tuple(map(tuple, branches)),
            name=name,
            edge=any(n.edge for n in nodes),
            strange=strange or any(n.strange for n in nodes),
        )

    def _quantified(self, node: Node) -> Node:
        found = _QUANTIFIER.match(self.text, self.at)
        if found is None or found[0].startswith(("{}", "{,}")):
            return node
        self.at = found.end()
        least = {"*": "0", "?": "0", "+": "1"}.get(found[0][0], found[1] or "0")
        none = int(least) == 0
        many = int(least) < 2 and (found[0][0] in "*+" or (found[0][0] == "{" and found[2] == ""))
        return replace(
            node, end=self.at, literal=None, once=False, optional=none, many=many, empty=node.empty or none,
            strange=node.strange or (found[0][-1] == "+" and len(found[0]) > 1),
        )  # fmt: skip

    def _atom(self) -> Node:
        start, char = self.at, self.text[self.at]
        if char == "(":
            return self._parenthesis(start)
        if char == "[" and (found := _SET.match(self.text, start)):
            self.at = found.end()
            chars, vague = _set_chars(found[0])
            return self._node(start, chars, vague=vague)
        self.at += 1
        if char == "\\":
            return self._escape(start)
        if char == ".":
            return self._node(start, ALL ^ mask("\n"))
        if char in "^$":
            return Node(start, self.at, empty=True, strange=True)
        return self._node(start, mask(char), char)

    def _node(self, start: int, chars: int, literal: str | None = None, *, vague: bool = False) -> Node:
        if self.flags:
            return Node(start, self.at, ALL, strange=True)
        return Node(start, self.at, chars, literal=literal, vague=vague or (literal or "").isascii() is False)

    def _escape(self, start: int) -> Node:
        char = self.text[self.at]
        self.at += 1
        if char in _CLASSES:
            return self._node(start, _CLASSES[char])
        if char == "b":
            return Node(start, self.at, empty=True, edge=True)
        if char in _CONTROLS:
            return self._node(start, 1 << _CONTROLS[char], chr(_CONTROLS[char]))
        if char == "x" and (found := _HEX.match(self.text, self.at - 1)):
            self.at = found.end()
            literal = chr(int(found[1], 16))
            return self._node(start, mask(literal), literal)
        if char.isalnum():
            return Node(start, self.at, ALL, empty=True, strange=True)
        return self._node(start, mask(char), char)

    def _parenthesis(self, start: int) -> Node:
        found = next(found for pattern in _OPENINGS.values() if (found := pattern.match(self.text, start)))
        opening = next(name for name, pattern in _OPENINGS.items() if pattern is found.re)
        self.at = found.end()
        if opening == "name":
            return self.group(start, found[1])
        if opening == "comment":
            return Node(start, self.at, empty=True)
        if opening == "flags":
            self.flags = True
            return Node(start, self.at, empty=True, strange=True)
        return self.group(start, None, strange=opening == "strange")


# Tried in this order.
_OPENINGS = {
    "name": re.compile(r"\(\?P?<(\w+)>"),
    "comment": re.compile(r"\(\?#[^)]*\)"),
    "flags": re.compile(r"\(\?[a-zA-Z]+\)"),
    "plain": re.compile(r"\(\?:|\((?!\?)"),
    "strange": re.compile(r"\(\?(?:<[=!]|[=!>|]|[a-zA-Z]*-?[a-zA-Z]*:|P[=>]\w+|\(\w+\)|)"),
}


@lru_cache(maxsize=256)
def _set_chars(text: str) -> tuple[int, bool]:
    """The characters of `[...]`; and whether they are more than there are, because its syntax is unusual."""
    body = text[1:-1]
    negated = body.startswith("^")
    if "[" in body.replace("\\[", "") or re.search(r"--|&&|\|\||~~", body):
        return ALL, True
    try:
        members = re.compile(f"[{body.removeprefix('^')}]", re.ASCII)
    except re.error:
        return ALL, True
    inside = sum(1 << c for c in range(128) if members.match(chr(c)))
    beyond = bool(re.search(r"[^\x00-\x7f]|\\[DWSuUNpPx]", body))
    if negated:
        return (ALL ^ OTHER ^ inside) | OTHER, beyond
    return inside | (OTHER if beyond else 0), beyond
