"""FlatBuffers read many at a time: positions are arrays, a look at one field of all tables is one gather.

Nothing is assumed of alignment, and nothing is believed: every position is held against the bounds of its message
before it is used, and what lies outside is marked, not raised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_PAD = 32
"Bytes behind the end that a look at position `end` may touch."
_ID = 16


class Wire:
    """Bytes in which numbers are read at any position."""

    def __init__(self, data: bytes | memoryview) -> None:
        self.size = len(data)
        self.bytes = np.zeros(self.size + _PAD, np.uint8)
        self.bytes[: self.size] = np.frombuffer(data, np.uint8)
        self._buffer = pa.py_buffer(self.bytes)
        self._u2 = self._view("<u2")
        self._u4 = self._view("<u4")
        self._i4 = self._view("<i4")
        self._u8 = self._view("<u8")
        self._ids = self._view("V16")

    def _view(self, kind: str) -> npt.NDArray[Any]:
        width = np.dtype(kind).itemsize
        return np.ndarray((len(self.bytes) - width + 1,), kind, self.bytes.data, 0, (1,))

    def u1(self, at: Ints) -> Ints:
        return self.bytes[at].astype(np.int64)

    def u2(self, at: Ints) -> Ints:
        return self._u2[at].astype(np.int64)

    def u4(self, at: Ints) -> Ints:
        return self._u4[at].astype(np.int64)

    def i4(self, at: Ints) -> Ints:
        return self._i4[at].astype(np.int64)

    def u8(self, at: Ints) -> npt.NDArray[np.uint64]:
        return self._u8[at].astype(np.uint64)

    def binary(self, starts: Ints, lengths: Ints, valid: Flags) -> pa.Array:
        """The spans as values; null where not valid."""
        places = np.flatnonzero(valid)
        if not len(places):
            return pa.nulls(len(valid), pa.binary())
        begin, end = starts[places], starts[places] + lengths[places]
        if (begin[1:] < begin[:-1]).any():
            order = np.argsort(begin, kind="stable")
            places, begin, end = places[order], begin[order], end[order]
        if (begin[1:] < end[:-1]).any():  # writers may share what is equal
            return self._gathered(starts, lengths, valid)
        # Spans and what lies between them are the values of one array, of which every second one is taken:
        # Arrow copies bytes ten times as fast as numpy gathers them.
        offsets = np.empty(2 * len(places) + 1, np.int32)
        offsets[:-1:2], offsets[1::2], offsets[-1] = begin, end, end[-1]
        both = pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), self._buffer])
        taken = np.zeros(len(valid), np.int64)
        taken[places] = np.arange(0, 2 * len(places), 2)
        return both.take(pa.array(taken, mask=~valid))

    def _gathered(self, starts: Ints, lengths: Ints, valid: Flags) -> pa.Array:
        lengths = np.where(valid, lengths, 0)
        ends = np.cumsum(lengths)
        offsets = np.zeros(len(lengths) + 1, np.int32)
        offsets[1:] = ends
        total = int(ends[-1]) if len(ends) else 0
        places = np.repeat(starts - (ends - lengths), lengths) + np.arange(total, dtype=np.int64)
        return _array(self.bytes[places], offsets, valid)

    def ids(self, starts: Ints, valid: Flags) -> pa.Array:
        """Sixteen bytes at each start; null where not valid."""
        offsets = np.zeros(len(starts) + 1, np.int32)
        offsets[1:] = np.cumsum(valid) * _ID
        return _array(self._ids[starts[valid]], offsets, valid)


def _array(values: npt.NDArray[Any], offsets: npt.NDArray[np.int32], valid: Flags) -> pa.Array:
    bits = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    return pa.Array.from_buffers(
        pa.binary(), len(valid), [bits, pa.py_buffer(offsets.tobytes()), pa.py_buffer(values.tobytes())]
    )


@dataclass(frozen=True, slots=True)
class Spans:
    """A vector or string in each table."""

    start: Ints
    length: Ints
    present: Flags
    bad: Flags
    "It is there, but points out of its message."


@dataclass(frozen=True, slots=True)
class Tables:
    """A table in each message, or in each place of a vector; where `ok` is false nothing else means anything."""

    wire: Wire
    at: Ints
    vtable: Ints
    slots: Ints
    low: Ints
    high: Ints
    ok: Flags

    @classmethod
    def at_positions(cls, wire: Wire, at: Ints, low: Ints, high: Ints, ok: Flags) -> Tables:
        """The tables that begin at these positions."""
        ok = ok & (at >= low) & (at + 4 <= high)
        at = np.where(ok, at, 0)
        vtable = at - wire.i4(at)
        ok = ok & (vtable >= low) & (vtable + 4 <= high)
        vtable = np.where(ok, vtable, 0)
        size = wire.u2(vtable)
        ok = ok & (size >= 4) & (size % 2 == 0) & (vtable + size <= high)
        return cls(wire, at, vtable, np.where(ok, (size - 4) // 2, 0), low, high, ok)

    @classmethod
    def roots(cls, wire: Wire, low: Ints, high: Ints, ok: Flags) -> Tables:
        """The table that each message begins with."""
        ok = ok & (high - low >= 8)
        return cls.at_positions(wire, low + wire.u4(np.where(ok, low, 0)), low, high, ok)

    def field(self, slot: int | Ints, width: int) -> tuple[Ints, Flags, Flags]:
        """Position of a field of that width, whether it is there, and whether it is there but outside."""
        has = self.ok & (self.slots > slot)
        offset = np.where(has, self.wire.u2(np.where(has, self.vtable + 4 + 2 * np.asarray(slot), 0)), 0)
        has &= offset != 0
        position = self.at + offset
        bad = has & (position + width > self.high)
        has &= ~bad
        return np.where(has, position, 0), has, bad

    def number(self, slot: int | Ints, width: int, absent: int = 0) -> tuple[npt.NDArray[Any], Flags]:
        """An unsigned number, and where it lies outside."""
        at, has, bad = self.field(slot, width)
        values = {1: self.wire.u1, 8: self.wire.u8}[width](at)
        return np.where(has, values, values.dtype.type(absent)), bad

    def spans(self, slot: int | Ints, width: int = 1) -> Spans:
        """A vector of elements of that width, or a string."""
        at, present, bad = self.field(slot, 4)
        target = np.where(present, at + self.wire.u4(at), 0)
        outside = present & (target + 4 > self.high)
        bad, present = bad | outside, present & ~outside
        target = np.where(present, target, 0)
        length = np.where(present, self.wire.u4(target), 0)
        outside = present & (target + 4 + length * width > self.high)
        bad, present = bad | outside, present & ~outside
        return Spans(np.where(present, target + 4, 0), np.where(present, length, 0), present, bad)

    def elements(self, slot: int, least: int) -> tuple[Tables, Ints, Flags]:
        """Tables in a vector, the place in `self` that each belongs to, and where the vector itself is no good.

        `least` bytes are what an element needs at the least: fewer, and the vector names one table many times.
        """
        vector = self.spans(slot, 4)
        bad = vector.bad | ~vector.present | (vector.length * least > self.high - self.low)
        count = np.where(bad, 0, vector.length)
        owner = np.repeat(np.arange(len(count), dtype=np.int64), count)
        ends = np.cumsum(count)
        place = np.arange(len(owner), dtype=np.int64) - (ends - count)[owner]
        position = vector.start[owner] + 4 * place
        at = position + self.wire.u4(position)
        everything = np.ones(len(owner), np.bool_)
        return Tables.at_positions(self.wire, at, self.low[owner], self.high[owner], everything), owner, bad
