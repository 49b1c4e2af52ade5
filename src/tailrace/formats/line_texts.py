"""Some lines of a block, and their texts once somebody asks for them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.formats.base import Positions
from tailrace.formats.lines import LineBlock, blank_lines

_RETURN = 13


class Lines:
    """The lines (or records) of a block that are looked at."""

    def __init__(self, block: LineBlock, numbers: Positions) -> None:
        """`numbers` ascend."""
        self.block = block
        self.numbers = numbers
        self._texts: pa.StringArray | None = None

    @classmethod
    def filled(cls, block: LineBlock) -> Lines:
        """Those that are not blank."""
        blank = blank_lines(block)
        return cls(block, np.flatnonzero(~blank))

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def texts(self) -> pa.StringArray:
        if self._texts is None:
            every = len(self) == len(self.block)
            self._texts = texts_of(self.block if every else self.block.narrowed(self.numbers))
        return self._texts

    def first(self, count: int) -> Lines:
        """So many of them, as a block of their own."""
        block = self.block.narrowed(self.numbers[:count])
        return Lines(block, np.arange(len(block)))

    def where(self, mask: npt.NDArray[np.bool_]) -> Lines:
        """Some of them."""
        some = Lines(self.block, self.numbers[mask])
        if self._texts is not None:
            some._texts = self._texts.filter(pa.array(mask))
        return some


def texts_of(block: LineBlock) -> pa.StringArray:
    """The lines or records of a block, which is valid UTF-8, as Arrow strings."""
    lengths = block.ends - block.starts
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = _within(block, int(offsets[-1]))
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(data))


def _within(block: LineBlock, size: int) -> npt.NDArray[np.uint8]:
    """The bytes that belong to a line, of which there are so many."""
    data = np.frombuffer(block.buffer, np.uint8)
    kept = np.ones(len(data), bool)
    ended = block.ends[block.ends < len(data)]
    kept[ended] = False
    kept[ended[data[ended] == _RETURN] + 1] = False
    if np.count_nonzero(kept) == size:  # nothing but line ends lies between them
        return data[kept]
    edges = np.zeros(len(data) + 1, np.int8)
    edges[block.starts] += 1
    edges[block.ends] -= 1
    return data[np.cumsum(edges[:-1], dtype=np.int8) > 0]
