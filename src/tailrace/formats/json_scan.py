"""Where JSON values end, in bytes that may be malformed, cut off, or too long to hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import msgspec
import numpy as np
import numpy.typing as npt

_QUOTE, _BACKSLASH = 34, 92
_STEPS = np.zeros(256, np.int8)
_STEPS[[ord("{"), ord("[")]] = 1
_STEPS[[ord("}"), ord("]")]] = -1
_MARKS = _STEPS != 0
_MARKS[[_QUOTE, _BACKSLASH]] = True
# Numbers as floats: only the end matters, and int() refuses thousands of digits.
_READER = json.JSONDecoder(strict=False, parse_int=float)
_GAP = re.compile(r"[ \t\r\n,]*")
_BLANK = re.compile(r"[ \t\r\n]*")
_RESTART = re.compile(r"[,\n\r][ \t\r\n]*(\{)")
_TRIES = 2_000
"How many places are tried for a new beginning after a broken record, per window."
_PIECES = 20_000
"Values that one walk takes at most."
_RAW = msgspec.json.Decoder(msgspec.Raw)


class Nesting:
    """Follows brackets through blocks of bytes; those in strings do not count. Needs no more than a block."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self._in_string = False
        self._escaped = False

    def end(self, block: bytes) -> int | None:
        """Index after the byte that closes the outermost bracket, or None: it is in a later block."""
        data = np.frombuffer(block, np.uint8)
        marks = np.flatnonzero(_MARKS[data])
        kinds = data[marks]
        escaped = self._escapes(marks[kinds == _BACKSLASH], len(block))
        quotes = marks[kinds == _QUOTE]
        quotes = quotes[~np.isin(quotes, escaped, assume_unique=True)] if len(escaped) else quotes
        brackets = marks[_STEPS[kinds] != 0]
        outside = (np.searchsorted(quotes, brackets) + self._in_string) % 2 == 0
        brackets = brackets[outside]
        depths = self._depth + np.cumsum(_STEPS[data[brackets]], dtype=np.int64)
        closed = np.flatnonzero(depths <= 0)
        if len(closed):
            return int(brackets[closed[0]]) + 1
        self._depth = int(depths[-1]) if len(depths) else self._depth
        self._in_string ^= len(quotes) % 2 == 1
        return None

    def _escapes(self, slashes: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
        """Positions that a backslash takes the meaning from; every second one of a run does."""
        if self._escaped:
            slashes = np.concatenate(([-1], slashes))
        if not len(slashes):
            return slashes
        starts = np.concatenate(([True], np.diff(slashes) != 1))
        first = np.maximum.accumulate(np.where(starts, np.arange(len(slashes)), 0))
        active = (np.arange(len(slashes)) - first) % 2 == 0
        self._escaped = bool(active[-1]) and int(slashes[-1]) == size - 1
        escaped: npt.NDArray[np.int64] = slashes[active] + 1
        return escaped


class Found(Enum):
    VALUE = "value"
    INCOMPLETE = "incomplete"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a window: one value, or bytes that are none."""

    start: int
    end: int
    reason: str | None = None
    "Why it is no value."


@dataclass(frozen=True, slots=True)
class Walk:
    """What stands in a window, value by value."""

    pieces: list[Piece]
    used: int
    "Bytes that are done with."
    closed: bool
    "The array ended."


def value_at(text: str, start: int, last: bool) -> tuple[Found, int]:
    """Is there a whole value? With its end. Text is the bytes as latin-1: same indices, same syntax."""
    try:
        _, end = _READER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        cut_off = error.pos >= len(text) - 12 or error.msg.startswith("Unterminated string")
        return (Found.INCOMPLETE if cut_off and not last else Found.BROKEN), start
    except (ValueError, RecursionError):
        return Found.BROKEN, start
    if end == len(text) and not last and text[start] not in '{["':
        return Found.INCOMPLETE, start  # a number may go on
    return Found.VALUE, end


def why_invalid(data: bytes) -> str:
    """The reason to refuse bytes that no decoder takes."""
    try:
        _RAW.decode(data)
    except RecursionError:
        return "json: nested too deep"
    except msgspec.DecodeError:
        pass
    return "json: invalid"


def begins_a_value(data: bytes) -> bool:
    """Is this a value, or the beginning of one? For long ones: needs no memory."""
    try:
        _RAW.decode(data)
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    except RecursionError:
        return True
    return True


def walk(view: bytes, *, array: bool, last: bool) -> Walk:
    """All values of a window in order. What is cut off at its end is left, unless it is the last window."""
    text = view.decode("latin-1")
    pieces: list[Piece] = []
    at = 0
    while True:
        at = _gap(text, at)
        if at == len(text):
            return Walk(pieces, at, False)
        if array and text[at] == "]":
            return Walk(pieces, at + 1, True)
        if len(pieces) == _PIECES:
            return Walk(pieces, at, False)
        found, end = value_at(text, at, last)
        if found is Found.INCOMPLETE or (found is Found.BROKEN and at and not last):
            return Walk(pieces, at, False)  # the next window begins here, so that cuts never depend on chance
        if found is Found.VALUE:
            pieces.append(Piece(at, end))
        else:
            end = after_broken(view, text, at, array)
            why = why_invalid(view[at:end])
            cut_off = last and end == len(text) and why == "json: invalid"
            pieces.append(Piece(at, end, "json: cut off or invalid" if cut_off else why))
        at = end


def _gap(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    assert gap is not None
    return gap.end()


def blank(text: str, at: int) -> int:
    """Index of the next character that is no white space."""
    gap = _BLANK.match(text, at)
    assert gap is not None
    return gap.end()


def after_broken(view: bytes, text: str, at: int, array: bool) -> int:
    """Where to go on after bytes that are no value: at their own closing bracket if that makes sense, else at
    the next `{` after a comma or line end from which a whole value parses."""
    if text[at] in "{[":
        length = Nesting().end(view[at:])
        if length is not None and _goes_on(text, at + length, array):
            return at + length
    for restart in _tries(text, at):
        found, _ = value_at(text, restart, True)
        if found is Found.VALUE:
            return restart
    return len(text)


def _tries(text: str, at: int) -> Iterator[int]:
    for _ in range(_TRIES):
        match = _RESTART.search(text, at)
        if match is None:
            return
        at = match.start(1)
        yield at


def _goes_on(text: str, at: int, array: bool) -> bool:
    """Does a value, or the end, follow here?"""
    following = blank(text, at)
    if following == len(text):
        return True
    if text[following] == "]":
        return array
    start = _gap(text, following)
    if start == following and "\n" not in text[at:following]:
        return False
    return start == len(text) or value_at(text, start, False)[0] is not Found.BROKEN
