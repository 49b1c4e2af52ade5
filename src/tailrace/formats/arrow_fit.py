"""Typed Arrow values on their way to columns of other types."""

from __future__ import annotations

import base64

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Column
from tailrace.core.arrow import arrow_type
from tailrace.formats.casts import spelled_type
from tailrace.formats.duck import answers
from tailrace.formats.fit import quoted
from tailrace.formats.times import parse_times

_CHECKED = frozenset({"utinyint", "usmallint", "uinteger", "ubigint", "uuid", "time", "interval", "cidr", "inet"})
"Types that are stored as wider ones: their values are checked as texts."
_TIMES = pa.timestamp("us")
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"Microseconds: the years 1 and 9999."


def suited(column: Column, values: pa.Array) -> pa.Array:
    """The values in the column's own type if all of them fit it, else in one from which the fitting goes on: texts,
    or numbers that are times.
    """
    values = plain(values)
    name = spelled_type(column)
    target = arrow_type(column.type)
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), target)
    if name == "json":
        return values if pa.types.is_string(values.type) else as_json(values)
    if name in ("timestamp", "date") and _is_number(values.type) and column.time:
        return parse_times(values, column.time).cast(target, safe=False)
    if name not in _CHECKED and not pa.types.is_string(values.type):
        found = _cast(values, target)
        if found is not None:
            return found
    return as_text(values)


def _cast(values: pa.Array, target: pa.DataType) -> pa.Array | None:
    """All values in another type without loss (times lose what is below a microsecond), or None."""
    kind = values.type
    if pa.types.is_temporal(kind) != pa.types.is_temporal(target) or pa.types.is_string(target):
        return None
    try:
        if pa.types.is_temporal(target) and not pa.types.is_time(kind):
            is_finer = pa.types.is_timestamp(kind) and kind.unit == "ns"
            times = values.cast(_TIMES, safe=not is_finer)  # else far times would come round
            return times.cast(target, safe=False) if _are_known(times) else None
        return values.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _are_known(times: pa.Array) -> bool:
    """Do all lie in the years 1 to 9999, as times in texts do?"""
    span = pc.min_max(times.view(pa.int64()))
    first, last = span["min"].as_py(), span["max"].as_py()
    return first is None or (first >= _FIRST and last <= _LAST)


def plain(values: pa.Array) -> pa.Array:
    """Without dictionaries and views; texts are UTF-8 for certain, which a file only claims."""
    kind = values.type
    if isinstance(values, pa.ExtensionArray):
        return plain(values.storage)
    if pa.types.is_dictionary(kind):
        return plain(values.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _utf8(values.cast(pa.binary()))
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return values.cast(pa.binary())
    return values


def as_text(values: pa.Array) -> pa.Array:
    """Values as texts: bytes that are no text in base64, what is nested as JSON."""
    values = plain(values)
    kind = values.type
    if pa.types.is_string(kind):
        return values
    if pa.types.is_null(kind):
        return pa.nulls(len(values), pa.string())
    if pa.types.is_binary(kind):
        return _readable(values)
    if pa.types.is_nested(kind):
        return as_json(values)
    return values.cast(pa.string())


def as_json(values: pa.Array) -> pa.Array:
    """Values as JSON, null for null."""
    values = plain(values)
    kind = values.type
    if pa.types.is_nested(kind):
        told = "SELECT case when v is not null then to_json(v)::varchar end AS v FROM given"
        return answers(told, pa.table({"v": _finite(values)}))["v"].combine_chunks().cast(pa.string())
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return values.cast(pa.string())
    if pa.types.is_floating(kind):
        values = values.cast(pa.float64())
        texts = values.cast(pa.string())
        return pc.if_else(pc.is_finite(values), texts, quoted(texts))
    return quoted(as_text(values))


def _finite(values: pa.Array) -> pa.Array:
    """Nested values whose numbers JSON can hold: NaN and the infinite become null, bytes texts."""
    kind = values.type
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_finite(values), values, pa.scalar(None, kind))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return as_text(values)
    if pa.types.is_map(kind):
        offsets, keys, items = values.offsets, as_text(values.keys), _finite(values.items)
        made = pa.MapArray.from_arrays(offsets, keys, items)
        return _where(values, made)
    if pa.types.is_list(kind):
        return _where(values, pa.ListArray.from_arrays(values.offsets, _finite(values.values)))
    if pa.types.is_struct(kind) and kind.num_fields:
        children = [_finite(values.field(i)) for i in range(kind.num_fields)]
        names = [kind.field(i).name for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(children, names, mask=values.is_null())
    return plain(values) if not pa.types.is_nested(kind) else values


def _where(values: pa.Array, made: pa.Array) -> pa.Array:
    return pc.if_else(values.is_valid(), made, pa.scalar(None, made.type)) if values.null_count else made


def _utf8(values: pa.Array) -> pa.Array:
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [None if value is None else value.decode(errors="replace") for value in values.to_pylist()]
        return pa.array(texts, pa.string())


def _readable(values: pa.Array) -> pa.Array:
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([_text(value) for value in values.to_pylist()], pa.string())


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value or b"").decode()


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
