"""Pushes and pulls killed at every step: whoever comes next makes it good, and both lakes hold every row once."""

from __future__ import annotations

import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import forked
import pytest
import twolakes
from lakecheck import check, stored
from logfiles import access_lines, write
from twolakes import ALL, DAYS, PLACE, hand, made_in, other, rows_of
from world import World

from tailrace.lake.paths import Lake
from tailrace.lake.steps import HANDING
from tailrace.lake.undo import history

STEPS = (
    "manifest-written",
    *HANDING,
    "day-copied:3",
    "segment-staged",
    "segment-written",
    "committed",
    "committed:2",
    "run-cleaned",
    "manifest-removed",
)
RECOVERY = tuple(f"recovery-{step}" for step in ("decided", "files-deleted", "swept"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake, and another that holds older rows of one day, a part of the next, and nothing of the others."""
    place = tmp_path_factory.mktemp("base")
    world = made_in(place)
    remote = other(place / "remote")
    hand("push", world.lake, remote, replace(ALL, at=history(world.lake, *PLACE)[-1].version))
    write(place / "logs" / "late.log", access_lines(DAYS[0], 5))
    assert all(report.clean for report in world.collect())
    world.compact()
    return place


@pytest.fixture
def place(base: Path, tmp_path: Path) -> Path:
    shutil.copytree(base, tmp_path / "copy")
    return tmp_path / "copy"


def killed(kind: str, home: Path, remote: Path, step: str) -> None:
    process = forked.started(twolakes.__file__, str(home), kind, str(remote), TAILRACE_KILL_AT=step)
    assert process.wait(120) == -signal.SIGKILL, process.communicate()


@pytest.mark.parametrize("step", STEPS)
def test_killed_while_pushing(place: Path, step: str) -> None:
    world, remote = World(place / "home"), other(place / "remote")
    before, part = rows_of(world.lake), stored(remote)
    killed("push", world.home, place / "remote", step)
    seen = stored(remote)
    assert part <= seen <= stored(world.lake), "days come whole, and once"
    hand("push", world.lake, remote)
    assert rows_of(remote) == before
    check(remote, *PLACE)


@pytest.mark.parametrize("step", STEPS)
def test_killed_while_pulling(place: Path, step: str) -> None:
    world, here = World(place / "home"), Lake(place / "here")
    pushed = other(place / "whole")
    hand("push", world.lake, pushed)
    killed("pull", place / "here", place / "whole", step)
    assert rows_of(world.lake) == rows_of(pushed)
    hand("pull", pushed, here)
    assert rows_of(here) == rows_of(pushed)
    check(here, *PLACE)


@pytest.mark.parametrize("step", RECOVERY)
def test_killed_while_the_next_one_recovers(place: Path, step: str) -> None:
    world, remote = World(place / "home"), other(place / "remote")
    killed("push", world.home, place / "remote", "segment-written")
    killed("push", world.home, place / "remote", step)
    hand("push", world.lake, remote)
    assert rows_of(remote) == rows_of(world.lake)
    check(remote, *PLACE)


@pytest.mark.parametrize("step", STEPS)
def test_killed_while_a_later_version_takes_the_place_of_an_earlier(place: Path, step: str) -> None:
    """Two days of a file that has been changed since, and one on which it has no row any more."""
    world, remote = World(place / "home"), other(place / "later")
    log = place / "logs" / "0.log"
    config = (world.home / "config" / "test.tpc").read_text()
    world.write_config(re.sub(r'paths = \["[^"]*"\]', f'paths = ["{log.parent}"]', config))
    write(log, "".join(access_lines(day, 10) for day in DAYS[:3]))
    assert all(report.clean for report in world.collect())
    hand("push", world.lake, remote)
    lines = log.read_text().replace("03/May", "09/May").splitlines(keepends=True)
    write(log, "".join(lines[:9] + lines[10:]))
    assert all(report.clean for report in world.collect())
    later = rows_of(world.lake)
    killed("push", world.home, place / "later", step)
    assert max(stored(remote).values()) == 1
    hand("pull", remote, world.lake)
    assert rows_of(world.lake) == later, "nothing of the earlier version comes back"
    hand("push", world.lake, remote)
    assert rows_of(remote) == later
    check(remote, *PLACE)
