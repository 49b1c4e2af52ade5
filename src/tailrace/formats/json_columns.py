"""Decoded records → Arrow columns: one list and one array per leaf, absent structs cost nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Column
from tailrace.core.arrow import arrow_type
from tailrace.formats.casts import cast_texts
from tailrace.formats.json_fit import MISFIT, Notes, text_of
from tailrace.formats.json_struct import Field, Level
from tailrace.formats.times import parse_times

Values = list[Any]
Rows = list[Any]
_PLAIN = {"int", "bool", "float"}
_MILLISECOND = 1_000


def columns_of(level: Level, rows: Rows, notes: Notes) -> dict[str, pa.Array]:
    """Every column of the table from its records, and the keys that `sql` columns read, as text."""
    return {
        f.column.name if f.column else f.key: _column(f, rows, None, notes)
        for f in level.fields
        if f.kind != "rest"
    }


def _column(field: Field, rows: Rows, numbers: list[int] | None, notes: Notes) -> pa.Array:
    values = _reader(field.attribute)(rows)
    if field.level is not None:
        return _struct(field, field.level, values, numbers, notes)
    if field.kind == "list":
        return _list(field, values, numbers, notes)
    array, wrong = _leaf(field, values)
    for index in wrong:
        notes.mark(numbers[index] if numbers else index, field.path, values[index])
    return array


@cache
def _reader(attribute: str) -> Callable[[Rows], Values]:
    """Compiled with the attribute's name in it: a third faster than getattr, on the hottest line there is."""
    assert attribute.isidentifier()
    reader: Callable[[Rows], Values] = eval(f"lambda rows: [row.{attribute} for row in rows]")
    return reader


def _struct(field: Field, level: Level, values: Values, numbers: list[int] | None, notes: Notes) -> pa.Array:
    absent = values.count(None)
    if absent == len(values):
        assert field.column is not None
        return pa.nulls(absent, arrow_type(field.column.type))
    places = None
    if absent:
        present = [index for index, value in enumerate(values) if value is not None]
        places = np.full(len(values), -1, np.int32)
        places[present] = np.arange(len(present), dtype=np.int32)
        values = [values[index] for index in present]
        numbers = [numbers[index] for index in present] if numbers else present
    children = [(f.column, f) for f in level.fields if f.column is not None]
    whole = pa.StructArray.from_arrays(
        [_column(f, values, numbers, notes) for _, f in children],
        names=[column.name for column, _ in children],
    )
    return whole if places is None else whole.take(pa.array(places, mask=places < 0))


def _list(field: Field, values: Values, numbers: list[int] | None, notes: Notes) -> pa.Array:
    item = field.item
    assert item is not None
    if values.count(None) == len(values):
        return pa.nulls(len(values), pa.list_(arrow_type(item.type)))
    separator = field.column.list_separator if field.column else None
    lists = [_as_list(value, separator, field.nulls) for value in values]
    lengths = [0 if several is None else len(several) for several in lists]
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    parts = [part for several in lists if several is not None for part in several]
    array, wrong = _leaf(item, parts)
    for part in wrong:
        index = int(np.searchsorted(offsets, part, side="right")) - 1
        notes.mark(numbers[index] if numbers else index, field.path, values[index])
    absent = np.fromiter((several is None for several in lists), bool, len(lists))
    return pa.ListArray.from_arrays(pa.array(offsets), array, mask=pa.array(absent) if absent.any() else None)


def _as_list(value: Any, separator: str | None, nulls: frozenset[str]) -> Values | None:
    if value.__class__ is not str:
        return value  # type: ignore[no-any-return]
    if value in nulls:
        return None
    return [value] if separator is None else [part.strip() for part in value.split(separator)]


def _leaf(field: Field, values: Values) -> tuple[pa.Array, list[int]]:
    """The stored array, and which values found no place in it."""
    if field.kind in _PLAIN:
        return pa.array(values, arrow_type(field.type)), []
    if field.kind == "json":
        return _raws(values, field.nulls), []
    if field.kind == "source":
        return pa.array([text_of(value) for value in values], pa.string()), []
    if field.kind == "moment":
        return _moments(field, values)
    texts = pa.array(values if field.kind == "text" else [text_of(value) for value in values], pa.string())
    texts = _without(texts, field.nulls)
    if field.type == "varchar":
        return texts, []
    array = cast_texts(Column("value", field.type, time=_time(field)), texts)
    return array, _lost(texts, array)


def _raws(values: Values, nulls: frozenset[str]) -> pa.Array:
    """JSON text as it was sent. The block has been checked to be UTF-8."""
    if values.count(None) == len(values):
        return pa.nulls(len(values), pa.string())
    texts = pa.array([None if value is None else bytes(value) for value in values], pa.binary()).cast(
        pa.string()
    )
    return _without(texts, {"null", *(f'"{text}"' for text in nulls)})


def _moments(field: Field, values: Values) -> tuple[pa.Array, list[int]]:
    """Times: texts and numbers apart, because a number is one only where the column says its unit."""
    stored = arrow_type(field.type)
    numeric = not pa.types.is_timestamp(stored)  # an integer column that takes times: milliseconds since 1970
    try:
        texts = pa.array(values, pa.string())
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return _mixed_moments(field, values, stored)
    texts = _without(texts, field.nulls)
    times = parse_times(texts, _time(field))
    wrong = _lost(texts, times)
    if numeric:
        times = pc.divide(times.cast(pa.int64()), _MILLISECOND).cast(stored)
    return times, wrong


def _mixed_moments(field: Field, values: Values, stored: pa.DataType) -> tuple[pa.Array, list[int]]:
    counts = [value if value.__class__ in (int, float) else None for value in values]
    others = [None if value.__class__ in (int, float) else text_of(value) for value in values]
    times, wrong = _moments(field, others)
    if pa.types.is_timestamp(stored):
        try:
            told = pa.array(counts)
        except (pa.ArrowInvalid, OverflowError):  # integers and fractions, or beyond 64 bits
            told = pa.array([None if c is None else float(c) for c in counts], pa.float64())
        numbers = parse_times(told, _time(field))
    else:
        told = pa.array([c if c is None or -(2**63) <= c < 2**63 else None for c in counts], pa.int64())
        numbers = told.cast(stored)
    wrong += [i for i, c in enumerate(counts) if c is not None and not numbers[i].is_valid]
    return pc.coalesce(times, numbers), sorted(wrong)


def _time(field: Field) -> str | None:
    spelled = field.column.time if field.column else None
    return None if spelled == "iso" else spelled


def _lost(given: pa.Array, out: pa.Array) -> list[int]:
    if given.null_count == out.null_count:
        return []
    lost: list[int] = pc.indices_nonzero(pc.and_(out.is_null(), given.is_valid())).to_pylist()
    return lost


def _without(texts: pa.Array, markers: frozenset[str] | set[str]) -> pa.Array:
    """Null for texts that mean null."""
    if not markers:
        return texts
    means_null = pc.is_in(texts, pa.array(sorted(markers), pa.string()))
    return (
        pc.if_else(means_null, pa.scalar(None, pa.string()), texts) if pc.any(means_null).as_py() else texts
    )


def extra_of(notes: Notes, rows: int) -> tuple[pa.Array | None, int]:
    """`tp_extra` as JSON text, and how many rows hold a misfit."""
    if not notes.extra:
        return None, 0
    texts: list[bytes | None] = [None] * rows
    for row, tree in notes.extra.items():
        texts[row] = msgspec.json.encode(tree, order="sorted")
    return pa.array(texts, pa.binary()).cast(pa.string()), sum(
        MISFIT in tree for tree in notes.extra.values()
    )
