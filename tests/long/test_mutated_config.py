"""Ten thousand configuration files changed at random: configuration errors only, none of them slow."""

from __future__ import annotations

import random

import pytest
from mutated import examples, keeps_the_promise, mutated


@pytest.mark.parametrize("start", range(100, 200))
def test_changed_files(start: int) -> None:
    chance, texts = random.Random(start), examples()
    for number in range(100):
        data = mutated(chance, texts)
        try:
            keeps_the_promise(data)
        except BaseException as error:
            error.add_note(f"file {number} of {start}: {data!r}")
            raise
