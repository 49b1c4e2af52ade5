"""Lines that begin with # say how those after them are to be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from tailrace.formats.base import Batch, Positions, Stream, growing
from tailrace.formats.lines import LineBlock, cut_lines

Header = TypeVar("Header")
_HASH = ord("#")
_NAME = re.compile(rb"#\s*([\w-]+)")


class Directives:
    """The last of each directive, in the order in which they came: what rules the lines after them."""

    def __init__(self, text: bytes = b"") -> None:
        self._lines: dict[bytes, bytes] = {}
        for line in text.splitlines():
            self.take(line)

    def take(self, line: bytes) -> None:
        """One more."""
        found = _NAME.match(line)
        name = found[1].lower() if found else b""
        if name == b"separator":  # with it a header of Zeek begins
            self._lines.clear()
        self._lines.pop(name, None)
        self._lines[name] = line

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._lines.values())

    @property
    def text(self) -> bytes:
        return b"\n".join(self)


def decode_ruled(
    stream: Stream,
    header: Header,
    ruled: Callable[[Header, bytes], Header],
    read: Callable[[Header, LineBlock, Positions], Iterable[Batch]],
) -> Iterator[Batch]:
    """Lines as `read` has them, under the header that rules them; a growing file keeps what rules those to come."""
    grows = growing(stream)
    directives = Directives(grows.ruling if grows else b"")
    for directive in directives:
        header = ruled(header, directive)
    for block in cut_lines(stream):
        if block.bad:
            yield Batch({}, np.empty(0, np.int64), block.raw, bad=block.bad)
        for lines, ending in _sections(block):
            yield from read(header, block, lines)
            if ending is not None:
                header = ruled(header, ending)
                directives.take(ending)
                yield Batch({}, np.empty(0, np.int64), block.raw, skipped=1)
    if grows:
        grows.ruling = directives.text


def _sections(block: LineBlock) -> Iterator[tuple[Positions, bytes | None]]:
    """Runs of lines, each with the directive that ends it; none ends the last."""
    data = np.frombuffer(block.buffer, np.uint8)
    filled = np.flatnonzero(block.ends > block.starts)
    begin = 0
    for mark in filled[data[block.starts[filled]] == _HASH].tolist():
        yield np.arange(begin, mark), block.raw(mark)
        begin = mark + 1
    yield np.arange(begin, len(block)), None
