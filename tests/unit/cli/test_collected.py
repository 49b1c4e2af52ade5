"""What `partition list` and `show` say of collections: when, and what became of every record."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from twolakes import DAYS, PLACE, ROWS, made_in
from world import World

from tailrace.cli.main import cli
from tailrace.core import TimeRange
from tailrace.lake.fates import FATES
from tailrace.lake.undo import erase

NAME = ".".join(PLACE)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Four days of rows in two files, and a line that is no record in each."""
    world = made_in(tmp_path)
    for path in sorted((tmp_path / "logs").iterdir()):
        with path.open("a") as file:
            file.write("no record\n")
    world.collect()
    return world


def told(world: World, *arguments: str) -> Any:
    done = CliRunner().invoke(cli, ["--home", str(world.home), *arguments, "--output", "json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def fates(world: World) -> dict[str, int]:
    (source,) = told(world, "partition", "show", NAME)["collected_by_source"]
    assert sum(source[fate] for fate in FATES) == source["received"], source
    return {fate: source[fate] for fate in FATES if source[fate]}


def span(first: int, last: int) -> TimeRange:
    return TimeRange(*(datetime(day.year, day.month, day.day) for day in (DAYS[first], DAYS[last])))


def test_all_is_stored(world: World) -> None:
    assert fates(world) == {"rows": 4 * ROWS, "quarantined": 2}


def test_a_part_is_overwritten(world: World) -> None:
    """Rows outside of it were passed over by the last reading, and are stored all the same."""
    (report,) = world.collect(window=span(1, 2), overwrite=True)
    assert report.counts.stored == ROWS
    assert fates(world) == {"rows": 4 * ROWS, "quarantined": 2}


def test_a_part_is_deleted(world: World) -> None:
    erase(world.lake, *PLACE, span(1, 3))
    assert fates(world) == {"rows": 2 * ROWS, "quarantined": 2, "deleted": 2 * ROWS}
    world.collect(window=span(1, 2), overwrite=True)
    assert fates(world) == {"rows": 3 * ROWS, "quarantined": 2, "deleted": ROWS}


def test_a_part_is_asked_for(tmp_path: Path) -> None:
    whole = made_in(tmp_path)
    world = World(tmp_path / "other")
    world.write_config((whole.home / "config" / "test.tpc").read_text())
    world.collect(window=span(0, 1))
    assert fates(world) == {"rows": ROWS, "out_of_range": 3 * ROWS}


def test_a_deletion_is_a_change_and_no_collection(world: World) -> None:
    before = told(world, "partition", "show", NAME)
    (listed,) = told(world, "partition", "list")
    assert listed["changed"] == before["changed"]
    # Files are written a moment before their commit is.
    moments = [datetime.fromisoformat(str(before[name])) for name in ("collected", "changed")]
    assert abs(moments[0] - moments[1]) <= timedelta(seconds=30)
    time.sleep(1.1)  # times are told by the second
    erase(world.lake, *PLACE, TimeRange(datetime(2024, 5, 1, 12), datetime(2024, 5, 2, 12)))
    after = told(world, "partition", "show", NAME)
    assert after["changed"] > before["changed"]
    assert after["collected"] == before["collected"]
