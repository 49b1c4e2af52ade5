"""UUIDs written as text → sixteen bytes each, all of a column at once."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
import pyarrow as pa

SIZE = 16
_BARE, _HYPHENED = 32, 36
_HYPHENS = (8, 13, 18, 23)


def required_ids(texts: Sequence[str]) -> bytes | None:
    """Sixteen bytes for each, one behind the other; None = one of them is no UUID, with hyphens or without."""
    if len(set(map(len, texts))) <= 1:
        return _of_one_width(texts)
    each = [_of_one_width([text]) for text in texts]
    return None if None in each else b"".join(each)  # type: ignore[arg-type]


def optional_ids(texts: Sequence[str | None]) -> pa.Array:
    """The same as a column; what is no UUID in any spelling is null."""
    given = [text for text in texts if text is not None]
    if len(given) == len(texts) and len(set(map(len, given))) == 1:
        whole = _of_one_width(given)
        if whole is not None:
            return binary(whole)
    return pa.array([_id(text) for text in texts], pa.binary())


def binary(whole: bytes) -> pa.Array:
    """A column of values that are sixteen bytes each."""
    offsets = np.arange(0, len(whole) + 1, SIZE, dtype=np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(whole) // SIZE, [None, pa.py_buffer(offsets), pa.py_buffer(whole)], null_count=0
    )


def _of_one_width(texts: Sequence[str]) -> bytes | None:
    width, digits = len(texts[0]) if texts else _BARE, "".join(texts)
    if width == _HYPHENED:
        wanted = "-" * len(texts)
        if any(digits[place::_HYPHENED] != wanted for place in _HYPHENS):
            return None
        digits = digits.replace("-", "")
    if len(digits) != _BARE * len(texts):
        return None
    try:
        whole = bytes.fromhex(digits)
    except ValueError:
        return None
    return whole if len(whole) == SIZE * len(texts) else None  # spaces are passed over


def _id(text: str | None) -> bytes | None:
    """A UUID in any spelling; anything else is none."""
    if not text:
        return None
    if len(text) in (_BARE, _HYPHENED):
        # Several times as fast as the class for it, which is asked about other spellings.
        try:
            found = bytes.fromhex(text.replace("-", ""))
        except ValueError:
            return None
        if len(found) == SIZE:
            return found
    try:
        return UUID(text).bytes
    except ValueError:
        return None
