"""Values of any type as columns: from protobuf, to protobuf, and to JSON."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core.errors import DataError, one_line
from tailrace.formats import otlp_wire as wire
from tailrace.formats.fit import joined, quoted
from tailrace.formats.otlp_wire import placed, utf8
from tailrace.formats.protobuf_wire import FIXED64, SPAN, VARINT, Bytes, Fields, Ints, merged, scan, texts
from tailrace.windows import schema
from tailrace.windows.cbor import decode, encode
from tailrace.windows.nested import json_text, read_nested, write_value
from tailrace.windows.wire_columns import concatenated, fixed64, numbers, spans

Columns = Mapping[str, pa.Array]
_NESTED = (wire.KVLIST, wire.ARRAY)
_WIRES = {
    wire.STRING: SPAN, wire.BOOL: VARINT, wire.INT: VARINT, wire.DOUBLE: FIXED64,
    wire.ARRAY: SPAN, wire.KVLIST: SPAN, wire.BYTES: SPAN,
}  # fmt: skip
_CODES = np.zeros(8, np.uint8)
for _number, _code in (
    (wire.STRING, schema.STR), (wire.BOOL, schema.BOOL), (wire.INT, schema.INT), (wire.DOUBLE, schema.DOUBLE),
    (wire.ARRAY, schema.SLICE), (wire.KVLIST, schema.MAP), (wire.BYTES, schema.BYTES),
):  # fmt: skip
    _CODES[_number] = _code


@dataclass(frozen=True, slots=True)
class Values:
    """Columns of values, and which of them could not be read."""

    columns: dict[str, pa.Array]
    broken: npt.NDArray[np.bool_]


def read_values(data: Bytes, starts: Ints, ends: Ints) -> Values:
    """The messages AnyValue between `starts` and `ends`."""
    size = len(starts)
    fields = scan(data, starts, ends)
    broken = fields.broken.copy()
    known = np.zeros(len(fields.owner), bool)
    for number, kind in _WIRES.items():
        known |= (fields.number == number) & (fields.wire == kind)
    several = fields.where(known)
    fields = several.last()
    types = np.zeros(size, np.uint8)
    types[fields.owner] = _CODES[fields.number]
    own = {n: fields.of(n, kind) for n, kind in _WIRES.items()}
    integers, doubles = own[wire.INT].value.view(np.int64), own[wire.DOUBLE].value.view(np.float64)
    columns = {
        "type": pa.array(types),
        "str": placed([(utf8(_cut(data, own[wire.STRING])), own[wire.STRING].owner)], size),
        "int": placed([(pa.array(integers), own[wire.INT].owner)], size),
        "double": placed([(pa.array(doubles), own[wire.DOUBLE].owner)], size),
        "bool": placed([(pa.array(own[wire.BOOL].value != 0), own[wire.BOOL].owner)], size),
        "bytes": placed([(_cut(data, own[wire.BYTES]), own[wire.BYTES].owner)], size),
        "ser": placed([_nested(data, _since_other(several, own[n], n), n, broken) for n in _NESTED], size),
    }
    return Values(columns, broken)


def _cut(data: Bytes, fields: Fields) -> pa.Array:
    return texts(data, fields.start, fields.value.astype(np.int64))


def _since_other(several: Fields, last: Fields, number: int) -> Fields:
    """Of values that are a list or map in the end, all of its pieces: those that no value of another kind follows."""
    ends = np.zeros(len(several.broken), bool)
    ends[last.owner] = True
    places = np.arange(len(several.owner))
    other = np.full(len(ends), -1, np.int64)
    differs = several.number != number
    np.maximum.at(other, several.owner[differs], places[differs])
    return several.where(ends[several.owner] & (places > other[several.owner]))


def _nested(data: Bytes, fields: Fields, number: int, broken: npt.NDArray[np.bool_]) -> tuple[pa.Array, Ints]:
    data, fields = merged(data, fields)
    found = as_cbor(_cut(data, fields), number)
    broken[fields.owner[found.is_null().to_numpy(zero_copy_only=False)]] = True
    return found, fields.owner


def as_cbor(bodies: pa.Array, number: int) -> pa.Array:
    """Maps or lists as CBOR; null where one cannot be read."""
    coded = bodies.dictionary_encode()
    made: list[bytes | None] = []
    for body in coded.dictionary.to_pylist():
        try:
            made.append(encode(read_nested(body, number)))
        except ValueError:
            made.append(None)
    return pa.array(made, pa.binary()).take(coded.indices)


def write_values(columns: Columns) -> pa.Array:
    """AnyValue in protobuf; the active column alone counts, and a null in it is the type's zero."""
    types = columns["type"]
    parts = [
        spans(wire.STRING, _active(columns, schema.STR, "str", "")),
        numbers(wire.INT, _active(columns, schema.INT, "int", 0)),
        fixed64(wire.DOUBLE, _active(columns, schema.DOUBLE, "double", 0.0)),
        numbers(wire.BOOL, _only(types, schema.BOOL, columns["bool"].cast(pa.uint8()))),
        spans(wire.BYTES, _active(columns, schema.BYTES, "bytes", b"")),
        _unserialised(columns, lambda value: write_value(value)),
    ]
    return concatenated(*parts)


