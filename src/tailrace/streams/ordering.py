"""Rows in another order. Most come nearly in order: those that follow each other already are not copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_LONG = 1000
"Rows that follow each other in both orders, from which they are worth a part of their own."


def taken(table: pa.Table, order: npt.NDArray[np.integer[Any]]) -> pa.Table:
    """The rows of these places; in parts that are shared with the given table, as far as they can be."""
    if not len(order):
        return table.slice(0, 0)
    ends = np.append(np.flatnonzero(np.diff(order) != 1) + 1, len(order))
    begins = np.append(0, ends[:-1])
    long = np.flatnonzero(ends - begins >= _LONG)
    return pa.concat_tables(_parts(table, order, begins[long].tolist(), ends[long].tolist()))


def _parts(
    table: pa.Table, order: npt.NDArray[np.integer[Any]], begins: list[int], ends: list[int]
) -> Iterator[pa.Table]:
    """`begins` and `ends` are of the long stretches, what lies between them is put in order row by row."""
    done = 0
    for begin, end in zip(begins, ends, strict=True):
        if done < begin:
            yield table.take(pa.array(order[done:begin]))
        yield table.slice(int(order[begin]), end - begin)
        done = end
    if done < len(order):
        yield table.take(pa.array(order[done:]))
