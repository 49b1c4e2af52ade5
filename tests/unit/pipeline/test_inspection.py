"""What `doctor` finds in a lake that was tampered with, and whether the remedies work."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import forked
import partitionchange
import pytest
from click.testing import CliRunner
from lakecheck import check, stored
from logfiles import write
from twolakes import PLACE, made_in
from world import World

from tailrace.cli.main import cli
from tailrace.core import TimeRange
from tailrace.core.errors import LakeError
from tailrace.lake.snapshot import snapshot


@pytest.fixture
def world(tmp_path: Path) -> World:
    return made_in(tmp_path)


def findings(world: World, *more: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(cli, ["--home", str(world.home), "doctor", "--output", "json", *more])
    found = [each for each in json.loads(done.stdout) if each["name"].startswith(PLACE[0])]
    errors = [each for each in found if each["state"] == "error"]
    assert bool(errors) == bool(done.exit_code)
    assert all(each["hint"] for each in errors), "each has a remedy"
    return errors


def files(world: World) -> list[Path]:
    """Newest day last."""
    rows = snapshot(world.lake, PLACE[0]).files.select(["path", "tp_date"]).to_pylist()
    root = Path(str(world.lake.table_root(PLACE[0])))
    return [root / row["path"] for row in sorted(rows, key=lambda row: row["tp_date"])]


def log(world: World) -> Path:
    return Path(str(world.lake.table_root(PLACE[0]))) / "_delta_log"


def test_a_sound_lake(world: World) -> None:
    assert findings(world) == []
    assert findings(world, "--deep") == []


def test_cut_off(world: World) -> None:
    before = stored(world.home)
    path = files(world)[0]
    path.write_bytes(path.read_bytes()[:-50])
    (error,) = findings(world)
    assert str(path) in error["detail"]
    assert "bytes, and the log says" in error["detail"]
    world.collect(window=TimeRange(datetime(2024, 5, 1), datetime(2024, 5, 2)), overwrite=True)
    assert findings(world) == []
    assert stored(world.home) == before


def test_filled_with_something_else(world: World) -> None:
    path = files(world)[0]
    path.write_bytes(b"x" * path.stat().st_size)
    (error,) = findings(world)
    assert "no Parquet file" in error["detail"]


def test_missing(world: World) -> None:
    files(world)[0].unlink()
    (error,) = findings(world)
    assert "missing" in error["detail"]


def test_exchanged_for_another_day(world: World) -> None:
    """Of the same size it is found out by reading alone."""
    first, second, *_ = files(world)
    bytes_of = first.read_bytes(), second.read_bytes()
    first.write_bytes(bytes_of[1])
    second.write_bytes(bytes_of[0])
    told = findings(world, "--deep")
    assert len(told) == 2
    if len(bytes_of[0]) == len(bytes_of[1]):
        assert findings(world) == []
        assert all("the file is another" in each["detail"] for each in told)


def test_pages_that_cannot_be_read(world: World) -> None:
    path = files(world)[0]
    data = bytearray(path.read_bytes())
    data[40:400] = bytes(360)
    path.write_bytes(data)
    assert findings(world) == []
    assert len(findings(world, "--deep")) == 1


def test_a_lost_commit(world: World) -> None:
    """Without a backup the next collection stores the same rows again."""
    before = stored(world.home)
    last = max(log(world).glob("*.json"))
    kept = last.read_bytes()
    last.unlink()
    (error,) = findings(world)
    assert "a commit is gone" in error["detail"]
    last.write_bytes(kept)
    assert findings(world) == []
    last.unlink()
    assert all(report.clean for report in world.collect())
    assert findings(world) == []
    assert stored(world.home) == before
    check(world.home, *PLACE)


def test_a_run_that_was_killed_has_lost_no_commit(world: World) -> None:
    process = forked.started(partitionchange.__file__, str(world.home), "delete", TAILRACE_KILL_AT="segment-written")
    assert process.wait(60) == -signal.SIGKILL
    assert findings(world) == []


def test_a_lost_log(world: World) -> None:
    """Nothing goes on from a ledger without one; put away, everything is collected anew."""
    before = stored(world.home)
    shutil.move(log(world), world.home / "log")
    (error,) = findings(world)
    assert "Delta log is gone" in error["detail"]
    (report,) = world.collect()
    assert isinstance(report.error, LakeError)
    assert report.error.code == "lake.lost-log"
    assert len(list(log(world).parent.rglob("*.parquet"))) == 4, "nothing was deleted"
    shutil.move(world.home / "log", log(world))
    assert findings(world) == []
    assert stored(world.home) == before
    shutil.rmtree(log(world).parent)
    shutil.rmtree(world.home / "meta" / "default" / "ledger" / PLACE[0])
    assert all(each.clean for each in world.collect())
    assert stored(world.home) == before


@pytest.mark.parametrize("content", [b"", b"junk"])
def test_a_manifest_that_cannot_be_read(world: World, content: bytes) -> None:
    """It is told, and whatever changes the partition next clears up after its run."""
    before = stored(world.home)
    process = forked.started(partitionchange.__file__, str(world.home), "delete", TAILRACE_KILL_AT="segment-written")
    assert process.wait(60) == -signal.SIGKILL
    directory = world.home / "meta" / "default" / "runs" / PLACE[0] / PLACE[1]
    (manifest,) = directory.iterdir()
    manifest.write_bytes(content)
    (error,) = findings(world)
    assert str(manifest) in error["detail"]
    delete = ("partition", "delete", ".".join(PLACE), "--from", "1999-01-01", "--to", "1999-01-02", "--force")
    for command in (("maintain",), delete):
        done = CliRunner().invoke(cli, ["--home", str(world.home), *command])
        assert done.exit_code == 0, done.output
    assert all(report.clean for report in world.collect())
    assert findings(world) == []
    assert stored(world.home) == before
    check(world.home, *PLACE)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def spoil(path: Path) -> None:
    """The footer is whole, what is before it is not."""
    data = bytearray(path.read_bytes())
    data[4:60] = bytes(56)
    path.write_bytes(data)


@pytest.mark.parametrize(("damage", "more"), [(Path.unlink, ()), (cut, ()), (spoil, ("--deep",))])
def test_a_quarantine_file(world: World, tmp_path: Path, damage: Callable[[Path], None], more: tuple[str, ...]) -> None:
    write(tmp_path / "logs" / "more.log", "no record\n")
    world.collect()
    assert findings(world, "--deep") == []
    (path,) = (world.home / "meta" / "default" / "quarantine" / PLACE[0] / PLACE[1]).iterdir()
    damage(path)
    (error,) = findings(world, *more)
    assert str(path) in error["detail"]
    assert len(findings(world, "--deep")) == 1


def test_which_lake_it_is(world: World) -> None:
    done = CliRunner().invoke(cli, ["--home", str(world.home), "doctor", "--output", "json"])
    (told,) = [each["detail"] for each in json.loads(done.stdout) if each["name"] == "lake"]
    assert told.startswith(f"{world.lake.data_root} holds 1 table, ")
