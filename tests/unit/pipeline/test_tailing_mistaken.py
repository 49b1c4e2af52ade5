"""Files that could be taken for others: under two names in one run, or because they begin alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from livelog import LiveLog, line
from world import World

from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.unit import run_unit


@pytest.fixture
def log(world: World, tmp_path: Path) -> LiveLog:
    return LiveLog(world, tmp_path / "logs")


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("rotations", [1, 2])
def test_rotated_after_listing_nothing_is_read_under_two_names(log: LiveLog, rotations: int, known: bool) -> None:
    for _ in range(3):
        log.append(50, 100)
        log.rotate()
    log.append(30, 100)
    if known:
        log.collect()
        log.append(20, 100)
    left = [log.rotate] * rotations

    def run(_: Any, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        while left:
            left.pop()()
            log.append(10, 100)
        return [run_unit(job, unit) for unit in units]

    log.world.run = run
    log.collect()
    assert max(log.stored().values(), default=1) == 1
    log.collect()
    assert log.stored() == log.expected()


@pytest.mark.parametrize("alike", [1, 20, 200])
def test_emptied_and_filled_again_with_the_same_first_lines(log: LiveLog, alike: int) -> None:
    """A banner, say, that a program writes whenever it starts."""
    log.append(500, 40)
    log.collect()
    log.path.write_bytes(b"".join(line(n, 40) for n in [*range(alike), *range(600, 700)]))
    log.collect()
    assert set(log.stored()) == {*range(500), *range(600, 700)}


def test_a_shorter_file_that_begins_like_one_that_is_gone(log: LiveLog) -> None:
    log.append(500, 40)
    log.collect()
    log.path.rename(log.folder.parent / "elsewhere")
    (log.folder / "app.log.7").write_bytes(b"".join(line(n, 40) for n in [*range(100), *range(600, 650)]))
    log.collect()
    assert set(log.stored()) == {*range(500), *range(600, 650)}
