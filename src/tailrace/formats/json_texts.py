"""Values of JSON fields → Arrow texts, joined without a Python object per value where they are Raw."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from tailrace.formats.fit import null_where
from tailrace.formats.json_fit import text_of, unwrapped

Values = list[Any]
_BACKSLASH = ord("\\")


def opened(texts: pa.Array) -> pa.Array:
    """JSON documents, with those that were sent as strings decoded."""
    closed = pc.starts_with(texts, '"').fill_null(False)
    if not closed.true_count:
        return texts
    inner = [bytes(unwrapped(Raw(text.encode()))).decode() for text in texts.filter(closed).to_pylist()]
    return pc.replace_with_mask(texts, closed, pa.array([None if i == "null" else i for i in inner], pa.string()))


def strings(values: Values) -> pa.Array:
    """Values of which most were sent as strings."""
    try:
        return pa.array(values, pa.string())
    except (pa.ArrowTypeError, pa.ArrowInvalid):  # some were not sent as strings
        return pa.array([text_of(value) for value in values], pa.string())


def sent(values: Values, nulls: frozenset[str] = frozenset()) -> pa.Array:
    """Values as `text_of` tells them. A string without a backslash has quotes at its ends and nowhere else."""
    try:
        texts = raws(values, nulls)
    except TypeError:  # not all of them are Raw
        return pa.array([text_of(value) for value in values], pa.string())
    plain = pc.ascii_trim(texts, characters='"')
    held = texts.buffers()[2]
    if held is None or not (np.frombuffer(held, np.uint8) == _BACKSLASH).any():
        return plain
    escaped = pc.and_(pc.starts_with(texts, '"'), pc.match_substring(texts, "\\")).fill_null(False)
    told = [msgspec.json.decode(text) for text in texts.filter(escaped).to_pylist()]
    return pc.replace_with_mask(plain, escaped, pa.array(told, pa.string()))


def raws(values: Values, nulls: frozenset[str] = frozenset()) -> pa.Array:
    """JSON text as it was sent, joined without a Python object per value.

    That is safe because msgspec has parsed it and the block was found to be UTF-8 before.
    """
    size = len(values)
    absent = values.count(None)
    if absent == size:
        return pa.nulls(size, pa.string())
    texts = [b"" if value is None else value for value in values] if absent else values
    lengths = np.fromiter(map(len, texts), np.int32, size)
    offsets = np.zeros(size + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    joined = b"".join(texts)
    valid = lengths > 0
    short = np.flatnonzero(lengths == len(b"null"))
    valid[short[np.frombuffer(joined, np.uint8)[offsets[short]] == ord("n")]] = False
    validity = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    array = pa.StringArray.from_buffers(size, pa.py_buffer(offsets), pa.py_buffer(joined), validity)
    return without(array, {f'"{text}"' for text in nulls})


def without(texts: pa.Array, markers: Collection[str]) -> pa.Array:
    """Null for texts that mean null."""
    return null_where(texts, *markers) if markers and len(texts) else texts
