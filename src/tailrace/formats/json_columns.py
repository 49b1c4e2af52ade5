"""Decoded records → Arrow columns: one list and one array per leaf, absent structs cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from tailrace.core import Column
from tailrace.formats.casts import cast_texts
from tailrace.formats.json_fit import fit, settle, text_of, unwrapped
from tailrace.formats.json_notes import Notes
from tailrace.formats.json_struct import Field, Level
from tailrace.formats.times import parse_times

Values = list[Any]
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
_MILLISECOND = 1_000
_BACKSLASH = ord("\\")
_INT64 = 2**63


def columns_of(level: Level, rows: Rows, notes: Notes) -> dict[str, pa.Array]:
    """Every column of the table from its records, and the keys that `sql` columns read, as text."""
    columns: dict[str, pa.Array] = {}
    for field in level.fields:
        if field.column is not None:
            columns[field.column.name] = _column(field, rows, notes)
        elif field.level is not None:  # an object on the way to columns
            below = [field.level.empty if v is None else v for v in reader(field.attribute)(rows)]
            columns |= columns_of(field.level, below, notes)
        elif field.kind == "source":
            columns[field.key] = _column(field, rows, notes)
    return columns


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
    """Objects by their distinct texts: what is written alike is decoded once and copied by Arrow."""
    texts = raws(values)
    if texts.null_count == len(texts):
        return pa.nulls(len(texts), field.stored)
    coded = texts.cast(pa.binary()).dictionary_encode()
    numbers = coded.indices.fill_null(-1).to_numpy()
    told = notes.of_distinct()
    once = replace(field, repeats=False)
    assert field.level is not None
    structs = [fit(once, Raw(text), number, told) for number, text in enumerate(coded.dictionary.to_pylist())]
    held = [(number, value) for number, value in enumerate(structs) if value is not None]
    settle(field.level, [value for _, value in held], told, [number for number, _ in held])
    array = _struct(field, field.level, structs, told)
    notes.spread(told, numbers)
    notes.seen.update(told.seen)
    notes.distinct[field.keys] = (len(texts) - texts.null_count, len(structs))
    return array.take(coded.indices)


def _list(field: Field, values: Values, notes: Notes) -> pa.Array:
    item = field.item
    assert item is not None
    if values.count(None) == len(values):
        return pa.nulls(len(values), field.stored)
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


def _as_list(value: Any, separator: str | None, nulls: frozenset[str]) -> Values | None:
    if value.__class__ is not str:
        return value  # type: ignore[no-any-return]
    if value in nulls:
        return None
    return [value] if separator is None else [part.strip() for part in value.split(separator)]


def _numbers(field: Field, values: Values, notes: Notes) -> pa.Array:
    """Numbers and booleans of which many are sent as texts; those that are written oddly are fitted one by one."""
    texts = _sent(values, field.nulls)
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
        return (_unwrapped(texts) if field.column and field.column.decode == "json" else texts), []
    if field.kind == "source":
        return _sent(values), []
    if field.kind == "moment":
        return _moments(field, values)
    texts = _without(_sent(values) if field.learned else _texts(values), field.nulls)
    if field.type == "varchar":
        return texts, []
    array = cast_texts(Column("value", field.type, time=_time(field)), texts)
    return array, _lost(texts, array)


def _unwrapped(texts: pa.Array) -> pa.Array:
    """JSON documents, with those that were sent as strings decoded."""
    strings = pc.starts_with(texts, '"').fill_null(False)
    if not strings.true_count:
        return texts
    inner = [bytes(unwrapped(Raw(text.encode()))).decode() for text in texts.filter(strings).to_pylist()]
    return pc.replace_with_mask(texts, strings, pa.array([None if i == "null" else i for i in inner], pa.string()))


def _texts(values: Values) -> pa.Array:
    try:
        return pa.array(values, pa.string())
    except (pa.ArrowTypeError, pa.ArrowInvalid):  # some were not sent as strings
        return pa.array([text_of(value) for value in values], pa.string())


def _sent(values: Values, nulls: frozenset[str] = frozenset()) -> pa.Array:
    """Values as `text_of` tells them. A string without a backslash has quotes at its ends and nowhere else."""
    try:
        texts = raws(values, nulls)
    except TypeError:  # not all of them are Raw
        return pa.array([text_of(value) for value in values], pa.string())
    plain = pc.ascii_trim(texts, characters='"')
    held = texts.buffers()[2]
    if held is None or not (np.frombuffer(held, np.uint8) == _BACKSLASH).any():
        return plain
    escaped = pc.and_(pc.starts_with(texts, '"'), pc.match_substring(texts, "\\")).fill_null(False)
    told = [msgspec.json.decode(text) for text in texts.filter(escaped).to_pylist()]
    return pc.replace_with_mask(plain, escaped, pa.array(told, pa.string()))


def raws(values: Values, nulls: frozenset[str] = frozenset(), *, null_is_text: bool = False) -> pa.Array:
    """JSON text as it was sent, joined without a Python object per value.

    That is safe because msgspec has parsed it and the block was found to be UTF-8 before.
    """
    size = len(values)
    absent = values.count(None)
    if absent == size:
        return pa.nulls(size, pa.string())
    texts = [b"" if value is None else value for value in values] if absent else values
    lengths = np.fromiter(map(len, texts), np.int32, size)
    offsets = np.zeros(size + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    joined = b"".join(texts)
    valid = lengths > 0
    short = np.empty(0, np.int64) if null_is_text else np.flatnonzero(lengths == len(b"null"))
    valid[short[np.frombuffer(joined, np.uint8)[offsets[short]] == ord("n")]] = False
    validity = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    array = pa.StringArray.from_buffers(size, pa.py_buffer(offsets), pa.py_buffer(joined), validity)
    return _without(array, {f'"{text}"' for text in nulls})


def _moments(field: Field, values: Values) -> tuple[pa.Array, list[int]]:
    """Times as texts; an integer column that takes times holds milliseconds since 1970."""
    try:
        texts = pa.array(values, pa.string())
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return _mixed_moments(field, values)
    texts = _without(texts, field.nulls)
    times = parse_times(texts, _time(field))
    wrong = _lost(texts, times)
    if pa.types.is_integer(field.stored):
        times = pc.divide(times.view(pa.int64()), _MILLISECOND)
    return times, wrong


def _mixed_moments(field: Field, values: Values) -> tuple[pa.Array, list[int]]:
    """Texts, integers and fractions, each by its own rules: a value must not depend on its neighbours."""
    numbers = [value.__class__ is int or value.__class__ is float for value in values]
    times, wrong = _moments(field, [None if n else text_of(v) for v, n in zip(values, numbers, strict=True)])
    counts = pa.array([v if v.__class__ is int and -_INT64 <= v < _INT64 else None for v in values], pa.int64())
    if pa.types.is_integer(field.stored):
        times = pc.coalesce(times, counts)
    else:
        fractions = pa.array([v if v.__class__ is float else None for v in values], pa.float64())
        spelled = _time(field)
        times = pc.coalesce(times, parse_times(counts, spelled), parse_times(fractions, spelled))
    valid = times.is_valid().to_pylist()
    return times, sorted({*wrong, *(row for row, n in enumerate(numbers) if n and not valid[row])})


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
    return pc.if_else(means_null, pa.scalar(None, pa.string()), texts) if pc.any(means_null).as_py() else texts
