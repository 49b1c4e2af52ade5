"""Which lines are quoted so that a tokenizer cannot misread them, proved by numpy for a whole block."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.formats.base import Positions
from tailrace.formats.lines import LineBlock

Mask = npt.NDArray[np.bool_]
Data = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
BLANK, QUOTE, OPENING, CLOSING = 32, 34, 91, 93
_RETURN, _BACKSLASH = 13, 92
_QUOTED = re.compile(rb'"[^"]*"')
_BRACKETED = re.compile(rb"\[[^][]*\]")


def prove(block: LineBlock, data: Data, lines: Positions, expected: int) -> tuple[Mask, Places]:
    """Which lines hold as many quotes as expected, all well placed, and where, a row per such line.

    Quotes alternate, an opening one follows a blank or the line's start, a closing one stands before a blank
    or the line's end and not after a backslash. A return inside a line would end it for the tokenizer, and two
    blanks together may be a word too many, after which every quoted one stands in the place of another.
    """
    count = len(lines)
    every = count == len(block)
    starts, ends = (block.starts, block.ends) if every else (block.starts[lines], block.ends[lines])
    proved = np.ones(count, bool)
    quotes = np.empty((count, 0), np.int64)
    if expected or b'"' in block.buffer:
        places = np.flatnonzero(data == QUOTE)
        if expected and _evenly(places, starts, ends, expected):
            quotes = places.reshape(count, expected)
        else:
            first = np.searchsorted(places, starts)
            last = np.append(first[1:], len(places)) if every else np.searchsorted(places, ends)
            proved = last - first == expected
            quotes = places[first[proved][:, None] + np.arange(expected)]
            starts, ends = starts[proved], ends[proved]
    fine = _well_placed(block.buffer, data, quotes, starts, ends) if expected else np.ones(len(quotes), bool)
    if b"\r" in block.buffer:
        returns = np.flatnonzero(data == _RETURN)
        fine &= np.searchsorted(returns, ends) == np.searchsorted(returns, starts)
    if expected:
        blank = data == BLANK
        doubled = blank[:-1] & blank[1:]  # `in` takes ten times as long to find that there are no two together
        if doubled.any():
            fine &= _single_blanks(np.flatnonzero(doubled), quotes, starts, ends)
    if not fine.all():
        proved[proved] = fine
        quotes = quotes[fine]
    return proved, quotes


def _evenly(quotes: Positions, starts: Positions, ends: Positions, expected: int) -> bool:
    """Does each line hold the expected number of all the block's quotes?"""
    if len(quotes) != len(starts) * expected:
        return False
    return bool((quotes[::expected] >= starts).all() and (quotes[expected - 1 :: expected] < ends).all())


def _well_placed(buffer: bytes, data: Data, quotes: Places, starts: Positions, ends: Positions) -> Mask:
    opening, closing = quotes[:, 0::2], quotes[:, 1::2]
    fine = data.take(opening - 1, mode="wrap") == BLANK
    fine[:, 0] |= opening[:, 0] == starts
    before_blank = data.take(closing + 1, mode="clip") == BLANK
    before_blank[:, -1] |= closing[:, -1] + 1 == ends
    fine &= before_blank
    if b"\\" in buffer:
        fine &= data.take(closing - 1) != _BACKSLASH
    if fine.all():  # ten times as fast as asking per line
        return np.ones(len(quotes), bool)
    per_line: Mask = fine.all(axis=1)
    return per_line


def _single_blanks(doubled: Places, quotes: Places, starts: Positions, ends: Positions) -> Mask:
    """Which lines have no two blanks together outside their quotes."""
    single = np.ones(len(starts), bool)
    lines = np.searchsorted(starts, doubled, side="right") - 1
    within = (lines >= 0) & (doubled < ends[np.maximum(lines, 0)]) if len(ends) else np.zeros(len(lines), bool)
    lines, doubled = lines[within], doubled[within]
    outside = (quotes[lines] < doubled[:, None]).sum(axis=1) % 2 == 0
    single[lines[outside]] = False
    return single


def quoted_in(line: bytes) -> list[bytes]:
    """The quoted texts of a line."""
    return _QUOTED.findall(line)


def brackets_in(line: bytes) -> list[bytes]:
    """The texts in brackets of a line, but for those in quotes."""
    return _BRACKETED.findall(_QUOTED.sub(b'""', line))


def without_inner(line: bytes) -> bytes:
    """The line with nothing in its quotes and brackets."""
    return _BRACKETED.sub(b"[]", _QUOTED.sub(b'""', line))


def requote_brackets(data: Data, quotes: Places, number: int, width: int) -> bool:
    """Puts quotes for the brackets of that width before quote `number`, if all lines have them there."""
    closing = quotes[:, number] - 2
    opening = closing + 1 - width
    if number and not (quotes[:, number - 1] < opening).all():
        return False
    if opening.min(initial=0) < 0 or not (data.take(opening) == OPENING).all():
        return False
    if not (data.take(closing) == CLOSING).all() or not (data.take(opening - 1, mode="wrap") <= BLANK).all():
        return False
    if not _only_brackets(data == OPENING, opening, closing):
        return False
    data[opening] = QUOTE
    data[closing] = QUOTE
    return True


def _only_brackets(opens: Mask, opening: Places, closing: Places) -> bool:
    """Does none of them hold another one? In `[ [time]` the first is a field of its own."""
    if np.count_nonzero(opens) == len(opening):  # all that there are
        return True
    places = np.flatnonzero(opens)
    return bool((np.searchsorted(places, closing) - np.searchsorted(places, opening) == 1).all())


def packed(data: Data, block: LineBlock, lines: Positions) -> pa.Buffer:
    """The bytes of these lines, without those of the others."""
    if len(lines) == len(block):
        return pa.py_buffer(data)
    breaks = np.flatnonzero(np.diff(lines) != 1) + 1
    if not len(breaks):
        return pa.py_buffer(data[block.starts[lines[0]] : block.ends[lines[-1]]])
    firsts, lasts = lines[np.r_[0, breaks]], lines[np.r_[breaks - 1, len(lines) - 1]]
    view = data.data
    runs = zip(block.starts[firsts].tolist(), block.ends[lasts].tolist(), strict=True)
    return pa.py_buffer(b"\n".join([view[start:end] for start, end in runs]))
