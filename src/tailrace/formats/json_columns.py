"""Decoded records → Arrow columns: one list and one array per leaf, absent structs cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from tailrace.core import Column
from tailrace.formats.casts import cast_texts
from tailrace.formats.json_fit import fit, settle
from tailrace.formats.json_moments import lost, moments, spelled_time
from tailrace.formats.json_notes import Notes
from tailrace.formats.json_struct import Field, Level
from tailrace.formats.json_texts import Values, opened, raws, sent, strings, without

Rows = list[Any]
_PLAIN = {"int", "bool", "float"}
_DIGITS = "(?:0|[1-9][0-9]{0,17})"
_WRITTEN = {
    "int": f"^(?:-[1-9][0-9]{{0,17}}|{_DIGITS})$",
    "float": rf"^(?:-[1-9][0-9]{{0,17}}|{_DIGITS}|-?{_DIGITS}\.[0-9]{{1,30}}(?:[eE][+-]?[0-9]{{1,2}})?)$",
    "bool": "^(?:true|false)$",
}
"How numbers and booleans are written, as numbers or as texts, if nothing is odd about them."
_READ = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}


def columns_of(level: Level, rows: Rows, notes: Notes) -> dict[str, pa.Array]:
    """Every column of the table from its records, and the keys that `sql` columns read, as text."""
    columns: dict[str, pa.Array] = {}
    for field in level.fields:
        if field.column is not None:
            columns[field.column.name] = _column(field, rows, notes)
        elif field.level is not None:
            columns |= _below(field, field.level, reader(field.attribute)(rows), notes)
        elif field.kind == "source":
            columns[field.key] = _column(field, rows, notes)
    return columns


def _below(field: Field, level: Level, values: Values, notes: Notes) -> dict[str, pa.Array]:
    """The columns inside of an object that is none itself."""
    if not field.repeats:
        return columns_of(level, [level.empty if value is None else value for value in values], notes)
    texts = raws(values)
    if texts.null_count == len(texts):
        return columns_of(level, [level.empty] * len(texts), notes)
    once = _Once(field, level, texts, notes)
    columns = columns_of(level, [level.empty if value is None else value for value in once.structs], once.notes)
    once.spread(notes)
    return {name: array.take(once.indices) for name, array in columns.items()}


def _column(field: Field, rows: Rows, notes: Notes) -> pa.Array:
    values = reader(field.attribute)(rows)
    if field.repeats:
        return _repeated(field, values, notes)
    if field.level is not None:
        return _struct(field, field.level, values, notes)
    if field.kind == "list":
        return _list(field, values, notes)
    if values and values[0] is None and values.count(None) == len(values):
        return pa.nulls(len(values), field.stored or pa.string())
    if field.learned and field.kind in _WRITTEN:
        return _numbers(field, values, notes)
    array, wrong = _leaf(field, values)
    for row in wrong:
        notes.mark(row, field.path, values[row])
    return array


@cache
def reader(attribute: str) -> Callable[[Rows], Values]:
    """Compiled with the attribute's name in it: a third faster than getattr, on the hottest line there is."""
    assert attribute.isidentifier()
    compiled: Callable[[Rows], Values] = eval(f"lambda rows: [row.{attribute} for row in rows]")
    return compiled


def values_at(route: Sequence[Field], rows: Rows) -> Values:
    """What stands at the end of a way through objects, None where one of them is not there."""
    *objects, last = route
    for field in objects:
        assert field.level is not None
        rows = [field.level.empty if value is None else value for value in reader(field.attribute)(rows)]
    return reader(last.attribute)(rows)


def _struct(field: Field, level: Level, values: Values, notes: Notes) -> pa.Array:
    absent = values.count(None)
    if absent == len(values):
        return pa.nulls(absent, field.stored)
    mask = None
    if absent:  # an empty struct stands for them: reading it is cheaper than asking, or than spreading rows out
        mask = pa.array([value is None for value in values], pa.bool_())
        values = [level.empty if value is None else value for value in values]
    columns = columns_of(level, values, notes)
    assert field.stored is not None
    arrays = [columns[child.name] for child in field.stored]
    return pa.StructArray.from_arrays(arrays, fields=list(field.stored), mask=mask)


def _repeated(field: Field, values: Values, notes: Notes) -> pa.Array:
    texts = raws(values)
    if texts.null_count == len(texts):
        return pa.nulls(len(texts), field.stored)
    assert field.level is not None
    once = _Once(field, field.level, texts, notes)
    array = _struct(field, field.level, once.structs, once.notes)
    once.spread(notes)
    return array.take(once.indices)


