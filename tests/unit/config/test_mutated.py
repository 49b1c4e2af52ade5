"""Files changed at random give configuration errors, never a traceback, and never take long; more in tests/long."""

from __future__ import annotations

import random

import pytest
from mutated import examples, keeps_the_promise, mutated


@pytest.mark.parametrize("start", range(10))
def test_changed_files(start: int) -> None:
    chance, texts = random.Random(start), examples()
    found = [keeps_the_promise(mutated(chance, texts)) for _ in range(30)]
    assert sum(map(bool, found)) > 15  # most changes break something


def test_there_is_enough_to_change() -> None:
    assert len(examples()) >= 40
