"""Attributes and values of OpenTelemetry in protobuf → JSON texts, column by column."""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.fit import joined, quoted
from tailrace.formats.otlp_values import spelled
from tailrace.formats.protobuf_wire import FIXED64, SPAN, VARINT, Bytes, Fields, Ints, merged, scan, texts, walk

KEY, VALUE = 1, 2
STRING, BOOL, INT, DOUBLE, ARRAY, KVLIST, BYTES = range(1, 8)
_WIRES = {STRING: SPAN, BOOL: VARINT, INT: VARINT, DOUBLE: FIXED64, ARRAY: SPAN, KVLIST: SPAN, BYTES: SPAN}
_DEEPEST = 64
_SIGN, _RANGE = 2**63, 2**64


@dataclass(frozen=True, slots=True)
class Documents:
    """JSON per message, and which messages held something that could not be read."""

    texts: pa.Array
    broken: npt.NDArray[np.bool_]


def strings(data: Bytes, fields: Fields, size: int) -> pa.Array:
    """A text per message, null where it has none."""
    fields = fields.last()
    found = utf8(texts(data, fields.start, fields.value.astype(np.int64)))
    return placed([(found, fields.owner)], size)


def placed(parts: list[tuple[pa.Array, Ints]], size: int) -> pa.Array:
    """Arrays that were made for some rows each, put together for all."""
    places = np.full(size, -1, np.int64)
    start = 0
    for array, owners in parts:
        places[owners] = np.arange(start, start + len(array))
        start += len(array)
    values = pa.concat_arrays([array for array, _ in parts])
    return values.take(pa.array(places, mask=places < 0))


def utf8(values: pa.Array) -> pa.Array:
    """Bytes as text; U+FFFD for what is none."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([value.decode(errors="replace") for value in values.to_pylist()], pa.string())


def attributes(data: Bytes, pairs: Fields, size: int) -> Documents:
    """Key-value pairs as one JSON object per owner; null where it has none."""
    inner = scan(data, pairs.start, pairs.end)
    count = len(pairs.owner)
    keys = strings(data, inner.of(KEY, SPAN), count).fill_null("")
    data, held = merged(data, inner.of(VALUE, SPAN))
    found = values(data, held.start, held.end, quote=True)
    members = joined(quoted(keys), ":", placed([(found.texts, held.owner)], count).fill_null("null"))
    offsets = np.searchsorted(pairs.owner, np.arange(size + 1)).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets), members)
    objects = joined("{", pc.binary_join(lists, ","), "}")
    some = offsets[1:] > offsets[:-1]
    broken = np.zeros(size, bool)
    broken[pairs.owner[inner.broken]] = True
    broken[pairs.owner[held.owner[found.broken]]] = True
    return Documents(pc.if_else(pa.array(some), objects, pa.scalar(None, pa.string())), broken)


def values(data: Bytes, starts: Ints, ends: Ints, *, quote: bool) -> Documents:
    """Values as JSON; texts with or without their quotes. Null for the empty value."""
    fields = scan(data, starts, ends)
    known = np.zeros(len(fields.owner), bool)
    for number, wire in _WIRES.items():
        known |= (fields.number == number) & (fields.wire == wire)
    fields = fields.where(known).last()
    parts: list[tuple[pa.Array, Ints]] = [(pa.array([], pa.string()), np.empty(0, np.int64))]
    for number in np.unique(fields.number).tolist():
        own = fields.of(number, _WIRES[number])
        parts.append((_spelled(data, number, own, quote), own.owner))
    return Documents(placed(parts, len(starts)), fields.broken)


def _spelled(data: Bytes, number: int, fields: Fields, quote: bool) -> pa.Array:
    if number == STRING:
        found = utf8(texts(data, fields.start, fields.value.astype(np.int64)))
        return quoted(found) if quote else found
    if number == BOOL:
        return pc.if_else(pa.array(fields.value != 0), "true", "false")
    if number == INT:
        return pa.array(fields.value.view(np.int64)).cast(pa.string())
    if number == DOUBLE:
        numbers = fields.value.view(np.float64).tolist()
        return pa.array([msgspec.json.encode(spelled(n)).decode() for n in numbers], pa.string())
    view = data.data
    plain = [_plain(view, number, start, end, 0) for start, end in zip(fields.start, fields.end, strict=True)]
    if number == BYTES and not quote:
        return pa.array(plain, pa.string())
    return pa.array([msgspec.json.encode(value).decode() for value in plain], pa.string())


def _plain(data: memoryview, number: int, start: int, end: int, depth: int) -> Any:
    """Arrays, objects and bytes, one by one: they are rare."""
    if number == BYTES:
        return base64.b64encode(data[start:end]).decode()
    elements = [(s, s + v) for n, wire, v, s in _members(data, start, end) if (n, wire) == (1, SPAN)]
    if number == ARRAY:
        return [_value(data, s, e, depth + 1) for s, e in elements]
    found: dict[str, Any] = {}
    for s, e in elements:
        key, value = "", None
        for n, wire, length, at in _members(data, s, e):
            if (n, wire) == (KEY, SPAN):
                key = bytes(data[at : at + length]).decode(errors="replace")
            elif (n, wire) == (VALUE, SPAN):
                value = _value(data, at, at + length, depth + 1)
        found[key] = value
    return found


def _value(data: memoryview, start: int, end: int, depth: int) -> Any:
    found: Any = None
    if depth > _DEEPEST:
        return base64.b64encode(data[start:end]).decode()
    for number, wire, value, at in _members(data, start, end):
        if _WIRES.get(number) != wire:
            continue
        if number == STRING:
            found = bytes(data[at : at + value]).decode(errors="replace")
        elif number == BOOL:
            found = value != 0
        elif number == INT:
            found = value - _RANGE if value >= _SIGN else value
        elif number == DOUBLE:
            found = spelled(struct.unpack("<d", data[at : at + 8])[0])
        else:
            found = _plain(data, number, at, at + value, depth)
    return found


def _members(data: memoryview, start: int, end: int) -> list[tuple[int, ...]]:
    """Number, wire type, value and place of every field that can be read."""
    found: list[tuple[int, ...]] = []
    walk(data, 0, int(start), int(end), found)
    return [member[1:] for member in found]
