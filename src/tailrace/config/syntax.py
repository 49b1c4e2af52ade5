"""Second pass: the grammar (tree-sitter) over masked text → blocks and attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailrace.config.places import Report, Text, Where
from tailrace.config.recover import Recovery, grammar
from tailrace.config.scan import scan
from tailrace.config.strings import Pieces

if TYPE_CHECKING:
    from tree_sitter import Node

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
    root = grammar(bytes(scanned.masked))
    if root.has_error:
        root = Recovery(scanned, report).root()
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
