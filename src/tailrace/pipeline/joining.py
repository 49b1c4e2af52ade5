"""Columns of several batches as one."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tailrace.formats.base import Batch
from tailrace.pipeline.lists import plain


def together(batches: list[Batch]) -> dict[str, pa.Array]:
    """Concatenates batches column by column; one without a column has nulls there."""
    given = [b.columns if b.extra is None else {**b.columns, "tp_extra": b.extra} for b in batches]
    if len(given) == 1:
        return dict(given[0])
    sizes = [batch.rows for batch in batches]
    kinds: dict[str, pa.DataType] = {}
    for columns in given:
        for name, array in columns.items():
            if kinds.get(name, pa.null()) == pa.null():
                kinds[name] = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    return {name: joined([c.get(name) for c in given], kind, sizes) for name, kind in kinds.items()}


def joined(arrays: list[pa.Array | None], kind: pa.DataType, sizes: list[int]) -> pa.Array:
    """One array of all; absent ones are nulls; dictionaries survive when all parts have one."""
    if len(arrays) == 1 and arrays[0] is not None:
        return arrays[0]
    if all(a is not None and pa.types.is_dictionary(a.type) for a in arrays):
        return pa.chunked_array(arrays).unify_dictionaries().combine_chunks()
    chunks = []
    for array, size in zip(arrays, sizes, strict=True):
        absent = array is None or array.type == pa.null()
        chunks.append(pa.nulls(size, kind) if absent else plain(array))
    return pa.concat_arrays(chunks)


def held_bytes(columns: Mapping[str, pa.Array]) -> int:
    """Memory behind the columns; `nbytes` tells what a slice needs of it, for twelve times the time."""
    return sum(array.get_total_buffer_size() for array in columns.values())
