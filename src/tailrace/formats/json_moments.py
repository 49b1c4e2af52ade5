"""Times in JSON → Arrow: texts, integers and fractions, each by its own rules."""

from __future__ import annotations

from types import NoneType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.json_fit import text_of
from tailrace.formats.json_struct import Field
from tailrace.formats.json_texts import Values, without
from tailrace.formats.times import parse_times

_MILLISECOND = 1_000
_INT64 = 2**63
_NUMBERS = {int: pa.int64(), float: pa.float64()}


def moments(field: Field, values: Values) -> tuple[pa.Array, list[int]]:
    """The times, and which values are none. An integer column that takes times holds milliseconds since 1970."""
    try:
        texts = pa.array(values, pa.string())
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return _of_kinds(field, values, set(map(type, values)))
    return _of_texts(field, texts)


def _of_texts(field: Field, texts: pa.Array) -> tuple[pa.Array, list[int]]:
    texts = without(texts, field.nulls)
    times = parse_times(texts, spelled_time(field))
    wrong = lost(texts, times)
    if pa.types.is_integer(field.stored):
        times = pc.divide(times.view(pa.int64()), _MILLISECOND)
    return times, wrong


def _of_kinds(field: Field, values: Values, kinds: set[type]) -> tuple[pa.Array, list[int]]:
    """Each kind apart, and then together: a value must not depend on its neighbours."""
    found: list[pa.Array] = []
    wrong: set[int] = set()
    if kinds - _NUMBERS.keys() - {NoneType}:
        times, odd = _of_texts(field, pa.array(_texts(values, kinds), pa.string()))
        found.append(times)
        wrong.update(odd)
    for kind in _NUMBERS.keys() & kinds:
        numbers, beyond = _numbers(kind, values, kinds)
        times = _of_numbers(field, kind, numbers)
        found.append(times)
        wrong.update(beyond, lost(numbers, times))
    return pc.coalesce(*found), sorted(wrong)


def _texts(values: Values, kinds: set[type]) -> Values:
    """What is told as a text, None in place of numbers."""
    if kinds <= {str, NoneType, *_NUMBERS}:
        return [v if v.__class__ is str else None for v in values]
    return [None if v.__class__ is int or v.__class__ is float else text_of(v) for v in values]


def _of_numbers(field: Field, kind: type, numbers: pa.Array) -> pa.Array:
    if not pa.types.is_integer(field.stored):
        return parse_times(numbers, spelled_time(field))
    return numbers if kind is int else pa.nulls(len(numbers), pa.int64())


def _numbers(kind: type, values: Values, kinds: set[type]) -> tuple[pa.Array, list[int]]:
    """The numbers of a kind among all values, and which of them have no place in 64 bits."""
    some: list[Any] = values if kinds <= {kind, NoneType} else [v if v.__class__ is kind else None for v in values]
    try:
        return pa.array(some, _NUMBERS[kind]), []
    except OverflowError:
        beyond = [row for row, v in enumerate(some) if v is not None and not -_INT64 <= v < _INT64]
        fitting = [None if v is None or not -_INT64 <= v < _INT64 else v for v in some]
        return pa.array(fitting, _NUMBERS[kind]), beyond


def spelled_time(field: Field) -> str | None:
    """How the column writes times; None is ISO 8601."""
    spelled = field.column.time if field.column else None
    return None if spelled == "iso" else spelled


def lost(given: pa.Array, out: pa.Array) -> list[int]:
    """Rows of which nothing came out."""
    if given.null_count == out.null_count:
        return []
    rows: list[int] = pc.indices_nonzero(pc.and_(out.is_null(), given.is_valid())).to_pylist()
    return rows
