"""Lines that begin with # say how those after them are to be read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tailrace.formats.base import Positions
from tailrace.formats.lines import LineBlock

_HASH = ord("#")


def sections(block: LineBlock) -> Iterator[tuple[Positions, bytes | None]]:
    """Runs of lines, each with the directive that ends it; none ends the last."""
    data = np.frombuffer(block.buffer, np.uint8)
    filled = np.flatnonzero(block.ends > block.starts)
    begin = 0
    for mark in filled[data[block.starts[filled]] == _HASH].tolist():
        yield np.arange(begin, mark), block.raw(mark)
        begin = mark + 1
    yield np.arange(begin, len(block)), None
