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
from tailrace.formats.json_fit import MISFIT, REPAIRED, Notes, is_utf8

Beside = Mapping[str, Values]
"Values of fields that many records have and no column."


def rest_of(notes: Notes, rows: int, beside: Beside, stay: tuple[str, ...]) -> pa.Array:
    """Fields without a column as a column of their own, and no longer told beside it, but for those that stay."""
    texts: dict[int, str] = {}
    for row, tree in list(notes.unknowns.items()):
        rest = {key: value for key, value in tree.items() if key not in stay}
        if rest:
            texts[row] = msgspec.json.encode(rest | _sent(beside, row), order="sorted").decode()
        notes.unknowns[row] = {key: value for key, value in tree.items() if key in stay}
        if not notes.unknowns[row]:
            del notes.unknowns[row]
    return _put(texts, _objects(beside, rows), rows)


def extra_of(notes: Notes, rows: int, beside: Beside) -> tuple[pa.Array | None, int]:
    """`tp_extra` as JSON text, and how many rows hold a misfit."""
    extra = _objects(beside, rows)
    if not (notes.unknowns or notes.misfits):
        return extra, 0
    return _put(_told(notes, beside), extra, rows), len(notes.misfits)


def _objects(beside: Beside, rows: int) -> pa.Array | None:
    """Put together by Arrow; right for rows of which nothing else is told."""
    sent = {key: raws(values, null_is_text=True) for key, values in sorted(beside.items())}
    return object_of_some({key: texts for key, texts in sent.items() if texts.null_count < rows}, rows)


def _sent(beside: Beside, row: int) -> dict[str, Raw]:
    return {key: values[row] for key, values in beside.items() if values[row].__class__ is Raw}


def _put(texts: dict[int, str], objects: pa.Array | None, rows: int) -> pa.Array:
    """The objects, with the texts of those rows that have one."""
    if objects is None:
        objects = pa.nulls(rows, pa.string())
    mask = np.zeros(rows, bool)
    mask[list(texts)] = True
    return pc.replace_with_mask(objects, pa.array(mask), pa.array([texts[row] for row in sorted(texts)], pa.string()))


def _told(notes: Notes, beside: Beside) -> dict[int, str]:
    """By row: its notes and its values of fields without a column."""
    texts = {}
    for row, tree in list(notes.told()):
        sent = _sent(beside, row)
        text = msgspec.json.encode(tree | sent, order="sorted")
        if not is_utf8(text):  # an envelope; what it holds has been looked at
            notes.mark(row, REPAIRED, "invalid utf-8")
            text = msgspec.json.encode({**tree, MISFIT: notes.misfits[row]} | sent, order="sorted")
        texts[row] = text.decode(errors="replace")
    return texts
