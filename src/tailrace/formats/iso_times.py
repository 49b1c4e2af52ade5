"""Times in ISO 8601, and as BigQuery writes them → `timestamp[us]` in UTC, by Arrow: a tenth of DuckDB's time.

Arrow reads columns that are written alike, and takes long to say that one is not. So texts are told apart first, by
what they end with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

STORED = pa.timestamp("us")
Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
_DAY, _MINUTE = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[T ][0-9]{2}:[0-9]{2}"
_DATE = len("2024-02-29")
_ODD = 0
_ZULU = ord("Z")


@dataclass(frozen=True, slots=True)
class _Way:
    """How a time ends, the shortest text of one with minutes, and the longest of one with no more than microseconds."""

    end: str
    shortest: int
    "Arrow takes hours for a time as well, DuckDB does not."
    longest: int
    zoned: bool = False
    cut: int = 0
    "Bytes at the end that Arrow does not read."

    def pattern(self, digits: int) -> str:
        time = rf"{_MINUTE}(?::[0-9]{{2}}(?:\.[0-9]{{1,{digits}}})?)?"
        return f"^{_DAY}{time}{self.end}$" if self.end else f"^{_DAY}(?:{time})?$"

    def read(self, texts: pa.Array, *, nanos: bool) -> pa.Array:
        """ArrowInvalid if one of them is no such time."""
        texts = pc.utf8_slice_codeunits(texts, 0, -self.cut) if self.cut else texts
        return _micros(texts.cast(pa.timestamp("ns" if nanos else "us", "UTC" if self.zoned else None)))


_WAYS = {
    1: _Way("", 16, 26),
    2: _Way("Z", 17, 27, zoned=True),
    3: _Way(" UTC", 20, 30, cut=4),
    4: _Way("[+-][0-9]{2}:?[0-9]{2}", 21, 32, zoned=True),
}
_BARE, _Z, _UTC, _OFFSET = _WAYS
_SHORTEST = np.array([0, *(way.shortest for way in _WAYS.values())])


def iso_times(texts: pa.Array) -> tuple[pa.Array, Mask] | None:
    """Times of texts that are not all null, and which of them were read, nulls included; None where none was."""
    _, places, data = texts.buffers()
    if data is None or not data.size:
        return None
    kind = "i8" if pa.types.is_large_string(texts.type) else "i4"
    offsets: Places = np.frombuffer(places, kind)[texts.offset : texts.offset + len(texts) + 1]
    lengths, held = offsets[1:] - offsets[:-1], np.frombuffer(data, np.uint8)
    last = held.take(offsets[1:] - 1, mode="clip")
    short = (lengths < _WAYS[_Z].shortest) & (lengths > 0)
    if last[0] == _ZULU and lengths[0] and (last == _ZULU).all() and not short.any():
        return _read(_WAYS[_Z], texts, int(lengths.max()))
    return _in_turns(texts, _told_apart(held, offsets[1:], last, lengths), lengths)


def _told_apart(held: Bytes, ends: Places, last: Bytes, lengths: Places) -> Bytes:
    """Per text the way that it may be written; any of a null."""
    ways = np.full(len(last), _BARE, np.uint8)
    signs = held.take(ends - 6, mode="clip"), held.take(ends - 5, mode="clip")
    signed = np.logical_or.reduce([(sign == ord("+")) | (sign == ord("-")) for sign in signs])
    ways[signed & (lengths != _DATE)] = _OFFSET
    ways[last == _ZULU] = _Z
    ways[last == ord("C")] = _UTC
    ways[(lengths < _SHORTEST[ways]) & (lengths != _DATE)] = _ODD
    return ways


def _in_turns(texts: pa.Array, ways: Bytes, lengths: Places) -> tuple[pa.Array, Mask] | None:
    """What is written in each of the ways."""
    silent = texts.is_null().to_numpy(zero_copy_only=False)
    right = silent.copy()
    ways[silent] = _ODD
    times: list[pa.Array] = []
    for number in np.flatnonzero(np.bincount(ways)).tolist():
        way = _WAYS.get(number)
        if way is None:
            continue
        chosen = ways == number
        some = texts if (chosen | silent).all() else pc.if_else(pa.array(chosen), texts, None)
        read = _read(way, some, int(lengths[chosen].max()))
        if read is not None:
            times.append(read[0])
            right |= read[1] & chosen
    if not times:
        return None
    return (pc.coalesce(*times) if len(times) > 1 else times[0]), right


def _read(way: _Way, texts: pa.Array, longest: int) -> tuple[pa.Array, Mask] | None:
    """The times, and which texts, or nulls, they stand for; None where there are none."""
    nanos = longest > way.longest
    pattern = way.pattern(9 if nanos else 6)
    first = texts[0] if texts[0].is_valid else texts.drop_null()[0]
    if re.match(pattern, first.as_py()):
        try:
            return way.read(texts, nanos=nanos), np.ones(len(texts), bool)
        except pa.ArrowInvalid:
            pass
    alike = pc.match_substring_regex(texts, pattern).fill_null(False)
    try:
        read = way.read(pc.if_else(alike, texts, None), nanos=nanos) if alike.true_count else None
    except pa.ArrowInvalid:  # a day that its month does not have
        return None
    return None if read is None else (read, alike.to_numpy(zero_copy_only=False))


def _micros(times: pa.Array) -> pa.Array:
    """The microsecond that a time lies in."""
    if times.type.unit == "us":
        return times.view(STORED)
    counts = times.view(pa.int64()).fill_null(0).to_numpy() // 1_000
    return pa.array(counts, mask=times.is_null().to_numpy(zero_copy_only=False)).view(STORED)
