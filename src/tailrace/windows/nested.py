"""Maps and lists inside a value, one by one: they are rare, and equal ones are made once."""

from __future__ import annotations

import base64
import struct
from typing import Any

import msgspec

from tailrace.formats.otlp_values import spelled
from tailrace.formats.otlp_wire import ARRAY, BOOL, BYTES, DOUBLE, INT, KEY, KVLIST, STRING, VALUE
from tailrace.formats.protobuf_wire import FIXED64, SPAN, VARINT, walk
from tailrace.windows.cbor import DEEPEST, Value

_SIGN, _RANGE = 2**63, 2**64


def read_nested(data: bytes, number: int) -> Value:
    """The list or the pairs that a field of AnyValue holds; ValueError where they cannot be read."""
    return _inner(memoryview(data), number, 0, len(data), 0)


def _inner(data: memoryview, number: int, start: int, end: int, depth: int) -> Value:
    elements = [(s, s + v) for n, wire, v, s in _members(data, start, end) if (n, wire) == (1, SPAN)]
    if number == ARRAY:
        return [_value(data, s, e, depth + 1) for s, e in elements]
    pairs = []
    for s, e in elements:
        key, pieces = "", []
        for n, wire, length, at in _members(data, s, e):
            if (n, wire) == (KEY, SPAN):
                key = bytes(data[at : at + length]).decode(errors="replace")
            elif (n, wire) == (VALUE, SPAN):
                pieces.append(data[at : at + length])
        # Several are one, as protobuf has it.
        whole = pieces[0] if len(pieces) == 1 else memoryview(b"".join(pieces))
        pairs.append((key, _value(whole, 0, len(whole), depth + 1)))
    return tuple(pairs)


def _value(data: memoryview, start: int, end: int, depth: int) -> Value:
    if depth > DEEPEST:
        raise ValueError("a value nests too deep")
    found: Value = None
    last = 0
    for number, wire, value, at in _members(data, start, end):
        before, known = last, True
        match number, wire:
            case (1, 2):
                found = bytes(data[at : at + value]).decode(errors="replace")
            case (2, 0):
                found = value != 0
            case (3, 0):
                found = value - _RANGE if value >= _SIGN else value
            case (4, 1):
                found = struct.unpack("<d", data[at : at + 8])[0]
            case (5 | 6, 2):
                inner = _inner(data, number, at, at + value, depth)
                # A list that goes on; pairs likewise.
                found = found + inner if before == number else inner
            case (7, 2):
                found = bytes(data[at : at + value])
            case _:
                known = False
        last = number if known else last
    return found


def _members(data: memoryview, start: int, end: int) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    if not walk(data, 0, start, end, found):
        raise ValueError("a value ends inside a field")
    return [member[1:] for member in found]


def varint(value: int) -> bytes:
    value %= _RANGE
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tagged(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


def span(number: int, body: bytes) -> bytes:
    """A field of bytes."""
    return tagged(number, SPAN) + varint(len(body)) + body


def write_value(value: Value) -> bytes:
    """AnyValue in protobuf."""
    if value is None:
        return b""
    if isinstance(value, bool):
        return tagged(BOOL, VARINT) + varint(value)
    if isinstance(value, int):
        return tagged(INT, VARINT) + varint(value)
    if isinstance(value, float):
        return tagged(DOUBLE, FIXED64) + struct.pack("<d", value)
    if isinstance(value, str):
        return span(STRING, value.encode())
    if isinstance(value, bytes):
        return span(BYTES, value)
    if isinstance(value, list):
        return span(ARRAY, b"".join(span(1, write_value(inner)) for inner in value))
    return span(KVLIST, b"".join(span(1, write_pair(key, inner)) for key, inner in value))


def write_pair(key: str, value: Value) -> bytes:
    """KeyValue in protobuf."""
    return span(KEY, key.encode()) + span(VALUE, write_value(value))


def json_text(value: Value) -> str:
    """AnyValue in JSON."""
    return msgspec.json.encode(_plain(value)).decode()


def _plain(value: Value) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": spelled(value)}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_plain(inner) for inner in value]}}
    return {"kvlistValue": {"values": [{"key": key, "value": _plain(inner)} for key, inner in value]}}
