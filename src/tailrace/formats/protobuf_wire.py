"""Protobuf's wire format, many messages at a time: each step reads the next field of all of them with numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.uint64]
VARINT, FIXED64, SPAN, FIXED32 = 0, 1, 2, 5
_FEW = 24
"Below so many messages a step of numpy costs more than a loop."
_LONGEST = 10
"Bytes of a varint at most."
_MASK = 2**64 - 1
_WIDTHS = {FIXED64: 8, FIXED32: 4}


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields of messages, ordered by message and then as they stand in it."""

    owner: Ints
    "Number of the message."
    number: Ints
    wire: Ints
    value: Unsigned
    "The number, or the length of a span."
    start: Ints
    "Where the value begins."
    broken: npt.NDArray[np.bool_]
    "Per message: it ends inside a field, or holds what is none. What was read before is told."

    def of(self, number: int, wire: int) -> Fields:
        """Those of one number and type."""
        chosen = (self.number == number) & (self.wire == wire)
        return self.where(chosen)

    def last(self) -> Fields:
        """Of several in one message the last holds."""
        chosen = np.ones(len(self.owner), bool)
        chosen[:-1] = self.owner[1:] != self.owner[:-1]
        return self.where(chosen)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Fields:
        owner, number, wire = self.owner[chosen], self.number[chosen], self.wire[chosen]
        return Fields(owner, number, wire, self.value[chosen], self.start[chosen], self.broken)

    @property
    def end(self) -> Ints:
        return self.start + self.value.astype(np.int64)


def merged(data: Bytes, fields: Fields) -> tuple[Bytes, Fields]:
    """Spans, each message's once, and the bytes in which they lie.

    A message that stands in another several times is one, as protobuf has it: its pieces behind each other.
    """
    first = np.ones(len(fields.owner), bool)
    first[1:] = fields.owner[1:] != fields.owner[:-1]
    if first.all():
        return data, fields
    lengths = fields.value.astype(np.int64)
    pieces = np.frombuffer(texts(data, fields.start, lengths).buffers()[2], np.uint8)
    begins, places = np.cumsum(lengths) - lengths, np.flatnonzero(first)
    whole = fields.where(first)
    sizes = np.add.reduceat(fields.value, places)
    return pieces, Fields(whole.owner, whole.number, whole.wire, sizes, begins[first], fields.broken)


def scan(data: Bytes, starts: Ints, ends: Ints) -> Fields:
    """The fields of the messages between `starts` and `ends`."""
    cursor = starts.astype(np.int64)
    broken = np.zeros(len(starts), bool)
    steps: list[tuple[npt.NDArray[Any], ...]] = []
    active = np.flatnonzero(cursor < ends)
    while len(active) >= _FEW:
        step, wrong = _step(data, active, cursor, ends)
        steps.append(step)
        broken[active[wrong]] = True
        active = active[~wrong]
        active = active[cursor[active] < ends[active]]
    tail: list[tuple[int, ...]] = []
    text = data.data
    for message in active.tolist():
        broken[message] = not walk(text, message, int(cursor[message]), int(ends[message]), tail)
    if tail:
        columns = zip(*tail, strict=True)
        kinds = (np.int64, np.int64, np.int64, np.uint64, np.int64)
        steps.append(tuple(np.array(c, k) for c, k in zip(columns, kinds, strict=True)))
    if not steps:
        none = np.empty(0, np.int64)
        return Fields(none, none, none, none.astype(np.uint64), none, broken)
    owner, number, wire, value, start = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    order = np.argsort(owner, kind="stable")
    return Fields(owner[order], number[order], wire[order], value[order], start[order], broken)


def _step(
    data: Bytes, active: Ints, cursor: Ints, ends: Ints
) -> tuple[tuple[npt.NDArray[Any], ...], npt.NDArray[np.bool_]]:
    """The next field of every active message, and which of them have none that can be read."""
    limit = ends[active]
    tag, at = varints(data, cursor[active], limit)
    number, wire = (tag >> np.uint64(3)).astype(np.int64), (tag & np.uint64(7)).astype(np.int64)
    value = np.zeros(len(active), np.uint64)
    start = at.copy()
    counted = (wire == VARINT) | (wire == SPAN)
    wrong = (at < 0) | (number == 0)
    if counted.any():
        value[counted], start[counted] = varints(data, at[counted], limit[counted])
    after = start.copy()
    spans = wire == SPAN
    room = np.maximum(limit - start, 0).astype(np.uint64)
    wrong |= (start < 0) | (spans & (value > room))
    after[spans & ~wrong] += value[spans & ~wrong].astype(np.int64)
    for kind, width in _WIDTHS.items():
        chosen = (wire == kind) & ~wrong
        if chosen.any():
            chosen &= start + width <= limit
            value[chosen] = fixed(data, start[chosen], width)
            wrong |= (wire == kind) & ~chosen
            after[chosen] += width
    wrong |= ~(counted | (wire == FIXED64) | (wire == FIXED32))
    cursor[active] = np.where(wrong, limit, after)
    right = ~wrong
    return (active[right], number[right], wire[right], value[right], start[right]), wrong


def varints(data: Bytes, at: Ints, limit: Ints) -> tuple[Unsigned, Ints]:
    """Numbers of variable length at these places, and where they end; -1 where there is none."""
    inside = (at >= 0) & (at < limit)
    first = data[np.where(inside, at, 0)]
    value = (first & 0x7F).astype(np.uint64)
    after = np.where(inside, at + 1, -1)
    going = np.flatnonzero(inside & (first >= 0x80))
    for place in range(1, _LONGEST):
        if not len(going):
            break
        here = after[going]
        ended = here >= limit[going]
        after[going[ended]] = -1
        going, here = going[~ended], here[~ended]
        byte = data[here]
        value[going] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * place)
        after[going] = here + 1
        going = going[byte >= 0x80]
    after[going] = -1
    return value, after


def fixed(data: Bytes, at: Ints, width: int) -> Unsigned:
    """Little-endian numbers of 4 or 8 bytes."""
    gathered = data[at[:, None] + np.arange(width)]
    return np.ascontiguousarray(gathered).view(f"<u{width}").ravel().astype(np.uint64)


def walk(data: memoryview, message: int, at: int, end: int, found: list[tuple[int, ...]]) -> bool:
    """The fields of one message; False when it does not end well."""
    while at < end:
        tag, at = varint(data, at, end)
        wire, number = tag & 7, tag >> 3
        if at < 0 or number == 0:
            return False
        value = 0
        if wire in (VARINT, SPAN):
            value, start = varint(data, at, end)
            after = start + value if wire == SPAN else start
        else:
            width = _WIDTHS.get(wire, 0)
            start, after = at, at + width
            if not width:
                return False
            value = int.from_bytes(data[at:after], "little")
        if start < 0 or after > end:
            return False
        found.append((message, number, wire, value, start))
        at = after
    return True


def varint(data: memoryview | bytes, at: int, end: int) -> tuple[int, int]:
    """A number of variable length and where it ends; -1 if it does not."""
    value = shift = 0
    while at < end and shift < 7 * _LONGEST:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, at
        shift += 7
    return 0, -1


def texts(data: Bytes, starts: Ints, lengths: Ints) -> pa.Array:
    """Binary values cut out of the data."""
    ends = np.cumsum(lengths)
    size = int(ends[-1]) if len(ends) else 0
    offsets = np.zeros(len(lengths) + 1, np.int32)
    offsets[1:] = ends
    places = np.repeat(starts - offsets[:-1], lengths) + np.arange(size)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data[places])]
    return pa.Array.from_buffers(pa.binary(), len(lengths), buffers)
