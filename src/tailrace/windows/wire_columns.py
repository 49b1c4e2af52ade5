"""Protobuf's wire format written column by column: one binary value per message, made by Arrow and numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.protobuf_wire import FIXED32, FIXED64, SPAN, VARINT
from tailrace.windows.nested import tagged

_LONGEST = 10
_NOTHING = pa.scalar(b"", pa.binary())


def concatenated(*parts: pa.Array | pa.Scalar) -> pa.Array:
    """The parts of each message behind each other; what is null adds nothing."""
    told = [part for part in parts if isinstance(part, pa.Scalar) or not is_nothing(part)]
    if not told:
        return pa.repeat(_NOTHING, len(parts[0]))
    if len(told) == 1 and not told[0].null_count:
        return told[0]
    return pc.binary_join_element_wise(*told, _NOTHING, null_handling="replace", null_replacement=b"")


def is_nothing(values: pa.Array) -> bool:
    """Is there no value at all? Most columns of most batches have none, and cost nothing then."""
    found: bool = values.null_count == len(values)
    return found


def gathered(parts: pa.Array, offsets: npt.NDArray[np.int64]) -> pa.Array:
    """Neighbouring messages joined: those between two offsets become one."""
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), parts)
    return pc.binary_join(lists, _NOTHING)


def spans(number: int, bodies: pa.Array) -> pa.Array:
    """Fields of bytes; none where the body is null."""
    if is_nothing(bodies):
        return pa.nulls(len(bodies), pa.binary())
    bodies = bodies.cast(pa.binary())
    sizes = varints(pc.binary_length(bodies).fill_null(0).to_numpy(zero_copy_only=False))
    return _or_null(concatenated(_tag(number, SPAN), sizes, bodies), bodies)


def numbers(number: int, values: pa.Array) -> pa.Array:
    """Fields of variable length; none where the value is null."""
    if is_nothing(values):
        return pa.nulls(len(values), pa.binary())
    plain = _integers(values)
    return _or_null(concatenated(_tag(number, VARINT), varints(plain)), values)


def fixed64(number: int, values: pa.Array) -> pa.Array:
    """Fields of eight bytes, of whole numbers or of doubles."""
    return _fixed(number, FIXED64, values, 8)


def fixed32(number: int, values: pa.Array) -> pa.Array:
    return _fixed(number, FIXED32, values, 4)


def _fixed(number: int, wire: int, values: pa.Array, width: int) -> pa.Array:
    if is_nothing(values):
        return pa.nulls(len(values), pa.binary())
    plain = values.fill_null(0).to_numpy(zero_copy_only=False)
    data = np.ascontiguousarray(plain).view(np.uint8)
    offsets = np.arange(len(plain) + 1, dtype=np.int32) * np.int32(width)
    bodies = pa.Array.from_buffers(pa.binary(), len(plain), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    return _or_null(concatenated(_tag(number, wire), bodies), values)


def varints(values: npt.NDArray[np.generic]) -> pa.Array:
    """Numbers in seven bits a byte."""
    left = values.astype(np.int64, copy=False).view(np.uint64)
    if not len(left) or left.max() < 0x80:
        # Most lengths are short: a byte each.
        whole = np.arange(len(left) + 1, dtype=np.int32)
        return pa.Array.from_buffers(
            pa.binary(), len(left), [None, pa.py_buffer(whole), pa.py_buffer(left.astype(np.uint8))]
        )
    places = np.empty((len(left), _LONGEST), np.uint8)
    sizes = np.ones(len(left), np.int32)
    width = 1
    for place in range(_LONGEST):
        places[:, place] = (left & np.uint64(0x7F)).astype(np.uint8)
        left = left >> np.uint64(7)
        more = left > 0
        if not more.any():
            break
        places[more, place] |= 0x80
        sizes[more] += 1
        width += 1
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    chosen = np.arange(width, dtype=np.int32) < sizes[:, None]
    data = places[:, :width][chosen]
    return pa.Array.from_buffers(pa.binary(), len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _integers(values: pa.Array) -> npt.NDArray[np.generic]:
    found = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return np.asarray(found)


def _tag(number: int, wire: int) -> pa.Scalar:
    return pa.scalar(tagged(number, wire), pa.binary())


def _or_null(made: pa.Array, values: pa.Array) -> pa.Array:
    if not values.null_count:
        return made
    return pc.if_else(values.is_valid(), made, pa.scalar(None, pa.binary()))
