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


def rest_of(notes: Notes, rows: int, stay: tuple[str, ...]) -> pa.Array:
    """Fields without a column as a column of their own, and no longer told beside it, but for those that stay."""
    texts: list[bytes | None] = [None] * rows
    for row, tree in list(notes.unknowns.items()):
        rest = {key: value for key, value in tree.items() if key not in stay}
        if rest:
            texts[row] = msgspec.json.encode(rest, order="sorted")
        notes.unknowns[row] = {key: value for key, value in tree.items() if key in stay}
        if not notes.unknowns[row]:
            del notes.unknowns[row]
    return pa.array(texts, pa.binary()).cast(pa.string())


def extra_of(notes: Notes, rows: int, beside: Mapping[str, Values]) -> tuple[pa.Array | None, int]:
    """`tp_extra` as JSON text, and how many rows hold a misfit.

    `beside`: values of fields that many records have and no column. Rows of which nothing else is told are put
    together by Arrow.
    """
    sent = {key: raws(values, null_is_text=True) for key, values in sorted(beside.items())}
    extra = object_of_some({key: texts for key, texts in sent.items() if texts.null_count < rows}, rows)
    if not (notes.unknowns or notes.misfits):
        return extra, 0
    texts = _told(notes, beside)
    if extra is None:
        extra = pa.nulls(rows, pa.string())
    mask = np.zeros(rows, bool)
    mask[list(texts)] = True
    in_order = pa.array([texts[row] for row in sorted(texts)], pa.string())
    return pc.replace_with_mask(extra, pa.array(mask), in_order), len(notes.misfits)


def _told(notes: Notes, beside: Mapping[str, Values]) -> dict[int, str]:
    """By row: its notes and its values of fields without a column."""
    texts = {}
    for row, tree in list(notes.told()):
        sent = {key: values[row] for key, values in beside.items() if values[row].__class__ is Raw}
        text = msgspec.json.encode(tree | sent, order="sorted")
        if not is_utf8(text):  # an envelope; what it holds has been looked at
            notes.mark(row, REPAIRED, "invalid utf-8")
            text = msgspec.json.encode({**tree, MISFIT: notes.misfits[row]} | sent, order="sorted")
        texts[row] = text.decode(errors="replace")
    return texts
