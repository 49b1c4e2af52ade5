"""A compaction killed at every step: the same rows always, and the next one finishes and leaves nothing over."""

from __future__ import annotations

import random
import shutil
import signal
import time
from datetime import date
from pathlib import Path

import forked
import partitionchange
import pytest
from commandline import is_stopped, killed_afterwards, wait_for
from forked import Forked
from lakecheck import Rows, check, stored
from logfiles import access_lines, write
from partitionchange import PLACE, change
from world import World

from tailrace.lake.compacting import APART
from tailrace.lake.lock import partition_lock
from tailrace.lake.snapshot import snapshot
from tailrace.lake.undo import restore

COMPACTING = [
    "object-staged", "manifest-written", "files-merged", "segment-staged", "segment-written", "committed",
    "manifest-removed",
]  # fmt: skip


def started(home: Path, action: str = "compact", **env: str) -> Forked:
    return forked.started(partitionchange.__file__, str(home), action, **env)


def killed(home: Path, step: str, action: str = "compact") -> None:
    with killed_afterwards(started(home, action, TAILRACE_KILL_AT=step)) as process:
        out, err = process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL, out + err


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of three days, each in three files."""
    place = tmp_path_factory.mktemp("base")
    world = World(place / "home")
    world.write_config(f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{place}/logs"] }}\n}}')
    for number in range(3):
        for day in range(1, 4):
            write(place / "logs" / f"{day}-{number}.log", access_lines(date(2024, 5, day), 10 + number))
        change(world, "collect")
    return world.home


@pytest.fixture
def world(base: Path, tmp_path: Path) -> World:
    shutil.copytree(base, tmp_path / "home")
    return World(tmp_path / "home")


@pytest.fixture
def rows(world: World) -> Rows:
    found = stored(world.home)
    assert found.total() == len(found) == 3 * (10 + 11 + 12)
    return found


def files(world: World) -> int:
    number: int = snapshot(world.lake, PLACE[0]).files.num_rows
    return number


def finish(world: World, rows: Rows) -> None:
    """Another run does the rest."""
    change(world, "compact")
    assert stored(world.home) == rows
    assert files(world) == 3
    check(world.home, *PLACE)


@pytest.mark.parametrize("step", COMPACTING)
def test_killed_while_compacting(world: World, rows: Rows, step: str) -> None:
    killed(world.home, step)
    assert stored(world.home) == rows
    assert files(world) == (3 if step in ("committed", "manifest-removed") else 9)
    finish(world, rows)


def test_killed_at_any_moment(world: World, rows: Rows) -> None:
    """Again and again, from the moment at which it says that it may write."""
    moments, small = random.Random(5), snapshot(world.lake, PLACE[0]).version
    manifests = world.lake.meta(APART, *PLACE)
    for _ in range(4):
        with killed_afterwards(started(world.home)) as process:
            known = set(manifests.names())
            wait_for(lambda: set(manifests.names()) - known or process.poll() is not None)  # noqa: B023
            time.sleep(moments.uniform(0, 0.15))
            process.send_signal(signal.SIGKILL)
        assert stored(world.home) == rows
        if files(world) == 3:
            with partition_lock(world.lake, *PLACE, "test"):
                restore(world.lake, *PLACE, small)
    finish(world, rows)


@pytest.mark.parametrize("step", ["files-merged", "segment-written"])
def test_killed_while_rows_get_another_index(world: World, rows: Rows, step: str) -> None:
    config = world.home / "config" / "test.tpc"
    config.write_text(config.read_text().replace('"web" {', '"web" {\n tp_index = "status"'))
    killed(world.home, step, "reindex")
    assert stored(world.home) == rows
    change(world, "reindex")
    assert stored(world.home) == rows
    assert files(world) == 6
    check(world.home, *PLACE)


@pytest.mark.parametrize("step", ["recovery-decided", "merge-run-given-up", "recovery-swept"])
def test_killed_while_the_next_one_recovers(world: World, rows: Rows, step: str) -> None:
    killed(world.home, "segment-written")
    killed(world.home, step)
    assert stored(world.home) == rows
    finish(world, rows)


@pytest.mark.parametrize("step", ["manifest-written", "files-merged", "segment-written"])
def test_a_collect_goes_on_after_a_dead_compaction(world: World, rows: Rows, step: str) -> None:
    killed(world.home, step)
    change(world, "collect")
    change(world, "delete")
    left = stored(world.home)
    assert left < rows
    change(world, "compact")
    assert stored(world.home) == left
    check(world.home, *PLACE)


def test_what_a_dead_one_left_goes_though_nothing_is_left_to_merge(world: World, rows: Rows) -> None:
    killed(world.home, "files-merged")
    change(world, "reset")
    change(world, "compact")
    assert not stored(world.home)
    check(world.home, *PLACE)


@pytest.mark.parametrize("step", ["files-merged", "segment-written"])
def test_a_sleeper_that_was_taken_for_dead_loses(world: World, rows: Rows, step: str) -> None:
    """Its locks are taken away, another one does the work and clears away its files; then it wakes up."""
    with killed_afterwards(started(world.home, TAILRACE_STOP_AT=step)) as sleeper:
        wait_for(lambda: is_stopped(sleeper))
        for lock in world.lake.meta("locks", *PLACE).names():
            (world.lake.meta("locks", *PLACE).path / lock).unlink()  # type: ignore[attr-defined]
        change(world, "compact")
        sleeper.send_signal(signal.SIGCONT)
        out, _ = sleeper.communicate(timeout=120)
        assert (sleeper.returncode, out.strip()) == (5, "lake.lost-race")
    assert stored(world.home) == rows
    assert files(world) == 3
    check(world.home, *PLACE)


def test_a_sleeper_wakes_while_it_is_being_cleared_away(world: World, rows: Rows) -> None:
    """It has been given up, nothing else was committed: it must not publish what is about to be deleted."""
    with killed_afterwards(started(world.home, TAILRACE_STOP_AT="files-merged")) as sleeper:
        wait_for(lambda: is_stopped(sleeper))
        for lock in world.lake.meta("locks", *PLACE).names():
            (world.lake.meta("locks", *PLACE).path / lock).unlink()  # type: ignore[attr-defined]
        killed(world.home, "merge-run-given-up")
        sleeper.send_signal(signal.SIGCONT)
        out, _ = sleeper.communicate(timeout=120)
        assert (sleeper.returncode, out.strip()) == (5, "lake.lost-race")
    finish(world, rows)


def test_manifests_of_a_run_that_ended_well_are_gone(world: World, rows: Rows) -> None:
    finish(world, rows)
    assert not world.lake.meta(APART, *PLACE).names()
