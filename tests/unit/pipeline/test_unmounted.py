"""A tier whose disk is not mounted: nothing is moved onto the bare directory, and it is told."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from lakecheck import stored
from partitionchange import PLACE, change, tiered
from twolakes import DAYS, ROWS, hand, made_in, other
from world import World

from tailrace.cli.main import cli
from tailrace.core import TailraceError, TimeRange
from tailrace.core.errors import LakeError
from tailrace.export.run import Export
from tailrace.export.scope import Scope
from tailrace.lake import upkeep
from tailrace.lake.mounted import MARK, is_noted, require_mounted
from tailrace.lake.moving import carry_over
from tailrace.lake.resting import Rule
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.snapshot import snapshot
from tailrace.lake.table_place import is_elsewhere
from tailrace.lake.undo import erase, restore
from tailrace.lake.upkeep import carry_out, due
from tailrace.query.failures import damaged_file

NOW = datetime(2024, 5, 10)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = made_in(tmp_path)
    change(world, "move")
    return world


def everything_moves(world: World) -> None:
    lake = tiered(world)
    for chore in [*due(lake, PLACE[0], [PLACE[1]], lambda _: None, NOW, lambda _: [Rule(lake.tiers[0])])]:
        carry_out(lake, chore, "test", NOW)


def unmounted(world: World) -> Path:
    """The directory is there, what was on the disk is not."""
    tier = Path(f"{world.home}-tier")
    tier.rename(f"{tier}-disk")
    tier.mkdir()
    return tier


def test_days_are_not_moved_onto_a_bare_directory(world: World) -> None:
    before = stored(world.home)
    tier = unmounted(world)
    with pytest.raises(LakeError, match="not mounted") as refused:
        everything_moves(world)
    assert refused.value.code == "lake.tier-not-mounted"
    assert str(tier / MARK) in (refused.value.hint or "")
    assert not any(tier.iterdir()), "nothing was put there"
    tier.rmdir()
    Path(f"{tier}-disk").rename(tier)
    everything_moves(world)
    assert stored(world.home) == before
    assert all(map(is_elsewhere, snapshot(tiered(world), PLACE[0]).files.column("path").to_pylist()))


def test_another_table_is_not_moved_there_either(world: World) -> None:
    """It has no day there yet, but the lake knows the tier."""
    lake = tiered(world)
    assert is_noted(lake, lake.tiers[0])
    tier = unmounted(world)
    with pytest.raises(LakeError, match="not mounted"):
        require_mounted(lake, lake.tiers[0])
    (tier / MARK).touch()
    require_mounted(lake, lake.tiers[0])


def test_a_tier_that_was_copied_without_its_mark(world: World) -> None:
    """Not every program copies files whose names begin with a dot."""
    tier = Path(f"{world.home}-tier")
    (tier / MARK).unlink()
    with (world.home / "config" / "test.tpc").open("a") as config:
        config.write(f'store "default" {{\n  tier "old" {{\n    path = "{tier}"\n  }}\n}}\n')
    for command in (["maintain"], ["doctor"]):
        done = CliRunner().invoke(cli, ["--home", str(world.home), *command])
        assert "not mounted" not in done.output
        assert done.exit_code == 0, done.output


def test_a_tier_of_an_earlier_version_has_no_mark(world: World) -> None:
    (Path(f"{world.home}-tier") / MARK).unlink()
    shutil.rmtree(world.home / "meta" / "default" / "tiers")
    everything_moves(world)
    assert (Path(f"{world.home}-tier") / MARK).is_file()


def test_a_disk_that_goes_while_days_are_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = made_in(tmp_path)
    before = stored(world.home)

    def carried_over(*given: Any) -> list[ActiveFile]:
        done = carry_over(*given)
        unmounted(world)
        return done

    monkeypatch.setattr(upkeep, "carry_over", carried_over)
    lake = tiered(world)
    (chore,) = due(lake, PLACE[0], [PLACE[1]], lambda _: None, NOW, lambda _: [Rule(lake.tiers[0])])
    done = carry_out(lake, chore, "test", NOW)
    assert (chore.days, done.days) == (4, 1)
    assert done.stopped is not None
    assert done.stopped.code == "lake.tier-not-mounted"
    tier = Path(f"{world.home}-tier")
    assert not any(tier.iterdir()), "nothing was put onto the bare directory"
    tier.rmdir()
    Path(f"{tier}-disk").rename(tier)
    assert stored(world.home) == before


def test_nothing_is_deleted_for_good_that_cannot_be_seen(world: World) -> None:
    """Neither rows nor files: the command can be run again when the disk is there."""
    before = stored(world.home)
    command = ["--home", str(world.home), "partition", "delete", "web", "--for-good", "--force"]
    tier = unmounted(world)
    refused = CliRunner().invoke(cli, command)
    assert getattr(refused.exception, "code", None) == "lake.tier-not-mounted"
    tier.rmdir()
    Path(f"{tier}-disk").rename(tier)
    assert stored(world.home) == before
    assert CliRunner().invoke(cli, command).exit_code == 0
    assert [*tier.rglob("*.parquet")] == []


def test_whoever_needs_a_moved_day_is_told_to_mount_it(world: World, tmp_path: Path) -> None:
    """Not to collect the day again: its log may be long gone, and then its rows would be."""
    moved = snapshot(world.lake, PLACE[0]).version
    erase(world.lake, *PLACE, TimeRange(datetime(2024, 5, 3), datetime(2024, 5, 3, 12)))
    before = stored(world.home)
    tier = unmounted(world)
    first_day = TimeRange(datetime(2024, 5, 1), datetime(2024, 5, 2))
    for needs in (
        lambda: world.query("select count(*) from nginx_access_log"),
        lambda: restore(world.lake, *PLACE, moved),
        lambda: erase(world.lake, *PLACE, first_day),
        lambda: erase(world.lake, *PLACE, TimeRange(datetime(2024, 5, 1, 12), datetime(2024, 5, 2))),
        lambda: hand("push", world.lake, other(tmp_path / "other")),
        lambda: Export(world.lake, tmp_path / "tree", "hive").run({PLACE[0]: Scope()}, lambda *_: None),
    ):
        with pytest.raises(TailraceError) as refused:
            needs()
        assert refused.value.code == "lake.tier-not-mounted"
        assert "mount it" in (refused.value.hint or "")
    (report,) = world.collect(window=first_day, overwrite=True)
    assert getattr(report.error, "code", None) == "lake.tier-not-mounted"
    tier.rmdir()
    Path(f"{tier}-disk").rename(tier)
    assert stored(world.home) == before


def test_a_statement_that_opens_a_moved_file_late_is_told_as_well(world: World) -> None:
    """DuckDB opens one file to begin with, and meets the missing ones while it runs."""
    seen = snapshot(world.lake, PLACE[0])
    files = [seen.root.address(path) for path in seen.files.column("path").to_pylist() if is_elsewhere(path)]
    said = duckdb.IOException(f'IO Error: Cannot open file "{files[-1]}": No such file or directory')
    assert damaged_file(said, files, 1) is None, "they are all there"
    unmounted(world)
    found = damaged_file(said, files, 1)
    assert found is not None
    assert (found.code, "mount it" in (found.hint or "")) == ("lake.tier-not-mounted", True)


def test_a_moved_file_that_is_really_gone(world: World) -> None:
    lost = min(Path(f"{world.home}-tier").rglob("*.parquet"))
    lost.unlink()
    (report,) = world.collect(window=TimeRange(datetime(2024, 5, 1), datetime(2024, 5, 4)), overwrite=True)
    assert report.clean, report.error
    assert stored(world.home).total() == len(DAYS) * ROWS


def test_doctor_tells(world: World) -> None:
    config = (world.home / "config" / "test.tpc").read_text()
    world.write_config(config + f'store "default" {{\n tier "old" {{ path = "{world.home}-tier" }}\n}}\n')
    command = ["--home", str(world.home), "doctor"]
    assert "not mounted" not in CliRunner().invoke(cli, command).output
    unmounted(world)
    told = CliRunner().invoke(cli, command)
    assert told.exit_code == 1
    assert "the tier is not mounted" in told.output
    assert "is its disk mounted?" in told.output
