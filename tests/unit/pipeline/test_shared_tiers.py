"""Lakes that move days of a partition of the same name into the same directory: none deletes a file of another."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from lakecheck import stored
from partitionchange import PLACE
from twolakes import DAYS, ROWS, made_in
from world import World

from tailrace.core import TimeRange
from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake, Tier
from tailrace.lake.place import LocalPlace
from tailrace.lake.resting import Rule
from tailrace.lake.undo import erase
from tailrace.lake.upkeep import Chore, carry_out, due
from tailrace.lake.vacuum import forget

LATER = timedelta(days=40)
"When no earlier version can be restored any more."


@pytest.fixture
def tier(tmp_path: Path) -> Path:
    return tmp_path / "tier"


def lake_of(world: World, tier: Path) -> Lake:
    return Lake(world.home, tiers=(Tier("default", "old", LocalPlace(str(tier))),))


def maintain(lake: Lake, *actions: str, after: timedelta = timedelta()) -> list[Chore]:
    now = datetime.now(UTC).replace(tzinfo=None) + after
    found = due(lake, PLACE[0], [PLACE[1]], lambda _: None, now, lambda _: [Rule(lake.tiers[0])])
    return [carry_out(lake, chore, "test", now) for chore in [*found] if chore.action in actions]


def files_in(tier: Path) -> set[Path]:
    return {*tier.rglob("*.parquet")}


def delete_first_day(lake: Lake) -> None:
    with partition_lock(lake, *PLACE, "test"):
        begins = datetime(DAYS[0].year, DAYS[0].month, DAYS[0].day)
        erase(lake, *PLACE, TimeRange(begins, begins + timedelta(days=1)))


def test_each_keeps_its_rows_and_deletes_what_was_its_own(tmp_path: Path, tier: Path) -> None:
    worlds = [made_in(tmp_path / name) for name in ("a", "b")]
    lakes = [lake_of(world, tier) for world in worlds]
    for lake in lakes:
        maintain(lake, "move")
    before = [stored(world.home) for world in worlds]
    both = files_in(tier)
    delete_first_day(lakes[0])
    for lake in lakes:
        maintain(lake, "vacuum", after=LATER)
    gone = both - files_in(tier)
    assert gone, "what the one lake deleted is gone"
    assert sum(before[0].values()) - sum(stored(worlds[0].home).values()) == ROWS
    assert stored(worlds[1].home) == before[1]


def test_the_copy_of_a_lake_is_another_one(tmp_path: Path, tier: Path) -> None:
    """It knows nothing of the days that were moved after it was made."""
    world = made_in(tmp_path / "a")
    lake = lake_of(world, tier)
    (chore,) = (c for c in due(lake, PLACE[0], [PLACE[1]], lambda _: None, datetime(2024, 6, 1),
        lambda _: [Rule(lake.tiers[0], last=DAYS[1])]))  # fmt: skip
    carry_out(lake, chore, "test", datetime(2024, 6, 1))
    shutil.copytree(world.home, tmp_path / "copy", symlinks=True)
    maintain(lake, "move")
    before = stored(world.home)
    maintain(lake_of(World(tmp_path / "copy"), tier), "vacuum", after=LATER)
    assert stored(world.home) == before


def test_one_that_is_alone_deletes_what_no_log_names(tmp_path: Path, tier: Path) -> None:
    world = made_in(tmp_path / "a")
    lake = lake_of(world, tier)
    maintain(lake, "move")
    some = min(files_in(tier))
    stray = some.with_name(f"{'1' * 20}{'a' * 10}-stray.parquet")
    shutil.copy(some, stray)
    maintain(lake, "vacuum")
    assert not stray.exists()
    assert some.exists()


def test_for_good_leaves_the_other_lake_alone(tmp_path: Path, tier: Path) -> None:
    worlds = [made_in(tmp_path / name) for name in ("a", "b")]
    lakes = [lake_of(world, tier) for world in worlds]
    for lake in lakes:
        maintain(lake, "move")
    before, both = stored(worlds[1].home), files_in(tier)
    with partition_lock(lakes[0], *PLACE, "test"):
        erase(lakes[0], *PLACE, TimeRange())
        forget(lakes[0], *PLACE)
    assert len(both - files_in(tier)) == len(DAYS)
    assert stored(worlds[1].home) == before


def test_the_workspace_of_another_lake_for_a_tier(tmp_path: Path) -> None:
    """Neither takes what the other's log names for waste."""
    worlds = [made_in(tmp_path / name) for name in ("a", "b")]
    theirs = worlds[1].lake
    mine = lake_of(worlds[0], Path(str(theirs.data_root)))
    maintain(mine, "move")
    before = [stored(world.home) for world in worlds]
    delete_first_day(mine)
    delete_first_day(theirs)
    both = files_in(Path(str(theirs.data_root)))
    for lake in (mine, lake_of(worlds[1], tmp_path / "unused")):
        maintain(lake, "vacuum", after=LATER)
    assert len(both - files_in(Path(str(theirs.data_root)))) == 2, "what each deleted is gone"
    for world, rows in zip(worlds, before, strict=True):
        assert sum(rows.values()) - sum(stored(world.home).values()) == ROWS
