"""CBOR (RFC 8949) of nested values: pairs of a map keep their order and may repeat a key."""

from __future__ import annotations

import struct
from typing import Any

Value = Any
"None, bool, int, float, str, bytes, a list of values, or a tuple of (key, value) pairs."
DEEPEST = 100
_BREAK = 0xFF
_INDEFINITE = 31
_ARGUMENT = {24: 1, 25: 2, 26: 4, 27: 8}
_SIMPLE = {20: False, 21: True, 22: None, 23: None}
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}
_NO_END = "CBOR ends inside a value"


def encode(value: Value) -> bytes:
    """A value as CBOR; numbers with a fraction always in eight bytes, so that every bit is kept."""
    out = bytearray()
    _write(value, out)
    return bytes(out)


def _write(value: Value, out: bytearray) -> None:
    if value is None:
        out.append(0xF6)
    elif isinstance(value, bool):
        out.append(0xF5 if value else 0xF4)
    elif isinstance(value, int):
        _head(0 if value >= 0 else 1, value if value >= 0 else -1 - value, out)
    elif isinstance(value, float):
        out.append(0xFB)
        out += struct.pack(">d", value)
    elif isinstance(value, bytes):
        _head(2, len(value), out)
        out += value
    elif isinstance(value, str):
        text = value.encode()
        _head(3, len(text), out)
        out += text
    elif isinstance(value, list):
        _head(4, len(value), out)
        for inner in value:
            _write(inner, out)
    else:
        _head(5, len(value), out)
        for key, inner in value:
            _write(key, out)
            _write(inner, out)


def _head(major: int, argument: int, out: bytearray) -> None:
    if argument < 24:
        out.append(major << 5 | argument)
        return
    for code, width in _ARGUMENT.items():
        if argument < 1 << 8 * width:
            out.append(major << 5 | code)
            out += argument.to_bytes(width, "big")
            return
    raise ValueError(f"{argument} has more than 64 bits")


def decode(data: bytes) -> Value:
    """The value that the bytes are; ValueError for what is no CBOR, or nests deeper than is sane."""
    reader = _Reader(data)
    value = reader.value(0)
    if reader.at != len(data):
        raise ValueError("more than one CBOR value")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        if len(found) < size:
            raise ValueError(_NO_END)
        self.at += size
        return found

    def value(self, depth: int) -> Value:
        if depth > DEEPEST:
            raise ValueError("CBOR nests too deep")
        first = self.take(1)[0]
        major, low = first >> 5, first & 31
        if major == 7:
            return self._simple(low)
        argument = self._argument(low)
        if major == 0:
            return argument
        if major == 1:
            return -1 - self._known(argument)
        if major in (2, 3):
            return self._string(major, argument)
        if major == 4:
            return self._items(argument, depth)
        if major == 5:
            flat = self._items(None if argument is None else 2 * argument, depth)
            keys = (key if isinstance(key, str) else str(key) for key in flat[::2])
            return tuple(zip(keys, flat[1::2], strict=True))
        return self.value(depth + 1)  # a tag says how the value is meant; it is what it is

    def _simple(self, low: int) -> Value:
        if low in _FLOATS:
            form = _FLOATS[low]
            return struct.unpack(form, self.take(struct.calcsize(form)))[0]
        if low in _SIMPLE:
            return _SIMPLE[low]
        raise ValueError(f"CBOR's simple value {low} means nothing here")

    def _argument(self, low: int) -> int | None:
        if low < 24:
            return low
        if low in _ARGUMENT:
            return int.from_bytes(self.take(_ARGUMENT[low]), "big")
        if low == _INDEFINITE:
            return None
        raise ValueError("not CBOR")

    @staticmethod
    def _known(argument: int | None) -> int:
        if argument is None:
            raise ValueError("not CBOR")
        return argument

    def _string(self, major: int, size: int | None) -> str | bytes:
        if size is not None:
            found = self.take(size)
        else:
            parts = []
            while not self._ended():
                first = self.take(1)[0]
                if first >> 5 != major:
                    raise ValueError("not CBOR")
                parts.append(self.take(self._known(self._argument(first & 31))))
            found = b"".join(parts)
        return found.decode(errors="replace") if major == 3 else found

    def _items(self, count: int | None, depth: int) -> list[Value]:
        found: list[Value] = []
        while not self._ended() if count is None else len(found) < count:
            found.append(self.value(depth + 1))
        return found

    def _ended(self) -> bool:
        if self.at >= len(self.data):
            raise ValueError(_NO_END)
        ends = self.data[self.at] == _BREAK
        self.at += ends
        return ends
