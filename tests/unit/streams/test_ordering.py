"""Rows are put in order without copying those that are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.streams import ordering
from tailrace.streams.ordering import taken


@given(st.data())
def test_it_is_what_take_gives(data: st.DataObject) -> None:
    """Of tables of several pieces, whose rows are in order but for some."""
    count = data.draw(st.integers(0, 300))
    pieces = data.draw(st.lists(st.integers(0, 300), max_size=3))
    column = pa.chunked_array([pa.array([f"{n}" if n % 7 else None for n in range(count)], pa.string())])
    cut = sorted({0, *(piece for piece in pieces if piece < count), count})
    parts = [column.slice(a, b - a) for a, b in pairwise(cut)]
    table = pa.table({"a": pa.chunked_array([c for p in parts for c in p.chunks], pa.string())})
    order = np.arange(count)
    for _ in range(data.draw(st.integers(0, 4))):
        if count:
            one, other = (data.draw(st.integers(0, count - 1)) for _ in range(2))
            order[[one, other]] = order[[other, one]]
    if data.draw(st.booleans()):
        order = np.roll(order, data.draw(st.integers(0, 300)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ordering, "_LONG", data.draw(st.integers(1, 50)))
        found = taken(table, order)
    found.validate(full=True)
    assert found.equals(table.take(pa.array(order)))


def test_rows_in_order_are_not_copied() -> None:
    table = pa.table({"a": pa.array([b"x" * 100] * 10_000, pa.binary())})
    order = np.arange(10_000)
    before = pa.total_allocated_bytes()
    same = taken(table, order)
    order[[5000, 5001]] = 5001, 5000
    nearly = taken(table, order)
    assert same.equals(table)
    assert nearly.equals(table)
    assert pa.total_allocated_bytes() - before < 10_000
