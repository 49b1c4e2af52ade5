"""Directories that cannot be written, or are full: the home, the cache, the log. What can do without them does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from commandline import Home
from lakecheck import check, stored
from logfiles import access_lines, today, write
from mounts import fill, remount, second_view, small_disk
from world import World

from tailrace.cli.main import cli
from tailrace.core.errors import LakeError

PLACE = ("nginx_access_log", "web")
WEB = 'partition "nginx_access_log" "web" {\n source "file" { paths = ["LOGS"] }\n}\n'


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write(tmp_path / "sources" / "a.log", access_lines(today(), 40) + "bad line\n").parent


def test_the_home_cannot_be_written(home: Home, world: World, logs: Path) -> None:
    """Nothing is collected, and it is said why; what is there can be asked for as before."""
    with small_disk(home.path):
        home.configure(WEB.replace("LOGS", str(logs)))
        assert all(report.clean for report in world.collect())
        write(logs / "b.log", access_lines(today(), 10))
        before = stored(home.path)
        remount(home.path, "ro")
        done = home.run("collect")
        assert done.code == 5, done
        assert "Read-only file system" in done.err
        assert "hint: " in done.err
        assert "Traceback" not in done.err
        home.assert_no_process_is_left()
        assert stored(home.path) == before
        assert home.query("select count(*) as n from nginx_access_log") == [{"n": 40}]
        (told,) = (f for f in home.run("doctor", "--output", "json").json() if f["name"] == "home")
        assert (told["state"], f"{home.path} cannot be written" in told["detail"]) == ("error", True)
        remount(home.path, "rw")
        assert all(report.clean for report in world.collect())
        assert stored(home.path).total() == 50
        check(home.path, *PLACE)


def test_the_disk_is_full_when_rows_are_deleted_for_good(home: Home, world: World, logs: Path) -> None:
    """Even the lock does not fit on it: nothing is deleted, and it is said why."""
    command = ["--home", str(home.path), "partition", "delete", "web", "--for-good", "--force"]
    with small_disk(home.path):
        home.configure(WEB.replace("LOGS", str(logs)))
        assert all(report.clean for report in world.collect())
        before = stored(home.path)
        ballast = fill(home.path)
        refused = CliRunner().invoke(cli, command).exception
        assert isinstance(refused, LakeError)
        assert (refused.code, refused.message) == ("lake.io", "No space left on device")
        ballast.unlink()
        assert stored(home.path) == before
        assert CliRunner().invoke(cli, command).exit_code == 0
        assert stored(home.path).total() == 0


def test_doctor_tells_of_room_where_the_rows_lie(home: Home, world: World, logs: Path) -> None:
    """Data and tiers may lie on other disks than the home."""
    tier = home.path.parent / "tier"
    store = f'store "default" {{\n tier "old" {{\n path = "{tier}"\n max_age = "90d"\n}}\n}}\n'
    with small_disk(home.path / "data") as data, small_disk(tier):
        home.configure(store + WEB.replace("LOGS", str(logs)))
        assert all(report.clean for report in world.collect())
        found = {f["name"]: f for f in home.run("doctor", "--output", "json").json()}
        assert "holds 1 table, 0.0 GB free" in found["lake"]["detail"]
        for name in ("lake", "tier default.old"):
            assert (found[name]["state"], found[name]["hint"]) == ("warning", "make some space")
        assert found["home"]["state"] == "ok"
        remount(data, "ro")
        found = {f["name"]: f for f in home.run("doctor", "--output", "json").json()}
        assert found["lake"]["state"] == "error"
        assert f"{data}/default cannot be written" in found["lake"]["detail"]


def assert_collected(home: Home, **env: str) -> None:
    """All that there is, and not a word about what was missing."""
    done = home.run("collect", "--output", "json", **env)
    assert (done.code, done.err) == (0, ""), done
    (report,) = done.json()["partitions"]
    assert (report["rows"]["stored"], report["rows"]["quarantined"]) == (40, 1)
    home.assert_no_process_is_left()
    check(home.path, *PLACE)


def test_neither_cache_nor_log_nor_the_users_home_can_be_written(home: Home, logs: Path, tmp_path: Path) -> None:
    """Classes are taken from a cache that others have filled; the log goes to a file that nobody keeps."""
    home.configure(WEB.replace("LOGS", str(logs)))
    cache, user = Path(home.env["TAILRACE_CACHE_DIR"]), tmp_path / "user"
    user.mkdir()
    (home.path / "logs").mkdir()
    with (
        second_view(tmp_path / "cache", cache) as shared,
        second_view(user, user) as own,
        second_view(home.path / "logs", home.path / "logs"),
    ):
        assert_collected(home, TAILRACE_CACHE_DIR=str(shared), HOME=str(own), TAILRACE_ARCHIVE="on")
    assert not list((home.path / "logs").iterdir())


@pytest.mark.slow
def test_cache_and_log_are_full(home: Home, logs: Path, tmp_path: Path) -> None:
    home.configure(WEB.replace("LOGS", str(logs)))
    with small_disk(tmp_path / "cache", "64k") as cache, small_disk(home.path / "logs", "64k") as log:
        for place in (cache, log):
            fill(place)
        assert_collected(home, TAILRACE_CACHE_DIR=str(cache), TAILRACE_ARCHIVE="on")


def test_a_log_that_cannot_be_kept_is_told_from_all_the_same(home: Home, logs: Path, tmp_path: Path) -> None:
    """A Java that does not start: what it said is shown, but no file that nobody has kept is named."""
    home.configure(WEB.replace("LOGS", str(logs)))
    write(tmp_path / "java" / "release", 'JAVA_VERSION="17.0.1"\nMODULES="java.base"\n')
    script = write(tmp_path / "java" / "bin" / "java", "#!/bin/sh\necho no such luck >&2; exit 1\n")
    script.chmod(0o755)
    with small_disk(home.path / "logs", "64k") as log:
        fill(log)
        done = home.run("collect", "--output", "json", JAVA_HOME=str(tmp_path / "java"))
    assert done.code == 5, done
    told = json.loads(done.out)
    assert (told["error"]["code"], told["partitions"]) == ("spark.start", [])
    assert told["error"]["message"].endswith("no such luck")
    assert "spark.log" not in done.err
