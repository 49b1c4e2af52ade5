"""Lines → records: a line that leaves a quote open goes on to the line that closes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.formats.base import Positions
from tailrace.formats.lines import LineBlock

MAX_RECORD_BYTES = 1024 * 1024
"A quote that is not closed within this much is taken for a stray one."


@dataclass(slots=True)
class Records:
    """Records of a block, as first and last line of each, and what is none."""

    firsts: Positions
    lasts: Positions
    unclosed: list[int]
    "Lines that open a quote which nothing closes."
    waiting: int
    "From this line on the block has to be read together with the next one."


def records_of(block: LineBlock, quote: str, escape: str, comment: str | None, final: bool) -> Records:
    """Pairs the lines that hold an odd number of quotes."""
    count = len(block)
    odd = _odd_lines(block, quote, escape, comment)
    inside = np.zeros(count, bool)
    lasts = np.arange(count)
    unclosed: list[int] = []
    waiting = count
    place = 0
    while place < len(odd):
        first = odd[place]
        last = odd[place + 1] if place + 1 < len(odd) else count - 1
        near = block.ends[last] - block.starts[first] <= MAX_RECORD_BYTES
        if place + 1 == len(odd) and near and not final:
            waiting = first
            break
        if place + 1 < len(odd) and near:
            inside[first + 1 : last + 1] = True
            lasts[first] = last
            place += 2
        else:
            unclosed.append(first)
            inside[first] = True
            place += 1
    firsts = np.flatnonzero(~inside[:waiting])
    return Records(firsts, lasts[firsts], unclosed, waiting)


def _odd_lines(block: LineBlock, quote: str, escape: str, comment: str | None) -> list[int]:
    mark = quote.encode()
    if not mark or mark not in block.buffer:
        return []
    data = np.frombuffer(block.buffer, np.uint8)
    places = np.flatnonzero(data == mark[0])
    if escape and escape != quote:
        escaped = data.take(places - 1, mode="wrap") == ord(escape)
        places = places[~escaped]
    if not len(places) % 2:
        lines = np.minimum(np.searchsorted(block.ends, places[0::2]), len(block) - 1)
        if (places[1::2] < block.ends[lines]).all():  # each is closed in the line in which it is opened
            return []
    counts = np.searchsorted(places, block.ends) - np.searchsorted(places, block.starts)
    odd: list[int] = np.flatnonzero(counts % 2).tolist()
    if comment:
        odd = [line for line in odd if not block.raw(line).startswith(comment.encode())]
    return odd


def record_block(block: LineBlock, firsts: Positions, lasts: Positions) -> LineBlock:
    """A block whose lines are these records."""
    originals: dict[int, bytes] = {}
    if block.originals:
        for number, (first, last) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True)):
            if any(line in block.originals for line in range(first, last + 1)):
                originals[number] = b"\n".join(block.raw(line) for line in range(first, last + 1))
    return LineBlock(block.buffer, block.starts[firsts], block.ends[lasts], block.positions[firsts], [], originals)
