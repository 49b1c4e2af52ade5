"""`partition delete --for-good`: nothing of the rows is left, whoever else wrote or kept them."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from bytesleft import holding
from click.testing import CliRunner, Result
from logfiles import access_lines, today, write
from world import World

from tailrace.cli.main import cli
from tailrace.core.directories import cache_directory
from tailrace.lake import kept_snapshot
from tailrace.lake.cache import Cache
from tailrace.lake.compacting import APART
from tailrace.lake.lock import partition_lock
from tailrace.lake.runs import new_manifest, new_run_id, write_manifest

PLACE = ("nginx_access_log", "p")
ROWS = 24
DAYS = 2


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    made = World(tmp_path / "home")
    made.write_config(f'partition "nginx_access_log" "p" {{\n source "file" {{ paths = ["{tmp_path}/logs"] }}\n}}')
    for back in range(DAYS):
        write(tmp_path / "logs" / f"{back}.log", access_lines(today() - timedelta(days=back), ROWS))
    assert all(report.clean for report in made.collect())
    return made


def deleted(world: World) -> Result:
    command = ["partition", "delete", "p", "--where", "remote_user = 'user2'", "--for-good", "--force"]
    return CliRunner().invoke(cli, ["--home", str(world.home), *command])


def count(world: World) -> int:
    return world.query("select count(*) from nginx_access_log")[0][0]


def test_what_a_dead_compaction_has_written(world: World) -> None:
    run = new_run_id()
    write_manifest(world.lake.meta(APART, *PLACE), new_manifest(run, 0))
    some = next((world.home / "data").rglob("tp_date=*/*.parquet"))
    shutil.copy(some, some.with_name(f"{run}-1-0.parquet"))
    assert deleted(world).exit_code == 0
    assert holding(world.home, "user2") == []
    assert count(world) == DAYS * ROWS * 2 // 3


def test_a_compaction_that_is_at_work_is_in_the_way(world: World) -> None:
    """It has read the rows, and may be writing them."""
    with partition_lock(world.lake, *PLACE, "tailrace compact", of=APART):
        refused = deleted(world)
    assert getattr(refused.exception, "code", None) == "lake.locked"
    assert count(world) == DAYS * ROWS, "nothing is half done"
    assert deleted(world).exit_code == 0


def test_what_queries_have_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_snapshot, "KEEP_FROM", 1)
    kept_snapshot.kept_snapshot(world.lake, PLACE[0])
    kept = [*(cache_directory() / "snapshots").iterdir()]
    assert [b"user2" in file.read_bytes() for file in kept] == [True], "the greatest value of a column"
    assert deleted(world).exit_code == 0
    assert not any(file.exists() for file in kept)


def test_a_cache_that_is_thrown_out(world: World, tmp_path: Path) -> None:
    (name,) = [*world.lake.table_root(PLACE[0]).walk()][-1:]
    cache = Cache(10**9)
    (held,) = cache.at_hand(world.lake.table_root(PLACE[0]), [(name, None)])
    pool = cache_directory() / "lake" / "files"
    assert [file.name for file in pool.glob("*-*")] == [Path(held).name]
    Cache(10**9).clear()
    assert [*pool.glob("*-*")] == []
    assert Path(held).exists(), "who reads it now goes on"
    Cache(10**9, tmp_path / "none").clear()


def test_records_that_cannot_be_put_to_a_condition_are_told(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "bad.log", "user2 did something\n")
    world.collect()
    done = deleted(world)
    assert done.exit_code == 0
    assert "nginx_access_log.p keeps 1 quarantined record as read" in done.stderr
