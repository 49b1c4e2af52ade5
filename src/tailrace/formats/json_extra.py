"""What is told of records beside their columns: fields without one, and values that did not fit."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from tailrace.formats.fit import object_of_some
from tailrace.formats.json_columns import Values, raws
from tailrace.formats.json_fit import is_utf8
from tailrace.formats.json_notes import MISFIT, REPAIRED, Notes
from tailrace.formats.json_struct import Keys

Beside = Mapping[Keys, Values]
"Values at places that many records have and no column."


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
    """Put together by Arrow; right for rows of which nothing else is told."""
    inner: dict[str, dict[Keys, Values]] = {}
    for (key, *below), values in beside.items():
        inner.setdefault(key, {})[tuple(below)] = values
    sent = {key: raws(v[()], null_is_text=True) if () in v else _objects(v, rows) for key, v in sorted(inner.items())}
    told = {key: texts for key, texts in sent.items() if texts is not None and texts.null_count < rows}
    return object_of_some(told, rows)


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
