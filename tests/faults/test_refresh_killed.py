"""A refresh killed at every step: the snapshot from before or the new one, and the next refresh clears up."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import forked
import pytest
import refreshonce
from refreshonce import QUARTER, refreshed
from smalllake import answer, engine, expected, made_in
from world import World

from tailrace.core import TimeRange
from tailrace.lake.lock import partition_lock
from tailrace.lake.materialized import STEPS
from tailrace.lake.undo import erase, restore

HITS = sum(row.table == "hits" for row in expected())


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A snapshot of half of the rows, and a lake that holds all of them again, in part in other files."""
    world = made_in(tmp_path_factory.mktemp("refresh"))
    with partition_lock(world.lake, "hits", "web", "test"):
        version = erase(world.lake, "hits", "web", TimeRange())
        refreshed(world)
        restore(world.lake, "hits", "web", version)
    return world


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("step", [*STEPS, "snapshot-kept:7", "object-staged:2"])
def test_killed_while_refreshing(base: World, tmp_path: Path, step: str, is_first: bool) -> None:
    world = World(tmp_path / "home")
    shutil.copytree(base.home, world.home)
    if is_first:
        shutil.rmtree(world.home / "snapshots")
    process = forked.started(refreshonce.__file__, str(world.home), TAILRACE_KILL_AT=step)
    assert process.wait(120) == -signal.SIGKILL, process.communicate()
    is_published = step in ("snapshot-published", "snapshot-swept")
    count = "select count(*), count(distinct tp_id) from q1.hits"
    if is_published or not is_first:
        rows = HITS if is_published else HITS // 2
        assert answer(engine(world, QUARTER), count) == [(rows, rows)]
    refreshed(world)
    refreshed(world)
    assert answer(engine(world, QUARTER), count) == [(HITS, HITS)]
    place = world.home / "snapshots" / "default" / "q1"
    assert len(list(place.rglob("*.parquet"))) == 24
    assert not list(place.rglob("*.tmp"))
    assert len(list(place.rglob("*.arrow"))) == 2, "this run's and the one before it"
