"""Small files of a lake in a bucket are merged there, and leases say who is at work."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from lakecheck import check, stored
from logfiles import access_lines, write
from remotelake import BUCKET, MotoProcess, bucket_place, moto_process
from world import World

from tailrace.lake.compacting import APART
from tailrace.lake.lock import partition_lock
from tailrace.lake.snapshot import snapshot

WEB = ("nginx_access_log", "web")
CONFIG = 'partition "nginx_access_log" "web" {{\n {}\n source "file" {{ paths = ["{}"] }}\n}}'


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MotoProcess]:
    with moto_process(tmp_path_factory.mktemp("moto") / "log", BUCKET) as server:
        yield server


@pytest.fixture
def world(moto: MotoProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Two days, each in three files."""
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    world = World(tmp_path / "home", elsewhere=bucket_place(moto.url, tmp_path.name))
    world.write_config(CONFIG.format("", tmp_path / "logs"))
    for number in range(3):
        for day in (1, 2):
            write(tmp_path / "logs" / f"{day}-{number}.log", access_lines(date(2024, 5, day), 20))
        assert all(report.clean for report in world.collect())
    return world


def test_the_same_rows_in_fewer_files(world: World, tmp_path: Path) -> None:
    before = stored(world.lake)
    (report,) = world.compact()
    assert (report.clean, report.files_before, report.files_after) == (True, 6, 2)
    assert stored(world.lake) == before
    check(world.lake, *WEB)
    assert world.compact() == []
    world.write_config(CONFIG.format('tp_index = "status"', tmp_path / "logs"))
    (report,) = world.reindex()
    assert (report.clean, report.files_before, report.files_after) == (True, 2, 4)
    assert stored(world.lake) == before
    assert world.query("select count(*), count(distinct tp_index) from nginx_access_log") == [(120, 2)]
    check(world.lake, *WEB)
    assert not world.lake.meta(APART, *WEB).names()


def test_who_is_at_work_is_known_by_leases(world: World) -> None:
    with partition_lock(world.lake, *WEB, "tailrace compact", of=APART):
        (report,) = world.compact()
        assert report.error is not None
        assert report.error.code == "lake.locked"
        assert all(done.clean for done in world.collect()), "a collection does not mind"
    with partition_lock(world.lake, *WEB, "tailrace collect"):
        (report,) = world.compact(patience=0.0)
        assert [trouble.code for trouble in report.troubles] == ["lake.locked"]
    assert snapshot(world.lake, WEB[0]).files.num_rows == 6
    assert [done.files_after for done in world.compact()] == [2]
