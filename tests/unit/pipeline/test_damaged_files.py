"""A file of the lake that is missing or damaged: whoever takes all of its rows away need not read it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from lakecheck import check, stored
from world import World

from tailrace.cli.main import cli
from tailrace.core import LakeError, TimeRange
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.snapshot import files_of, snapshot
from tailrace.lake.undo import erase, restore
from tailrace.lake.unique import connected

START = datetime(2024, 3, 1)
HOURS = 72
CONFIG = """
table "t" {{
  column "ts" {{ type = "timestamp" }}
}}
partition "t" "p" {{
  {more}
  source "file" {{ paths = ["{logs}"] }}
}}
"""
Damage = Callable[[Path], None]


def hour(number: float) -> datetime:
    return START + timedelta(hours=number)


def day(number: int) -> TimeRange:
    return TimeRange(hour(24 * number), hour(24 * number + 24))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def spoil(path: Path) -> None:
    """The footer is whole, the rows are not."""
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[:4] + bytes(middle - 4) + content[middle:])


def fill(root: Path, more: str = "") -> World:
    """Two files whose rows lie in all three days: the rows of one day are in one file of the lake."""
    logs = root / "logs"
    logs.mkdir()
    for parity, name in enumerate(("even", "odd")):
        lines = [f'{{"ts": "{hour(n).isoformat()}Z", "n": {n}}}\n' for n in range(parity, HOURS, 2)]
        (logs / f"{name}.jsonl").write_text("".join(lines))
    world = World(root / "home")
    world.write_config(CONFIG.format(logs=logs, more=more))
    (report,) = world.collect()
    assert (report.clean, report.counts.stored) == (True, HOURS)
    return world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return fill(tmp_path)


def harm(world: World, number: int, damage: Damage) -> Path:
    seen = snapshot(world.lake, "t")
    (name,) = [f["path"] for f in seen.files.to_pylist() if f["tp_date"] == hour(24 * number).date()]
    path = Path(seen.root.address(name))
    damage(path)
    return path


def hours(world: World) -> list[int]:
    check(world.home, "t", "p")
    return sorted(int(n) for (n,) in world.query("select n from t"))


@pytest.mark.parametrize("damage", [Path.unlink, cut, spoil])
def test_its_day_is_overwritten(world: World, damage: Damage) -> None:
    before = stored(world.home)
    harm(world, 1, damage)
    (report,) = world.collect(window=day(1), overwrite=True)
    assert (report.error, report.clean, report.counts.stored) == (None, True, 24)
    assert hours(world) == [*range(HOURS)]
    assert stored(world.home) == before


@pytest.mark.parametrize("damage", [Path.unlink, cut, spoil])
def test_its_day_is_deleted_and_comes_back(world: World, damage: Damage) -> None:
    harm(world, 1, damage)
    names = ["--home", str(world.home), "partition", "delete", "t.p", "--from", "2024-03-02", "--to", "2024-03-03"]
    done = CliRunner().invoke(cli, [*names, "--force", "--output", "json"])
    assert done.exit_code == 0, done.output
    assert hours(world) == [*range(24), *range(48, 72)]
    (report,) = world.collect(window=day(1), overwrite=True)
    assert report.clean
    assert hours(world) == [*range(HOURS)]


def test_one_after_the_other(world: World) -> None:
    """While another one is damaged, too, it cannot be told how many rows of which artifact are gone: later it can."""
    for number in (0, 1):
        harm(world, number, Path.unlink)
    for number in (0, 1):
        assert erase(world.lake, "t", "p", day(number)) >= 0
    assert hours(world) == [*range(48, 72)]


def test_statistics_tell_it_of_a_part_of_a_day(world: World) -> None:
    """Its first row is of midnight, its last of 23 o'clock."""
    harm(world, 1, Path.unlink)
    with pytest.raises(LakeError) as raised:
        erase(world.lake, "t", "p", TimeRange(hour(24), hour(47)))
    assert raised.value.code == "lake.damaged-file"
    assert "collect --overwrite" in (raised.value.hint or "")
    erase(world.lake, "t", "p", TimeRange(hour(20), hour(47.5)))
    assert hours(world) == [*range(20), *range(48, 72)]


