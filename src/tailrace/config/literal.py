"""The short way for files that compute nothing: a line at a time, without the grammar.

Most files are blocks of plain texts, numbers, lists and references. They are read here, ten times as fast, into the
blocks that the grammar would give. A file that holds anything else, above all a mistake, is left to the grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tailrace.config.places import Text, Where
from tailrace.config.scan import RAW_ATTRIBUTES
from tailrace.config.strings import Pieces
from tailrace.config.syntax import Attribute, Block, Constant
from tailrace.config.values import REFERENCES, Reference, Value

_NOTHING = re.compile(r"[ \t]*(?:(?:#|//).*)?\r?\Z")
_HEAD = re.compile(r'[ \t]*([A-Za-z_][\w-]*)((?:[ \t]+"[^"\\$%\n]+")*)[ \t]*\{', re.ASCII)
_LABEL = re.compile(r'"([^"]+)"')
_CLOSE = re.compile(r"[ \t]*\}", re.ASCII)
_NAME = re.compile(r"[ \t]*([A-Za-z_][\w-]*)[ \t]*=[ \t]*", re.ASCII)
_VALUE = re.compile(
    r"""(?P<text>"[^"\\\n]*")|(?P<raw>`[^`\n]*`)|(?P<number>(?:0|[1-9][0-9]{0,14})(?![\w.-]))
    |(?P<word>[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)(?![\w.(\[-])
    |(?P<list>\[[ \t]*(?:"[^"\\\n]*"(?:[ \t]*,[ \t]*"[^"\\\n]*")*[ \t]*)?\])""",
    re.VERBOSE | re.ASCII,
)
_TEXT = re.compile(r'"[^"]*"')
_WORDS: dict[str, Value] = {"true": True, "false": False}
_OF_THE_GRAMMAR = frozenset({"true", "false", "null", "for", "in", "if", "else", "endif", "endfor"})
_RAW = frozenset(name.decode() for name in RAW_ATTRIBUTES)
_HOLE = re.compile(r"[$%]\{")
_ESCAPED_HOLE = re.compile(r"\$\$\{|%%\{")


class _Other(Exception):
    """Something that this module does not read."""


@dataclass(slots=True)
class _Open:
    """A block whose end has not come yet."""

    kind: str
    labels: tuple[str, ...]
    places: tuple[Where, ...]
    where: Where
    start: int
    attributes: dict[str, Attribute] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)

    def closed(self, end: int) -> Block:
        return Block(
            self.kind, self.labels, self.places, self.where, self.attributes, tuple(self.blocks), self.start, end
        )


def read_literal(text: Text) -> tuple[Block, dict[int, Pieces]] | None:
    """The file as one block, and its strings by offset; None where only the grammar can tell."""
    # Columns count characters and offsets bytes: here they are the same.
    if not text.data.isascii() or b"\0" in text.data:
        return None
    reader = _Lines(text)
    try:
        for number, line in enumerate(text.data.decode("ascii").split("\n"), 1):
            reader.read(line, number)
            reader.offset += len(line) + 1
        return reader.whole(), reader.strings
    except _Other:
        return None


class _Lines:
    def __init__(self, text: Text) -> None:
        self.file = text.file
        self.size = len(text.data)
        self.strings: dict[int, Pieces] = {}
        self.opened = [_Open("", (), (), Where(text.file, 1, 1), 0)]
        self.line, self.number, self.offset = "", 0, 0

    def whole(self) -> Block:
        if len(self.opened) != 1:
            raise _Other
        return self.opened[0].closed(self.size)

    def read(self, line: str, number: int) -> None:
        self.line, self.number = line, number
        if _NOTHING.match(line):
            return
        if head := _HEAD.match(line):
            at = self._head(head)
            if _NOTHING.match(line, at):
                return
            # On the same line there is room for one attribute, and for the end.
            if name := _NAME.match(line, at):
                at = self._attribute(name)
            at = self._close(at)
        elif name := _NAME.match(line):
            at = self._attribute(name)
        else:
            at = self._close(0)
        if not _NOTHING.match(line, at):
            raise _Other

    def _where(self, at: int) -> Where:
        return Where(self.file, self.number, at + 1)

    def _head(self, head: re.Match[str]) -> int:
        labels = list(_LABEL.finditer(self.line, *head.span(2)))
        for label in labels:
            self.strings[self.offset + label.start()] = (label[1],)
        at = head.start(1)
        places = tuple(self._where(label.start()) for label in labels)
        self._check_name(head[1])
        names = tuple(label[1] for label in labels)
        self.opened.append(_Open(head[1], names, places, self._where(at), self.offset + at))
        return head.end()

    def _close(self, at: int) -> int:
        end = _CLOSE.match(self.line, at)
        if end is None or len(self.opened) == 1:
            raise _Other
        block = self.opened.pop().closed(self.offset + end.end())
        self.opened[-1].blocks.append(block)
        return end.end()

    def _attribute(self, name: re.Match[str]) -> int:
        attributes = self.opened[-1].attributes
        if name[1] in attributes:
            raise _Other
        self._check_name(name[1])
        value, end = self._value(name.end(), raw=name[1] in _RAW)
        constant = Constant(value, self._where(name.end()))
        attributes[name[1]] = Attribute(name[1], self._where(name.start(1)), constant)
        return end

    def _check_name(self, name: str) -> None:
        if name in _OF_THE_GRAMMAR:
            raise _Other

    def _value(self, at: int, *, raw: bool = False) -> tuple[Value, int]:
        found = _VALUE.match(self.line, at)
        kind = found.lastgroup if found else None
        if found is None or kind is None:
            raise _Other
        if kind == "list":
            return self._list(found), found.end()
        word = found[0]
        if kind == "number":
            return int(word), found.end()
        if kind == "word":
            return self._word(word, at), found.end()
        content = word[1:-1]
        if kind == "text" and (_ESCAPED_HOLE if raw else _HOLE).search(content):
            raise _Other
        self.strings[self.offset + at] = (content,)
        return content, found.end()

    def _word(self, word: str, at: int) -> Value:
        if word in _WORDS:
            return _WORDS[word]
        path = tuple(word.split("."))
        if len(path) < 2 or path[0] not in REFERENCES:
            raise _Other
        return Reference(path, self._where(at))

    def _list(self, found: re.Match[str]) -> Value:
        """Texts on one line."""
        items: list[Value] = []
        for item in _TEXT.finditer(self.line, *found.span()):
            if _HOLE.search(item[0]):
                raise _Other
            self.strings[self.offset + item.start()] = (item[0][1:-1],)
            items.append(item[0][1:-1])
        return items
