"""What is due: days past their retention, files that no version needs, records, checkpoints."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from lakecheck import check, stored
from logfiles import access_lines, write
from world import World

from tailrace.config.retention import retention_of
from tailrace.core import LockedError, TimeRange
from tailrace.lake.damage import LOG
from tailrace.lake.deleted import deleted
from tailrace.lake.intents import read_ledger
from tailrace.lake.lock import partition_lock
from tailrace.lake.log import logged
from tailrace.lake.place import LocalPlace
from tailrace.lake.quarantine import read_quarantine
from tailrace.lake.runs import manifests, new_manifest, write_manifest
from tailrace.lake.snapshot import snapshot, snapshot_at
from tailrace.lake.undo import erase, history, restore
from tailrace.lake.upkeep import EVERY, Chore, carry_out, due, is_time, note_time
from tailrace.lake.vacuum import Vacuum

PLACE = ("nginx_access_log", "web")
FIRST = date(2024, 5, 1)
DAYS = 4
ROWS = 24
MONTH = timedelta(days=31)


def now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Four days in a file each, with a line that cannot be read in the first."""
    made = World(tmp_path / "home")
    made.write_config(f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{tmp_path}/logs"] }}\n}}')
    for number in range(DAYS):
        day = FIRST + timedelta(days=number)
        write(tmp_path / "logs" / f"{day}.log", access_lines(day, ROWS) + ("bad\n" if not number else ""))
    assert all(report.clean for report in made.collect())
    return made


def chores(world: World, before: date | None = None, at: datetime | None = None) -> list[Chore]:
    return [*due(world.lake, PLACE[0], [PLACE[1]], lambda _: before, at or now())]


def do(world: World, before: date | None = None, at: datetime | None = None) -> list[Chore]:
    at = at or now()
    return [carry_out(world.lake, chore, "test", at) for chore in chores(world, before, at)]


def days(world: World) -> list[date]:
    return [day for (day,) in world.query("select distinct tp_date from nginx_access_log order by 1")]


def test_days_past_their_retention_expire_and_stay_away(world: World, tmp_path: Path) -> None:
    before = FIRST + timedelta(days=2)
    (expire,) = chores(world, before)
    assert (expire.action, expire.days, expire.rows, expire.first, expire.last) == (
        "expire", 2, 2 * ROWS, FIRST, FIRST + timedelta(days=1),
    )  # fmt: skip
    assert len(days(world)) == DAYS, "nobody has done it"
    do(world, before)
    assert days(world) == [before, before + timedelta(days=1)]
    check(world.home, *PLACE)
    assert history(world.lake, *PLACE)[0].kind == "expire"
    assert chores(world, before) == []
    log = tmp_path / "logs" / f"{FIRST}.log"
    log.write_text(access_lines(FIRST, ROWS + 1))
    os.utime(log, (2e9, 2e9))
    assert all(report.counts.stored == 0 for report in world.collect())
    assert days(world)[0] == before
    assert deleted(read_ledger(world.lake, *PLACE).notes) == (TimeRange(None, datetime(2024, 5, 3)),)


def test_they_can_be_restored_until_their_files_are_vacuumed(world: World) -> None:
    before = stored(world.home)
    version = history(world.lake, *PLACE)[0].version
    do(world, FIRST + timedelta(days=2))
    assert do(world, at=now() + timedelta(days=29)) == []
    restore(world.lake, *PLACE, version)
    assert stored(world.home) == before
    check(world.home, *PLACE)


def test_files_go_when_no_version_needs_them_that_can_be_seen(world: World) -> None:
    erase(world.lake, *PLACE, TimeRange(datetime(2024, 5, 1, 12), datetime(2024, 5, 3, 12)))
    left = stored(world.home)
    files = {*snapshot(world.lake, PLACE[0]).files.column("path").to_pylist()}
    root = world.lake.table_root(PLACE[0])
    on_disk = {path for path in root.walk() if path.endswith(".parquet") and "_delta_log" not in path}
    assert len(on_disk - files) == 3
    (vacuum,) = do(world, at=now() + MONTH)
    assert (vacuum.action, vacuum.files) == ("vacuum", 3)
    assert vacuum.bytes > 0
    assert {path for path in root.walk() if path.endswith(".parquet") and "_delta_log" not in path} == files
    assert stored(world.home) == left
    assert do(world, at=now() + MONTH) == []


def test_only_files_of_ours_and_of_runs_that_have_ended(world: World) -> None:
    root = world.lake.table_root(PLACE[0]).path
    folder = next(root.glob("tp_partition=web/tp_index=*/tp_date=2024-05-01"))
    run = "2024050112000000000012345abcde"
    (folder / f"{run}-0.parquet").write_bytes(b"orphan")
    (folder / "notes.parquet").write_bytes(b"somebody's own")
    manifests = world.lake.meta("runs", *PLACE)
    write_manifest(manifests, new_manifest(run, 0))
    assert do(world) == []
    manifests.clear()
    (vacuum,) = do(world)
    assert vacuum.files == 1
    assert not (folder / f"{run}-0.parquet").exists()
    assert (folder / "notes.parquet").exists()


def test_old_records_leave_the_quarantine(world: World) -> None:
    assert read_quarantine(world.lake, *PLACE).num_rows == 1
    tomorrow = (now() + timedelta(days=1)).date()
    assert {chore.action for chore in do(world, tomorrow)} == {"expire", "purge"}
    assert read_quarantine(world.lake, *PLACE).num_rows == 0
    place = world.lake.meta("quarantine", *PLACE)
    assert len(place.names()) == 1, "it can be restored"
    do(world, at=now() + MONTH)
    assert place.names() == []


def test_quarantine_files_are_kept_as_long_as_versions_name_them(world: World) -> None:
    version = history(world.lake, *PLACE)[0].version
    erase(world.lake, *PLACE, TimeRange())
    assert do(world, at=now() + timedelta(days=29)) == []
    restore(world.lake, *PLACE, version)
    assert read_quarantine(world.lake, *PLACE).num_rows == 1


def test_a_log_gets_a_checkpoint(world: World, tmp_path: Path) -> None:
    for number in range(10):
        write(tmp_path / "logs" / "more.log", access_lines(FIRST, number + 1))
        world.collect()
    (chore,) = do(world)
    assert chore.action == "checkpoint"
    assert chore.files >= 10
    log = world.lake.table_root(PLACE[0]) / "_delta_log"
    assert log.holds(".checkpoint.parquet")
    assert do(world) == []
    seen = snapshot_at(world.lake, PLACE[0], history(world.lake, *PLACE)[-1].version)
    assert seen is not None
    assert seen.files.num_rows == DAYS, "earlier versions are still there"


def test_somebody_at_work_is_not_disturbed(world: World) -> None:
    (chore,) = chores(world, FIRST + timedelta(days=1))
    with partition_lock(world.lake, *PLACE, "collect"), pytest.raises(LockedError):
        carry_out(world.lake, chore, "test", now())
    assert len(days(world)) == DAYS


def test_a_version_that_held_when_the_time_began_is_kept(world: World) -> None:
    """A file removed within the time may be needed by a version that is older than that, and still held."""
    erase(world.lake, *PLACE, TimeRange(None, datetime(2024, 5, 2)))
    just = now() + timedelta(days=30) - timedelta(minutes=1)
    assert Vacuum(world.lake, PLACE[0], just).waste(PLACE[1]).files == ()


def test_once_a_day(world: World) -> None:
    moment = now()
    assert not is_time(world.lake, *PLACE, moment), "the first time there is nothing to look after"
    assert not is_time(world.lake, *PLACE, moment + EVERY / 2)
    assert is_time(world.lake, *PLACE, moment + EVERY)
    note_time(world.lake, *PLACE, moment + EVERY)
    assert not is_time(world.lake, *PLACE, moment + EVERY)


RETENTIONS = """
workspace "default" {{ retention = "50d" }}
store "default" {{ {store} }}
store "short" {{ retention = "3d" }}
table "nginx_access_log" {{ {table} }}
partition "nginx_access_log" "web" {{
  {partition}
  source "file" {{ paths = ["/x"] }}
}}
"""


@pytest.mark.parametrize(
    ("store", "table", "partition", "meant", "said_by"),
    [
        ("", "", "", 50, "workspace default"),
        ('retention = "40d"', "", "", 40, "store default"),
        ('retention = "40d"', 'retention = "30d"', "", 30, "table nginx_access_log"),
        ('retention = "40d"', 'retention = "30d"', 'retention = "20d"', 20, "partition nginx_access_log.web"),
        ('retention = "40d"', "", "store = store.short", 3, "store short"),
    ],
)
def test_the_nearest_retention_holds(
    tmp_path: Path, store: str, table: str, partition: str, meant: int, said_by: str
) -> None:
    made = World(tmp_path)
    made.write_config(RETENTIONS.format(store=store, table=table, partition=partition))
    found = retention_of(made.config(), "default", "nginx_access_log", "web")
    assert found is not None
    assert (found.span, found.said_by) == (timedelta(days=meant), said_by)
    assert found.first_day(datetime(2024, 5, 1, 12)) == date(2024, 5, 1) - timedelta(days=meant)
    orphan = retention_of(made.config(), "default", "syslog", "old")
    assert orphan is not None
    assert orphan.span == timedelta(days=50 if not store else 40)
    assert retention_of(made.config(), "other", "syslog", "old") is None or store


def test_what_ends_between_two_looks_is_no_trouble(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever only looks holds no lock: runs take their manifests away, and checkpoints commits that are too old."""
    names = LocalPlace.names

    def with_gone_ones(place: LocalPlace, after: str = "") -> list[str]:
        kind = Path(place.directory).parts
        gone = ["gone.json"] if "runs" in kind else [f"{0:020d}.json"] if kind[-1] == LOG else []
        return sorted({*names(place, after), *gone})

    Path(world.lake.table_root(PLACE[0]).address(f"{LOG}/{0:020d}.json")).rename(world.home / "kept")
    monkeypatch.setattr(LocalPlace, "names", with_gone_ones)
    assert manifests(world.lake.meta("runs", *PLACE)) == []
    versions = [commit.version for commit in logged(world.lake.table_root(PLACE[0]))]
    assert versions
    assert 0 not in versions