def json_values(columns: Columns) -> pa.Array:
    """AnyValue in JSON."""
    types = columns["type"]
    doubles = _active(columns, schema.DOUBLE, "double", 0.0)
    flags = pc.if_else(columns["bool"], "true", "false")
    found = pc.coalesce(
        joined('{"stringValue":', quoted(_active(columns, schema.STR, "str", "")), "}"),
        joined('{"intValue":"', _active(columns, schema.INT, "int", 0).cast(pa.string()), '"}'),
        joined('{"doubleValue":', _spelled(doubles), "}"),
        joined('{"boolValue":', _only(types, schema.BOOL, flags), "}"),
        joined('{"bytesValue":"', _base64(_active(columns, schema.BYTES, "bytes", b"")), '"}'),
        _unserialised(columns, lambda value: json_text(value).encode()).cast(pa.string()),
    )
    return found.fill_null("{}")


def _active(columns: Columns, code: int, name: str, zero: object) -> pa.Array:
    values = columns[name]
    if values.null_count:
        values = values.fill_null(pa.scalar(zero, values.type))
    return _only(columns["type"], code, values)


def _only(types: pa.Array, code: int, values: pa.Array) -> pa.Array:
    chosen = pc.equal(types, pa.scalar(code, pa.uint8())).fill_null(False)
    count = chosen.true_count
    if count == 0:
        return pa.nulls(len(values), values.type)
    if count == len(chosen):
        return values
    return pc.if_else(chosen, values, pa.scalar(None, values.type))


def _spelled(doubles: pa.Array) -> pa.Array:
    """Numbers as JSON has them, and texts for those that it has not."""
    plain = doubles.cast(pa.string())
    # Readers take a whole number without a point for an integer, which has no negative zero.
    plain = pc.if_else(pc.equal(plain, "-0").fill_null(False), "-0.0", plain)
    odd = pc.invert(pc.is_finite(doubles)).fill_null(False)
    if not odd.true_count:
        return plain
    named = pc.if_else(pc.is_nan(doubles), '"NaN"', pc.if_else(pc.greater(doubles, 0.0), '"Infinity"', '"-Infinity"'))
    return pc.if_else(odd, named, plain)


def _base64(values: pa.Array) -> pa.Array:
    return _each(values, base64.b64encode).cast(pa.string())


def _unserialised(columns: Columns, write: Callable[[object], bytes]) -> pa.Array:
    if columns["ser"].null_count == len(columns["ser"]):
        return pa.nulls(len(columns["ser"]), pa.binary())
    types = columns["type"].fill_null(schema.EMPTY)
    nested = pc.is_in(types, pa.array([schema.MAP, schema.SLICE], pa.uint8()))
    values = pc.if_else(nested, columns["ser"], pa.scalar(None, pa.binary()))

    def written(data: bytes) -> bytes:
        try:
            return write(decode(data))
        except ValueError as error:
            hint = "`ser` of types 5 and 6 holds CBOR: see docs/windows.md#the-tables"
            message = f"a map or list is no CBOR: {one_line(error)}"
            raise DataError(message, code="window.damaged-value", hint=hint) from None

    return _each(values, written)


def _each(values: pa.Array, make: Callable[[bytes], bytes]) -> pa.Array:
    """What is made of each value, of equal ones once."""
    if values.null_count == len(values):
        return pa.nulls(len(values), pa.binary())
    coded = values.dictionary_encode()
    made = pa.array([make(value) for value in coded.dictionary.to_pylist()], pa.binary())
    return made.take(coded.indices)
