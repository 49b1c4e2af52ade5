"""Texts → stored types. Null comes out where a text does not fit; the caller tells misfits from nulls."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Column
from tailrace.core.arrow import arrow_type
from tailrace.core.columns import SYNONYMS
from tailrace.formats.duck import answers
from tailrace.formats.times import parse_times

# What Arrow parses by itself. Unsigned types are stored wider, so they are parsed as themselves first.
_ARROW_FIRST: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "utinyint": pa.uint8(),
    "usmallint": pa.uint16(),
    "uinteger": pa.uint32(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
}
_INTEGERS = frozenset(n for n in (*_ARROW_FIRST, "ubigint", "hugeint") if n.endswith("int") or n == "integer")
_INTEGERS |= {"uinteger"}
_KEPT_AS_SENT = frozenset({"uuid", "time", "interval"})
_IS_JSON = msgspec.json.Decoder(msgspec.Raw)


def spelled_type(column: Column) -> str:
    """The column's type in its one spelling."""
    name = str(column.type).strip().lower()
    return SYNONYMS.get(name, name)


def is_text(column: Column) -> bool:
    """Is every text a value of this column, the empty one too?"""
    return spelled_type(column) in ("varchar", "blob")


def native_type(column: Column) -> pa.DataType | None:
    """The type in which Arrow's CSV reader may read the column, with the result of `cast_texts`."""
    name = spelled_type(column)
    if name == "timestamp":
        return pa.int64() if (column.time or "").startswith("epoch") else None
    return _ARROW_FIRST.get(name) if name in ("integer", "bigint", "smallint", "float", "double") else None


def cast_texts(column: Column, texts: pa.Array, time: str | None = None) -> pa.Array:
    """The column's values from texts (times also from numbers); `time` overrides how times are written."""
    name = spelled_type(column)
    if name.endswith("[]"):
        return _lists(column, texts, name[:-2])
    return _scalars(name, texts, time or column.time)


def _scalars(name: str, texts: pa.Array, time: str | None) -> pa.Array:
    if name == "varchar":
        return texts
    if name == "timestamp" or (name == "date" and time):
        return parse_times(texts, time).cast(arrow_type(name), safe=False)
    if texts.null_count == len(texts):
        return pa.nulls(len(texts), arrow_type(name))
    if name == "blob":
        return texts.cast(pa.binary())
    if name == "json":
        return _checked(texts, _is_json)
    if name in ("inet", "cidr"):
        return _checked(texts, _is_address)
    return _numbers(name, texts)


def _numbers(name: str, texts: pa.Array) -> pa.Array:
    stored = arrow_type(name)
    first = _ARROW_FIRST.get(name)
    if first is not None:
        try:
            return texts.cast(first).cast(stored)
        except pa.ArrowInvalid:
            pass
    cast = f"try_cast(v as {name})"
    if name in _INTEGERS:  # DuckDB rounds 1.5 to 2, which is not what was sent
        cast = f"case when try_cast(v as double) = trunc(try_cast(v as double)) is not false then {cast} end"
    if name == "date":  # as with times: `infinity`, which DuckDB knows, is none, nor is the year 10000
        cast = (
            f"case when {cast} between date '0001-01-01' and date '9999-12-31' and lower(v) <> 'epoch' then {cast} end"
        )
    if name in _KEPT_AS_SENT:
        cast = f"case when {cast} is not null then v end"
    return answers(f"SELECT {cast} AS v FROM given", pa.table({"v": texts}))["v"].combine_chunks().cast(stored)


def _checked(texts: pa.Array, valid: Callable[[str], bool]) -> pa.Array:
    """Texts that pass a check on their distinct values."""
    coded = texts.dictionary_encode()
    fine = pa.array([valid(text) for text in coded.dictionary.to_pylist()], pa.bool_())
    if pc.all(fine).as_py():
        return texts
    return pc.if_else(fine.take(coded.indices), texts, pa.scalar(None, texts.type))


def _is_json(text: str) -> bool:
    try:
        _IS_JSON.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return True


def _lists(column: Column, texts: pa.Array, element: str) -> pa.Array:
    """Parts between separators, or lists of one; null where any part does not fit."""
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    if column.list_separator is None:
        parts = texts.drop_null()
        ends = np.cumsum(texts.is_valid().to_numpy(zero_copy_only=False), dtype=np.int32)
        offsets = pa.array(np.concatenate([np.zeros(1, np.int32), ends]))
    else:
        lists = pc.split_pattern(texts, column.list_separator)
        parts, offsets = pc.utf8_trim_whitespace(lists.flatten()), lists.offsets
    values = _scalars(SYNONYMS.get(element, element), parts, column.time)
    out = pa.ListArray.from_arrays(offsets, values, mask=texts.is_null() if texts.null_count else None)
    if not values.null_count:
        return out
    failed = pc.list_parent_indices(out).filter(values.is_null())
    wrong = pc.is_in(pa.array(range(len(texts)), failed.type), failed)
    return pc.if_else(wrong, pa.scalar(None, out.type), out)
