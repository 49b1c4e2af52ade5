"""Records of several lines: each begins where a pattern is found and ends before the next."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core.errors import PatternError
from tailrace.formats.base import Positions, Stream, growing
from tailrace.formats.grok import checked_start
from tailrace.formats.line_texts import texts_of
from tailrace.formats.lines import LineBlock, cut_lines, merged
from tailrace.formats.matchers import bools
from tailrace.formats.records import MAX_RECORD_BYTES, record_block


class Starts:
    """Tells the lines in which a record begins; a line that leads such a one begins it in its place."""

    def __init__(self, pattern: str, lead: str | None = None) -> None:
        try:
            pc.match_substring_regex(pa.array([""]), checked_start(pattern))
        except pa.ArrowInvalid:
            raise PatternError(
                f"the pattern '{pattern}' cannot tell where a record begins",
                pattern=pattern,
                at=0,
                code="config.start",
                hint="lookaround and back references are not possible here",
            ) from None
        self.pattern = pattern
        self.lead = lead

    def __call__(self, lines: pa.StringArray) -> npt.NDArray[np.bool_]:
        found = bools(pc.match_substring_regex(lines, self.pattern))
        if self.lead is not None:
            leads = bools(pc.match_substring_regex(lines, self.lead))[:-1] & found[1:]
            found = np.append(found[:1], found[1:] & ~leads)
            found[:-1] |= leads
        return found


def records(stream: Stream, starts: Starts) -> Iterator[LineBlock]:
    """Blocks whose 'lines' are whole records. Lines before the first beginning stand alone, as does what would
    make a record longer than MAX_RECORD_BYTES."""
    held: LineBlock | None = None
    for block in cut_lines(stream):
        block = block if held is None else merged([held, block])
        firsts, lasts = _bounds(block, starts)
        last = int(firsts[-1]) if len(firsts) else 0
        held = None
        if len(firsts) and block.ends[-1] - block.starts[last] <= MAX_RECORD_BYTES:
            held = block.narrowed(np.arange(last, len(block)))
            firsts, lasts = firsts[:-1], lasts[:-1]
        if len(firsts) or block.bad:
            yield _records(block, firsts, lasts)
    grows = growing(stream)
    if held is not None and not (grows and grows.leaves(int(held.positions[0]))):
        yield _records(held, *_bounds(held, starts))


def _records(block: LineBlock, firsts: Positions, lasts: Positions) -> LineBlock:
    out = record_block(block, firsts, lasts)
    out.bad = block.bad
    return out


def _bounds(block: LineBlock, starts: Starts) -> tuple[Positions, Positions]:
    """First and last line of each record; blank lines at its end are not part of it."""
    if not len(block):
        return block.starts, block.starts
    begins = starts(texts_of(block))
    first = int(np.argmax(begins)) if begins.any() else len(block)
    begins[:first] = True  # nothing says that they belong together
    numbers = np.arange(len(block))
    filled = np.where(block.ends > block.starts, numbers, -1)
    firsts = np.flatnonzero(begins)
    lasts = np.append(firsts[1:] - 1, len(block) - 1)
    lasts = np.maximum(np.maximum.accumulate(filled)[lasts], firsts)
    return _limited(block, firsts, lasts)


def _limited(block: LineBlock, firsts: Positions, lasts: Positions) -> tuple[Positions, Positions]:
    """Records that are too long fall into their lines."""
    long = np.flatnonzero(block.ends[lasts] - block.starts[firsts] > MAX_RECORD_BYTES)
    if not len(long):
        return firsts, lasts
    alone = np.concatenate([np.arange(firsts[n], lasts[n] + 1) for n in long.tolist()])
    kept = np.delete(np.arange(len(firsts)), long)
    order = np.argsort(np.r_[firsts[kept], alone], kind="stable")
    return np.r_[firsts[kept], alone][order], np.r_[lasts[kept], alone][order]