def test_of_a_partition_without_duplicates(tmp_path: Path) -> None:
    world = fill(tmp_path, 'dedupe = ["n"]')
    (tmp_path / "logs" / "more.jsonl").write_text(f'{{"ts": "{hour(30).isoformat()}Z", "n": 30}}\n')
    (report,) = world.collect()
    assert report.counts.duplicates == 1
    harm(world, 1, Path.unlink)
    (report,) = world.collect(window=day(1), overwrite=True)
    assert report.error is None
    world.collect()
    assert hours(world) == [*range(HOURS)]


def test_what_lies_in_a_range() -> None:
    file = ActiveFile("f", 1, "p", "default", date(2024, 3, 2), 1, hour(25), hour(30))
    assert file.lies_in(day(1))
    assert file.lies_in(TimeRange())
    assert file.lies_in(TimeRange(hour(25), hour(31)))
    assert not file.lies_in(TimeRange(hour(25), hour(30))), "its last row is not in it"
    assert not file.lies_in(TimeRange(hour(26), hour(31)))
    unknown = ActiveFile("f", 1, "p", "default", date(2024, 3, 2), 1)
    assert unknown.lies_in(day(1))
    assert not unknown.lies_in(TimeRange(hour(25), hour(31)))


@pytest.mark.parametrize("damage", [cut, spoil, Path.unlink])
def test_rows_that_cannot_be_compared_are_told_with_their_file(tmp_path: Path, damage: Damage) -> None:
    """What comes is compared with what is there: DuckDB names no file, and has no remedy."""
    world = fill(tmp_path, more='dedupe = ["n"]')
    path = harm(world, 1, damage)
    again = path.read_bytes() if path.exists() else None
    (tmp_path / "logs" / "more.jsonl").write_text(f'{{"ts": "{hour(30).isoformat()}Z", "n": 30}}\n')
    (report,) = world.collect()
    assert report.error is not None
    assert (report.error.code, report.error.where) == ("lake.damaged-file", str(path))
    assert "--overwrite" in str(report.error.hint)
    assert (path.read_bytes() if path.exists() else None) == again


def test_a_room_that_is_full_while_rows_are_compared_is_named(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="No space left on device") as told, connected() as (_, folder):
        raise duckdb.IOException(f'Could not write file "{folder}/duckdb_temp_block": No space left on device')
    assert (told.value.code, told.value.where) == ("lake.io", folder)
    assert "TMPDIR" in str(told.value.hint)


def test_memory_that_does_not_suffice_is_no_damage(tmp_path: Path) -> None:
    world = fill(tmp_path)
    seen = snapshot(world.lake, "t")
    given = (seen.root, files_of(seen.files, "p"))
    with pytest.raises(LakeError, match="Out of Memory") as told, connected(given) as (con, _):
        con.execute("SET memory_limit = '1MB'; SELECT list(range) FROM range(10_000_000)")
    assert (told.value.code, told.value.where) == ("lake.memory", None)
    assert "no file is damaged" in str(told.value.hint)


@pytest.mark.parametrize("damage", [cut, Path.unlink])
def test_a_file_that_cannot_come_back_is_told(world: World, damage: Damage) -> None:
    seen = snapshot(world.lake, "t")
    path = harm(world, 1, lambda _: None)
    erase(world.lake, "t", "p", day(1))
    damage(path)
    with pytest.raises(LakeError) as told:
        restore(world.lake, "t", "p", seen.version)
    assert (told.value.code, told.value.where) == (
        "lake.damaged-file" if damage is cut else "lake.vacuumed",
        str(path),
    )
    assert told.value.hint
    assert hours(world) == [n for n in range(HOURS) if not 24 <= n < 48]
