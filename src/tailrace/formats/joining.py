"""Batches of one block together: engines work in runs that fit the caches, what comes after them likes many rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.formats.base import Batch


def joined(batches: list[Batch]) -> Batch:
    """One batch of several with the same columns."""
    if len(batches) == 1:
        return batches[0]
    columns = {name: pa.concat_arrays([batch.columns[name] for batch in batches]) for name in batches[0].columns}
    extra = None
    if any(batch.extra is not None for batch in batches):
        extra = pa.concat_arrays([pa.nulls(b.rows, pa.string()) if b.extra is None else b.extra for b in batches])
    firsts = np.cumsum([0, *(batch.rows for batch in batches)])

    def raw(row: int) -> bytes:
        number = int(np.searchsorted(firsts, row, side="right")) - 1
        return batches[number].raw(row - int(firsts[number]))

    return Batch(
        columns,
        np.concatenate([batch.positions for batch in batches]),
        raw,
        extra,
        sum(batch.flagged for batch in batches),
        [bad for batch in batches for bad in batch.bad],
        sum(batch.skipped for batch in batches),
    )
