"""Moves between tiers killed at every step: each row is seen once, whoever comes next makes good what was left."""

from __future__ import annotations

import shutil
import signal
from datetime import date
from pathlib import Path

import forked
import partitionchange
import pytest
from lakecheck import Rows, check, stored
from logfiles import access_lines, write
from partitionchange import OLD, PLACE, change, tiered
from world import World

from tailrace.lake.snapshot import snapshot
from tailrace.lake.steps import MOVING
from tailrace.lake.table_place import is_elsewhere

STEPS = ("manifest-written", *MOVING, "segment-written", "committed", "committed:2", "run-cleaned", "manifest-removed")
RECOVERY = tuple(f"recovery-{step}" for step in ("decided", "files-deleted", "swept"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four days in two commits."""
    place = tmp_path_factory.mktemp("base")
    world = World(place / "home")
    world.write_config(f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{place}/logs"] }}\n}}')
    for first, last in ((1, 2), (3, 4)):
        lines = "".join(access_lines(date(2024, 5, day), 24) for day in range(first, last + 1))
        write(place / "logs" / f"{first}.log", lines)
        change(world, "collect")
    return world.home


@pytest.fixture
def world(base: Path, tmp_path: Path) -> World:
    shutil.copytree(base, tmp_path / "home")
    return World(tmp_path / "home")


def killed(home: Path, action: str, step: str) -> None:
    process = forked.started(partitionchange.__file__, str(home), action, TAILRACE_KILL_AT=step)
    assert process.wait(120) == -signal.SIGKILL, process.communicate()


def all_is_well(world: World, before: Rows) -> None:
    """The same rows, old days elsewhere, and no file that nobody knows."""
    assert stored(world.home) == before
    check(world.home, *PLACE)
    files = snapshot(tiered(world), PLACE[0]).files.select(["path", "tp_date"]).to_pylist()
    assert {file["tp_date"] for file in files if is_elsewhere(file["path"])} == {
        file["tp_date"] for file in files if file["tp_date"] <= OLD
    }
    in_tier = {path.name for path in Path(f"{world.home}-tier").rglob("*.parquet")}
    assert in_tier == {file["path"].rpartition("/")[2] for file in files if is_elsewhere(file["path"])}


@pytest.mark.parametrize("step", STEPS)
def test_killed_while_moving(world: World, step: str) -> None:
    before = stored(world.home)
    killed(world.home, "move", step)
    assert stored(world.home) == before
    change(world, "move")
    all_is_well(world, before)


@pytest.mark.parametrize("step", RECOVERY)
def test_killed_while_the_next_one_recovers(world: World, step: str) -> None:
    before = stored(world.home)
    killed(world.home, "move", "segment-written")
    killed(world.home, "move", step)
    assert stored(world.home) == before
    change(world, "move")
    all_is_well(world, before)


def test_a_deletion_makes_good_what_a_dead_move_left(world: World) -> None:
    """It knows nothing of tiers."""
    killed(world.home, "move", "segment-written")
    change(world, "delete")
    left = stored(world.home)
    assert left.total() == 4 * 24 - 42
    change(world, "move")
    all_is_well(world, left)
