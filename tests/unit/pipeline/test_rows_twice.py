"""Rows that are stored twice, as pushes of earlier versions could leave them: how they are found, and how they go."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from lakecheck import check, stored
from twolakes import DAYS, PLACE, ROWS, asked, hand, made_in, other, rows_of
from world import World

from tailrace.cli.main import cli
from tailrace.core import TimeRange
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.files import DataFile
from tailrace.lake.ledger import keys
from tailrace.lake.lock import partition_lock
from tailrace.lake.logged_stats import stats_of
from tailrace.lake.removal import entries_of
from tailrace.lake.runs import new_run_id
from tailrace.lake.snapshot import files_of, snapshot
from tailrace.lake.types import schema_fingerprint
from tailrace.lake.undo import history

DAY = DAYS[1]
TWICE = """
select tp_partition, tp_date, count(*) - count(distinct tp_id) as twice
from nginx_access_log group by all having twice > 0
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    """One of its days is in two files, which the ledger counts as well; `good` has it once."""
    world = made_in(tmp_path)
    hand("push", world.lake, other(tmp_path / "good"))
    seen = snapshot(world.lake, PLACE[0])
    (file,) = (file for file in files_of(seen.files, PLACE[1]) if file.day == DAY)
    (row,) = (row for row in seen.files.to_pylist() if row["path"] == file.path)
    with partition_lock(world.lake, *PLACE, "tailrace push"):
        writer = PartitionWriter(world.lake, *PLACE, new_run_id(), seen.schema)
        writer.recover()
        path = f"{file.path.rpartition('/')[0]}/{writer.run}-twice.parquet"
        shutil.copy(seen.root.address(file.path), seen.root.address(path))
        told = (stats_of(row), schema_fingerprint(seen.schema), row["modified"])
        copy = DataFile(path, file.size, file.partition, file.index, file.day, file.rows, *told)
        concerned = entries_of(writer.ledger(), set(keys(writer.ledger().of_days(DAY, DAY)).to_pylist()))
        writer.commit(Change([replace(entry, rows=entry.rows + ROWS) for entry in concerned], [copy], kind="push"))
        writer.finish()
    assert asked(world.lake, TWICE) == [(PLACE[1], DAY, ROWS)]
    return world


def test_the_day_is_collected_again(world: World, tmp_path: Path) -> None:
    midnight = datetime.combine(DAY, datetime.min.time())
    (report,) = world.collect(window=TimeRange(midnight, midnight + timedelta(days=1)), overwrite=True)
    assert report.clean, report.troubles
    assert not asked(world.lake, TWICE)
    assert stored(world.lake) == stored(other(tmp_path / "good"))
    check(world.lake, *PLACE)


def test_the_day_is_deleted_and_pulled_from_a_lake_that_has_it_once(world: World, tmp_path: Path) -> None:
    day = ("--from", f"{DAY}", "--to", f"{DAY + timedelta(days=1)}")
    run(world, "partition", "delete", "web", *day, "--force")
    run(world, "pull", "web", *day, "--lake", str(tmp_path / "good"), "--overwrite")
    assert_as_good(world, tmp_path)


def test_what_brought_them_is_undone(world: World, tmp_path: Path) -> None:
    before = history(world.lake, *PLACE)[1].version
    run(world, "partition", "restore", "web", "--at", str(before))
    assert_as_good(world, tmp_path)


def run(world: World, *command: str) -> None:
    done = CliRunner().invoke(cli, ["--home", str(world.home), *command], catch_exceptions=False)
    assert done.exit_code == 0, done.output


def assert_as_good(world: World, tmp_path: Path) -> None:
    assert rows_of(world.lake) == rows_of(other(tmp_path / "good"))
    check(world.lake, *PLACE)
