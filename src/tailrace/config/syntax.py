"""Second pass: the grammar (tree-sitter) over masked text → blocks and attributes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tailrace.config.places import Problem, Report, Text, Where
from tailrace.config.scan import MAX_PROBLEMS, Scanned, scan
from tailrace.config.strings import Pieces

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_PAIRS = {b"{": b"}", b"[": b"]", b"(": b")"}
_SLIPS = (
    (
        re.compile(rb'^\s*(?P<word>[A-Za-z_][\w-]*)[ \t]+(?P<here>"_*")[ \t]*$'),
        "expected '=' after '{}'",
        "write {} = …",
    ),
    (re.compile(rb"^\s*(?P<word>[A-Za-z_][\w-]*)[ \t]*(?P<here>:)"), "expected '=' after '{}'", "write {} = …"),
    (
        re.compile(rb'["\])}][ \t]+(?P<here>"_*")[ \t]*[,\]]'),
        "expected ',' before this",
        "items of a list stand between commas",
    ),
    (
        re.compile(rb"=[ \t]*(?P<here>[A-Za-z_]\w*)[ \t]+[A-Za-z_][\w \t]*$"),
        "expected one value",
        "put a text between double quotes",
    ),
)
"Mistakes that many make, as they look in a masked line: where, what is said, and what helps."
_BOM = b"\xef\xbb\xbf"


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
class Constant:
    """A value that is known without evaluation, as in a TOML file."""

    value: object
    where: Where


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    where: Where
    expression: Expression | Constant


@dataclass(frozen=True, slots=True)
class Block:
    """`kind "label" … { attributes and blocks }`."""

    kind: str
    labels: tuple[str, ...]
    label_places: tuple[Where, ...]
    where: Where
    attributes: dict[str, Attribute]
    blocks: tuple[Block, ...]
    start: int = 0
    end: int = 0
    "Offsets of its first byte and of what follows it."


def parse(text: Text, report: Report) -> Block:
    """A file as one block without a kind; blocks that cannot be read are noted and left out."""
    report.knows(text)
    if not _is_text(text, report):
        report.misses(text.data)
        return Block("", (), (), text.where(0), {}, (), 0, len(text.data))
    scanned = scan(text, report)
    root = _root(bytes(scanned.masked))
    if root.has_error:
        root = _without_broken(scanned, report)
    for start, end in scanned.broken:
        report.misses(text.data[start:end])
    source = Source(text, scanned.strings)
    body = next((child for child in root.children if child.type == "body"), None)
    reader = _Reader(source)
    whole = reader.block("", (), (), (0, len(text.data)), body)
    report.outline.holds(text.file, whole, scanned.strings)
    for where, message, code, hint in reader.notes:
        report.error(where, message, code, hint)
    return whole


def _is_text(text: Text, report: Report) -> bool:
    """A byte order mark counts as blanks so that offsets stay true."""
    if text.data.startswith(_BOM):
        text.data = b"   " + text.data[3:]
    try:
        text.data.decode()
        at, fault = text.data.find(b"\0"), "the file holds a NUL byte"
    except UnicodeDecodeError as error:
        at, fault = error.start, "the file is not UTF-8"
    if at >= 0:
        report.error(text.where(at), fault, "encoding", "save it as UTF-8")
    return at < 0


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_hcl

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_hcl.language()))


def _root(masked: bytes) -> Node:
    return _parser().parse(masked).root_node


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.notes: list[tuple[Where, str, str, str]] = []
        "What is wrong: place, message, code, hint."

    def block(
        self, kind: str, labels: tuple[str, ...], places: tuple[Where, ...], span: tuple[int, int], body: Node | None
    ) -> Block:
        attributes: dict[str, Attribute] = {}
        blocks: list[Block] = []
        end = -1
        for item in body.children if body else ():
            if item.type not in ("attribute", "block"):
                continue
            if end >= 0 and b"\n" not in self.source.text.data[end : item.start_byte]:
                hint = "an attribute or block begins on a line of its own"
                self.notes.append((self.source.where(item), "expected a line end before this", "syntax", hint))
            end = item.end_byte
            if item.type == "block":
                blocks.append(self._block(item))
            else:
                self._attribute(item, attributes)
        return Block(kind, labels, places, self.source.text.where(span[0]), attributes, tuple(blocks), *span)

    def _attribute(self, node: Node, into: dict[str, Attribute]) -> None:
        first, _, value = (child for child in node.children if child.type != "comment")
        name = self.source.word(first)
        where = self.source.where(first)
        if name in into:
            hint = f"it is already set in line {into[name].where.line}; keep one of them"
            self.notes.append((where, f"'{name}' is given twice", "duplicate-attribute", hint))
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
            (node.start_byte, node.end_byte),
            body,
        )

    def _label(self, node: Node) -> str:
        if node.type == "identifier":
            return self.source.word(node)
        return "".join(piece for piece in self.source.strings[node.start_byte] if isinstance(piece, str))


def _without_broken(scanned: Scanned, report: Report) -> Node:
    """The file without the blocks that the grammar cannot place; what is wrong in them is noted."""
    size, noted = len(scanned.masked), 0
    for start, end in zip([0, *scanned.tops], [*scanned.tops, size], strict=True):
        seen: set[tuple[int, int]] = set()
        while noted < MAX_PROBLEMS and (line := _stuck_line(scanned, start, end)) and line not in seen:
            seen.add(line)
            noted += 1
            report.add(_syntax_error(scanned, start, line, report))
            whole = bytes(scanned.masked[slice(*line)])
            if _closed(whole) != whole:
                break  # without the line that opens it, the end of a block would be the next riddle
            scanned.blank(*line)
        if seen:
            scanned.leave_out(start, end)
    if _root(bytes(scanned.masked)).has_error:
        line = _stuck_line(scanned, 0, size) if not noted else None
        if line:
            report.add(_syntax_error(scanned, 0, line, report))
        scanned.leave_out(0, size)
    return _root(bytes(scanned.masked))


def _stuck_line(scanned: Scanned, start: int, end: int) -> tuple[int, int] | None:
    """The first line of a stretch of text that the grammar cannot place."""
    block = bytes(scanned.masked[start:end])
    if not _root(block).has_error:
        return None
    ends = [match.start() for match in re.finditer(rb"\n|\Z", block)]
    line = bisect_left(ends, True, key=lambda stop: _root(_closed(block[:stop])).has_error)
    return start + (ends[line - 1] + 1 if line else 0), start + ends[min(line, len(ends) - 1)]


def _syntax_error(scanned: Scanned, start: int, line: tuple[int, int], report: Report) -> Problem:
    """Points at the line, and at the word in it if that is known."""
    text, (first, last) = scanned.text, line
    for slip, message, hint in _SLIPS:
        if found := slip.search(bytes(scanned.masked[first:last])):
            word = found["word"].decode() if "word" in found.groupdict() else ""
            where = text.where(first + found.start("here"))
            return report.make(where, message.format(word), "syntax", hint.format(word))
    # Masked text holds no heredocs: the grammar tries one only where it got stuck.
    nodes = list(_walk(_root(_closed(bytes(scanned.masked[start:last])))))
    stuck = [start + node.start_byte for node in nodes if node.type == "heredoc_identifier"]
    stuck += [start + node.start_byte for node in nodes if node.is_error]
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
    word = words[0].strip("'\"")
    message = f"unexpected '{word}'" if known else "this cannot be read"
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
