"""Lines that begin with # say how those after them are to be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tailrace.formats.base import Positions
from tailrace.formats.lines import LineBlock

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


def sections(block: LineBlock) -> Iterator[tuple[Positions, bytes | None]]:
    """Runs of lines, each with the directive that ends it; none ends the last."""
    data = np.frombuffer(block.buffer, np.uint8)
    filled = np.flatnonzero(block.ends > block.starts)
    begin = 0
    for mark in filled[data[block.starts[filled]] == _HASH].tolist():
        yield np.arange(begin, mark), block.raw(mark)
        begin = mark + 1
    yield np.arange(begin, len(block)), None
