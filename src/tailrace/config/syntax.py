"""Second pass: the grammar (tree-sitter) over masked text → blocks and attributes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tailrace.config.places import Problem, Report, Text, Where
from tailrace.config.scan import Pieces, scan

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_PAIRS = {b"{": b"}", b"[": b"]", b"(": b")"}


@dataclass(frozen=True, slots=True)
class Source:
    """One file as expressions need it: its text, and its strings by offset."""

    text: Text
    strings: dict[int, Pieces]

    def where(self, node: Node) -> Where:
        return self.text.where(node.start_byte)

    def word(self, node: Node) -> str:
        return self.text.data[node.start_byte : node.end_byte].decode()


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that has not been evaluated yet."""

    source: Source
    node: Node

    @property
    def where(self) -> Where:
        return self.source.where(self.node)


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    where: Where
    expression: Expression


@dataclass(frozen=True, slots=True)
class Block:
    """`kind "label" … { attributes and blocks }`."""

    kind: str
    labels: tuple[str, ...]
    label_places: tuple[Where, ...]
    where: Where
    attributes: dict[str, Attribute]
    blocks: tuple[Block, ...]


def parse(text: Text, report: Report) -> Block:
    """A file as one block without a kind. Raises the first syntax error, notes those found afterwards."""
    scanned = scan(text, report)
    root = _root(bytes(scanned.masked))
    if root.has_error:
        raise _syntax_error(bytes(scanned.masked), text, report)
    source = Source(text, scanned.strings)
    body = next((child for child in root.children if child.type == "body"), None)
    return _Reader(source, report).block("", (), (), text.where(0), body)


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_hcl

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_hcl.language()))


def _root(masked: bytes) -> Node:
    return _parser().parse(masked).root_node


class _Reader:
    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report

    def block(
        self, kind: str, labels: tuple[str, ...], places: tuple[Where, ...], where: Where, body: Node | None
    ) -> Block:
        attributes: dict[str, Attribute] = {}
        blocks: list[Block] = []
        end = -1
        for item in body.children if body else ():
            if item.type not in ("attribute", "block"):
                continue
            if end >= 0 and b"\n" not in self.source.text.data[end : item.start_byte]:
                self.report.error(
                    self.source.where(item), "expected a line end before this", "syntax",
                    "an attribute or block begins on a line of its own",
                )  # fmt: skip
            end = item.end_byte
            if item.type == "block":
                blocks.append(self._block(item))
            else:
                self._attribute(item, attributes)
        return Block(kind, labels, places, where, attributes, tuple(blocks))

    def _attribute(self, node: Node, into: dict[str, Attribute]) -> None:
        first, _, value = (child for child in node.children if child.type != "comment")
        name = self.source.word(first)
        where = self.source.where(first)
        if name in into:
            self.report.error(
                where, f"'{name}' is given twice", "duplicate-attribute",
                f"it is already set in line {into[name].where.line}; keep one of them",
            )  # fmt: skip
            return
        into[name] = Attribute(name, where, Expression(self.source, value))

    def _block(self, node: Node) -> Block:
        kind, *rest = (child for child in node.children if child.type != "comment")
        labels = [child for child in rest if child.type in ("identifier", "string_lit")]
        body = next((child for child in rest if child.type == "body"), None)
        return self.block(
            self.source.word(kind),
            tuple(self._label(label) for label in labels),
            tuple(self.source.where(label) for label in labels),
            self.source.where(kind),
            body,
        )

    def _label(self, node: Node) -> str:
        if node.type == "identifier":
            return self.source.word(node)
        return "".join(piece or "" for piece in self.source.strings[node.start_byte])


def _syntax_error(masked: bytes, text: Text, report: Report) -> Problem:
    """Point at the first line that the grammar could not place, and at the word in it if that is known."""
    ends = [match.start() for match in re.finditer(rb"\n|\Z", masked)]
    line = bisect_left(ends, True, key=lambda end: _root(_closed(masked[:end])).has_error)
    first, last = (ends[line - 1] + 1 if line else 0), ends[min(line, len(ends) - 1)]
    # Masked text holds no heredocs: the grammar tries one only where it got stuck.
    nodes = list(_walk(_root(_closed(masked[:last]))))
    stuck = [node.start_byte for node in nodes if node.type == "heredoc_identifier"]
    stuck += [node.start_byte for node in nodes if node.is_error]
    at = next((offset for offset in stuck if first < offset < last), first)
    known = at > first
    while text.data[at : at + 1].isspace():
        at += 1
    words = text.data[at : at + 40].decode(errors="ignore").split() or ["the end of the file"]
    hint = 'expected name = value, or: kind "label" { … }'
    if words[0].startswith("..."):
        return report.make(text.where(at), "'...' stands for nothing", "syntax", "write out what is meant")
    if words[0].startswith("'"):
        hint = "a text stands between double quotes"
    message = f"unexpected {words[0]}" if known else "this cannot be read"
    return report.make(text.where(at), message, "syntax", hint)


def _closed(masked: bytes) -> bytes:
    """The beginning of a text with what is open in it closed."""
    opened: list[bytes] = []
    for match in re.finditer(rb"[{\[(]|[}\])]", masked):
        if match[0] in _PAIRS:
            opened.append(_PAIRS[match[0]])
        elif opened:
            opened.pop()
    return masked + b"".join(reversed(opened))


def _walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text, without recursion."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))