class _Once:
    """Objects by their distinct texts: what is written alike is decoded once and copied by Arrow."""

    def __init__(self, field: Field, level: Level, texts: pa.Array, notes: Notes) -> None:
        coded = texts.cast(pa.binary()).dictionary_encode()
        self.indices = coded.indices
        self.notes = notes.of_distinct()
        once = replace(field, repeats=False)
        distinct = enumerate(coded.dictionary.to_pylist())
        self.structs = [fit(once, Raw(text), number, self.notes) for number, text in distinct]
        held = [(number, value) for number, value in enumerate(self.structs) if value is not None]
        settle(level, [value for _, value in held], self.notes, [number for number, _ in held])
        notes.distinct[field.keys] = (len(texts) - texts.null_count, len(self.structs))

    def spread(self, notes: Notes) -> None:
        """What was noted of the distinct ones, for all rows."""
        notes.spread(self.notes, self.indices.fill_null(-1).to_numpy())
        notes.seen.update(self.notes.seen)


def _list(field: Field, values: Values, notes: Notes) -> pa.Array:
    item = field.item
    assert item is not None
    if values.count(None) == len(values):
        return pa.nulls(len(values), field.stored)
    whole = _lists(item, values)
    if whole is not None:
        return whole
    separator = field.column.list_separator if field.column else None
    lists = [_as_list(value, separator, field.nulls) for value in values]
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum([0 if several is None else len(several) for several in lists], out=offsets[1:])
    array, wrong = _leaf(item, [part for several in lists if several is not None for part in several])
    for part in wrong:
        row = int(np.searchsorted(offsets, part, side="right")) - 1
        notes.mark(row, field.path, values[row])
    absent = np.array([several is None for several in lists], bool)
    return pa.ListArray.from_arrays(pa.array(offsets), array, mask=pa.array(absent) if absent.any() else None)


def _lists(item: Field, values: Values) -> pa.Array | None:
    """All of them in one call; None where that does not do: Arrow takes a text for a list of its characters."""
    texts = item.type == "varchar"
    if (texts and str in set(map(type, values))) or not (texts or item.kind in _PLAIN):
        return None
    assert item.stored is not None
    try:
        array = pa.array(values, pa.list_(item.stored))
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return None
    if not (texts and item.nulls):
        return array
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(array.offsets, without(array.values, item.nulls), mask=mask)


def _as_list(value: Any, separator: str | None, nulls: frozenset[str]) -> Values | None:
    if value.__class__ is not str:
        return value  # type: ignore[no-any-return]
    if value in nulls:
        return None
    return [value] if separator is None else [part.strip() for part in value.split(separator)]


def _numbers(field: Field, values: Values, notes: Notes) -> pa.Array:
    """Numbers and booleans of which many are sent as texts; those that are written oddly are fitted one by one."""
    texts = sent(values, field.nulls)
    usual = pc.match_substring_regex(texts, _WRITTEN[field.kind]).fill_null(True)
    read = (texts if usual.true_count == len(usual) else pc.if_else(usual, texts, None)).cast(_READ[field.kind])
    for limits in getattr(field.hint, "__metadata__", ()):
        inside = pc.and_(pc.greater_equal(read, limits.ge), pc.less_equal(read, limits.le)).fill_null(True)
        usual = pc.and_(usual, inside)
    if usual.true_count == len(usual):
        return read.cast(field.stored)
    once = replace(field, learned=False)
    odd = pc.indices_nonzero(pc.invert(usual)).to_pylist()
    fitted = pa.array([fit(once, values[row], row, notes) for row in odd], field.stored)
    return pc.replace_with_mask(pc.if_else(usual, read, None).cast(field.stored), pc.invert(usual), fitted)


def _leaf(field: Field, values: Values) -> tuple[pa.Array, list[int]]:
    """The stored array, and which values found no place in it."""
    if field.kind in _PLAIN:
        return pa.array(values, field.stored), []
    if field.kind == "json":
        texts = raws(values, field.nulls)
        return (opened(texts) if field.column and field.column.decode == "json" else texts), []
    if field.kind == "source":
        return sent(values), []
    if field.kind == "moment":
        return moments(field, values)
    texts = without(sent(values) if field.learned else strings(values), field.nulls)
    if field.type == "varchar":
        return texts, []
    array = cast_texts(Column("value", field.type, time=spelled_time(field)), texts)
    return array, lost(texts, array)
