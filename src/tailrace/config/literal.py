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

_KIND = r"""(?P<kind>[A-Za-z_][\w-]*)(?P<labels>(?:[ \t]++"[^"\\$%\n]+")*)[ \t]*+\{"""
_ATTRIBUTE = r"""(?P<name>[A-Za-z_][\w-]*)[ \t]*+=[ \t]*+(?:
      (?P<text>"[^"\\\n]*")
    | (?P<raw>`[^`\n]*`)
    | (?P<number>(?:0|[1-9][0-9]{0,14})(?![\w.-]))
    | (?P<word>[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)(?![\w.(\[-])
    | (?P<list>\[[ \t]*+(?:"[^"\\\n]*"(?:[ \t]*+,[ \t]*+"[^"\\\n]*")*[ \t]*+)?\])
    )"""
_REST = r"""[ \t]*+(?P<end>\})?[ \t]*+(?:(?:\#|//)[^\n]*|\r)?(?:\n|\Z)"""
_LINE = re.compile(rf"[ \t]*+(?:{_KIND})?[ \t]*+(?:{_ATTRIBUTE})?{_REST}", re.VERBOSE | re.ASCII)
"Beginning of a block, an attribute, end of a block: each may be missing, and all three may stand on one line."
# Blanks are taken possessively: else a line of many would be tried in every division among its parts.
_FORMS = ("text", "list", "word", "raw", "number")
_TEXT = re.compile(r'"([^"]*)"')
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
        reader.read()
    except _Other:
        return None
    return reader.opened[0].closed(len(text.data)), reader.strings


class _Lines:
    def __init__(self, text: Text) -> None:
        self.file = text.file
        self.text = text.data.decode("ascii")
        self.strings: dict[int, Pieces] = {}
        self.opened = [_Open("", (), (), Where(text.file, 1, 1), 0)]
        self.number = self.start = 0

    def read(self) -> None:
        at, size = 0, len(self.text)
        while at < size:
            line = _LINE.match(self.text, at)
            if line is None:
                raise _Other
            self.number, self.start = self.number + 1, at
            if line.lastgroup is not None:
                self._line(line)
            at = line.end()
        if len(self.opened) != 1:
            raise _Other

    def _line(self, line: re.Match[str]) -> None:
        kind, name, end = line.start("kind"), line["name"], line.end("end")
        if kind >= 0:
            # What follows on the line has to be all of the block.
            if name is not None and end < 0:
                raise _Other
            self._open(line, kind)
        elif name is not None and end >= 0:
            raise _Other
        if name is not None:
            self._attribute(line, name)
        if end >= 0:
            if len(self.opened) == 1:
                raise _Other
            block = self.opened.pop().closed(end)
            self.opened[-1].blocks.append(block)

    def _where(self, at: int) -> Where:
        return Where(self.file, self.number, at - self.start + 1)

    def _open(self, line: re.Match[str], at: int) -> None:
        kind = line["kind"]
        if kind in _OF_THE_GRAMMAR:
            raise _Other
        labels, places = [], []
        for label in _TEXT.finditer(self.text, *line.span("labels")):
            self.strings[label.start()] = (label[1],)
            labels.append(label[1])
            places.append(self._where(label.start()))
        self.opened.append(_Open(kind, tuple(labels), tuple(places), self._where(at), at))

    def _attribute(self, line: re.Match[str], name: str) -> None:
        attributes = self.opened[-1].attributes
        if name in attributes or name in _OF_THE_GRAMMAR:
            raise _Other
        form = line.lastgroup or ""
        if form == "end":
            form = next(form for form in _FORMS if line[form] is not None)
        at = line.start(form)
        constant = Constant(self._value(line, form, at, name), self._where(at))
        attributes[name] = Attribute(name, self._where(line.start("name")), constant)

    def _value(self, line: re.Match[str], form: str, at: int, name: str) -> Value:
        written = line[form]
        if form == "number":
            return int(written)
        if form == "list":
            return self._list(line)
        if form == "word":
            return self._word(written, at)
        if form == "text" and (_ESCAPED_HOLE if name in _RAW else _HOLE).search(written):
            raise _Other
        self.strings[at] = (written[1:-1],)
        return written[1:-1]

    def _word(self, word: str, at: int) -> Value:
        if word in _WORDS:
            return _WORDS[word]
        path = tuple(word.split("."))
        if len(path) < 2 or path[0] not in REFERENCES:
            raise _Other
        return Reference(path, self._where(at))

    def _list(self, line: re.Match[str]) -> Value:
        """Texts on one line."""
        if _HOLE.search(line["list"]):
            raise _Other
        items: list[Value] = []
        for item in _TEXT.finditer(self.text, *line.span("list")):
            self.strings[item.start()] = (item[1],)
            items.append(item[1])
        return items
