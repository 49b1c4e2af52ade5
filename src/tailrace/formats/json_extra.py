"""What is told of records beside their columns: fields without one, and values that did not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from tailrace.formats.json_fit import is_utf8
from tailrace.formats.json_notes import MISFIT, REPAIRED, Notes
from tailrace.formats.json_struct import UNNAMEABLE, Keys
from tailrace.formats.json_texts import Values, raws

Beside = Mapping[Keys, Values]
"Values at places that many records have and no column."
_SHAPES = 256


def rest_of(notes: Notes, rows: int, beside: Beside, stay: tuple[str, ...]) -> pa.Array:
    """Fields without a column as a column of their own, and no longer told beside it, but for those that stay."""
    texts: dict[int, str] = {}
    _gather(notes, beside, list(notes.unknowns))
    for row, tree in list(notes.unknowns.items()):
        rest = {key: value for key, value in tree.items() if key not in stay}
        if rest:
            texts[row] = msgspec.json.encode(rest, order="sorted").decode()
        notes.unknowns[row] = {key: value for key, value in tree.items() if key in stay}
        if not notes.unknowns[row]:
            del notes.unknowns[row]
    return _put(texts, _objects(beside, rows), rows)


def extra_of(notes: Notes, rows: int, beside: Beside) -> tuple[pa.Array | None, int]:
    """`tp_extra` as JSON text, and how many rows hold a misfit."""
    extra = _objects(beside, rows)
    if not (notes.unknowns or notes.misfits):
        return extra, 0
    _gather(notes, beside, list(notes.unknowns.keys() | notes.misfits.keys()))
    return _put(_told(notes), extra, rows), len(notes.misfits)


def _objects(beside: Beside, rows: int) -> pa.Array | None:
    """Right for rows of which nothing else is told; None where no row tells anything."""
    held = _held(beside) if rows and beside else []
    if all(value is None for value in held):
        return None
    encode = msgspec.json.Encoder().encode
    return raws([None if value is None else encode(value) for value in held])


def _held(beside: Beside) -> Values:
    """Per row an object of what stands at the places, None where there is nothing."""
    inner: dict[str, dict[Keys, Values]] = {}
    for (key, *below), values in beside.items():
        inner.setdefault(key, {})[tuple(below)] = values
    keys = sorted(inner)
    columns = [inner[key][()] if () in inner[key] else _held(inner[key]) for key in keys]
    made = _object(tuple(keys))
    return [made(*values) if any(values) else None for values in zip(*columns, strict=True)]


@lru_cache(_SHAPES)
def _object(keys: tuple[str, ...]) -> Callable[..., Any]:
    """Makes objects of these members, of which those that are None are not written."""
    if any(map(UNNAMEABLE.search, keys)):
        return lambda *values: {key: value for key, value in zip(keys, values, strict=True) if value is not None}
    names = {f"c{number}": key for number, key in enumerate(keys)}
    members = [(name, Any, None) for name in names]
    return msgspec.defstruct("Rest", members, rename=names, omit_defaults=True, gc=False)


def _gather(notes: Notes, beside: Beside, rows: list[int]) -> None:
    """Tell all of these rows."""
    for keys, values in beside.items():
        for row in rows:
            if values[row].__class__ is Raw:
                notes.put(row, keys, values[row])


def _put(texts: dict[int, str], objects: pa.Array | None, rows: int) -> pa.Array:
    """The objects, with the texts of those rows that have one."""
    if objects is None:
        objects = pa.nulls(rows, pa.string())
    mask = np.zeros(rows, bool)
    mask[list(texts)] = True
    return pc.replace_with_mask(objects, pa.array(mask), pa.array([texts[row] for row in sorted(texts)], pa.string()))


def _told(notes: Notes) -> dict[int, str]:
    """By row: what is told of it."""
    texts = {}
    for row, tree in list(notes.told()):
        text = msgspec.json.encode(tree, order="sorted")
        if not is_utf8(text):  # an envelope; what it holds has been looked at
            notes.mark(row, REPAIRED, "invalid utf-8")
            text = msgspec.json.encode({**tree, MISFIT: notes.misfits[row]}, order="sorted")
        texts[row] = text.decode(errors="replace")
    return texts
