"""Where ids are among others, and batches that several threads write."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.windows.batches import LARGEST_BATCH, even, in_order
from tailrace.windows.finding import places

NEAR, FAR = st.integers(-2, 40), st.integers(-(2**63), 2**62)


@given(st.lists(NEAR | FAR, max_size=30), st.lists(NEAR | FAR, max_size=30), st.integers(0, 2**40))
def test_places_are_those_of_the_first_equal_id(known: list[int], wanted: list[int], shift: int) -> None:
    near = [number + shift for number in known if abs(number) < 50]
    for ids in (known, near):
        asked = [*wanted, *(number + shift for number in wanted if abs(number) < 50), *ids]
        found = places(np.array(asked, np.int64), np.array(ids, np.int64))
        assert found.tolist() == [ids.index(number) if number in ids else -1 for number in asked]


@pytest.mark.parametrize("count", [1, 32_767, 32_768, 100_000, 200_001, 1_000_000])
@pytest.mark.parametrize("limit", [10, 9_000, LARGEST_BATCH])
def test_batches_are_even(count: int, limit: int) -> None:
    size = even(count, limit)
    assert 0 < size <= limit
    whole, rest = divmod(count, size)
    if count >= 32_768 and limit > 1_000:
        batches = whole + (rest > 0)
        # One batch less than a multiple of four where rounding up has left none for the last.
        assert batches % 4 in (0, 3)
        assert batches < count / limit + 4


def test_what_is_made_by_threads_is_in_order_and_bounded() -> None:
    taken, most = 0, 0
    lock = threading.Lock()
    done = 0

    def things() -> Iterator[int]:
        nonlocal taken, most
        for number in range(50):
            taken += 1
            most = max(most, taken - done)
            yield number

    def make(number: int) -> int:
        nonlocal done
        with lock:
            done += 1
        return number * number

    assert list(in_order(make, things(), 3)) == [number * number for number in range(50)]
    assert most <= 6

    def fail(number: int) -> int:
        raise ValueError(str(number))

    with pytest.raises(ValueError, match="0"):
        list(in_order(fail, range(9), 2))
