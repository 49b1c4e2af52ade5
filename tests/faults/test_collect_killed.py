"""A whole collection, killed at every step of the commit protocol; the next one makes it whole.

Nearly all of them without a JVM: what Spark adds are processes that have to go as well.
"""

from __future__ import annotations

import json
import shutil
import signal
from datetime import timedelta
from pathlib import Path

import pytest
from collectonce import started
from commandline import Home, ended, is_stopped, killed_afterwards, wait_for
from lakecheck import Rows, check, stored
from logfiles import CLOUDTRAIL_LAYOUT, access_lines, cloudtrail, today, write
from world import World

from tailrace.lake.lock import LockedError
from tailrace.lake.paths import Lake
from tailrace.lake.runs import LATE_WRITERS
from tailrace.lake.steps import MERGING, STEPS

DAYS = [today() - timedelta(days=n) for n in (1, 2)]
PARTITIONS = [("aws_cloudtrail_log", "trail"), ("nginx_access_log", "web")]
RECOVERY = [s for s in STEPS if s.startswith("recovery-")]
COLLECTING = [s for s in STEPS if s not in {*RECOVERY, *MERGING, "fold-written", "replayed"}]
CONFIG = """
partition "aws_cloudtrail_log" "trail" {
  dedupe = ["event_id"]
  source "file" {
    paths       = ["LOGS/aws"]
    file_layout = `LAYOUT`
  }
}
partition "nginx_access_log" "web" {
  source "file" { paths = ["LOGS/web"] }
}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two partitions over a few small files, some lines of which are bad; events of the first are delivered twice."""
    logs = tmp_path_factory.mktemp("logs")
    for day in DAYS:
        for name in "ab":
            cloudtrail(logs / "aws", day, 20, name)
        first = cloudtrail(logs / "aws", day, 20, "a")
        shutil.copy(first, first.with_name(first.name.replace("_a.", "_again.")))
        write(logs / "web" / f"{day}.log", access_lines(day, 30) + "bad line\n")
    return CONFIG.replace("LOGS", str(logs)).replace("LAYOUT", CLOUDTRAIL_LAYOUT)


@pytest.fixture
def home(home: Home, config: str) -> Home:
    home.configure(config)
    return home


@pytest.fixture(scope="module")
def undisturbed(config: str, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    other = World(tmp_path_factory.mktemp("undisturbed"))
    other.write_config(config)
    assert all(report.clean for report in other.collect())
    rows = stored(other.home)
    assert rows.total() == len(rows) == 2 * 2 * 20 + 2 * 30
    return rows


def assert_whole(home: Home, undisturbed: Rows) -> None:
    assert stored(home.path) == undisturbed
    for table, partition in PARTITIONS:
        check(home.path, table, partition)


def collect_the_rest(world, undisturbed: Rows, home: Home) -> None:
    assert all(report.clean for report in world.collect())
    assert_whole(home, undisturbed)


def killed(home: Path, step: str) -> None:
    done = ended(started(home, TAILRACE_KILL_AT=step))
    assert done.code == -signal.SIGKILL, done


def killed_with_spark(home: Home, step: str) -> None:
    done = home.run("collect", TAILRACE_KILL_AT=step)
    assert done.code == -signal.SIGKILL, done
    home.assert_no_process_is_left()


@pytest.mark.parametrize("step", [*COLLECTING, "segment-written:2", "committed:2"])
def test_killed_while_collecting(home, world, undisturbed, step):
    killed(home.path, step)
    before = stored(home.path)
    assert before <= undisturbed, "what was committed is whole, the rest invisible"
    collect_the_rest(world, undisturbed, home)


@pytest.mark.parametrize("step", ["duplicates-dropped", "segment-written:2", "committed"])
def test_killed_with_all_its_processes(home, world, undisturbed, step):
    killed_with_spark(home, step)
    before = stored(home.path)
    assert before <= undisturbed, "what was committed is whole, the rest invisible"
    collect_the_rest(world, undisturbed, home)


@pytest.fixture(scope="module")
def wreck(tmp_path_factory: pytest.TempPathFactory, class_archive: dict[str, str], config: str) -> Path:
    """A home whose collect died with an intent declared and no commit made."""
    home = Home(tmp_path_factory.mktemp("wreck"), class_archive)
    home.configure(config)
    killed_with_spark(home, "segment-written")
    return home.path


@pytest.mark.parametrize("step", RECOVERY)
def test_killed_while_recovering(home, wreck, world, undisturbed, step):
    shutil.copytree(wreck, home.path, dirs_exist_ok=True)
    killed(home.path, step)
    collect_the_rest(world, undisturbed, home)


def test_a_dead_run_is_forgotten_in_time(home, wreck, world, undisturbed):
    shutil.copytree(wreck, home.path, dirs_exist_ok=True)
    collect_the_rest(world, undisturbed, home)
    manifests = list((Lake(home.path).meta_root.path / "runs").rglob("*.json"))
    assert manifests, "tasks of the dead run may still be writing"
    for manifest in manifests:
        content = json.loads(manifest.read_text())
        manifest.write_text(json.dumps(content | {"swept": content["swept"] - LATE_WRITERS - 1}))
    collect_the_rest(world, undisturbed, home)
    assert not list((Lake(home.path).meta_root.path / "runs").rglob("*.json"))


@pytest.mark.parametrize("step", ["manifest-written", "segment-written"])
def test_a_sleeper_that_was_recovered_over_loses(home, world, undisturbed, step):
    """Stopped before its commit, its locks taken away, woken when another has done the work."""
    with killed_afterwards(home.start("collect", TAILRACE_STOP_AT=step)) as sleeper:
        wait_for(lambda: is_stopped(sleeper))
        for lock in (Lake(home.path).meta_root.path / "locks").rglob("lock"):
            lock.unlink()
        collect_the_rest(world, undisturbed, home)
        sleeper.send_signal(signal.SIGCONT)
        done = ended(sleeper)
    assert done.code == 5, done
    assert "lake.lost-race" in done.err
    assert "run the command again" in done.err
    assert "Traceback" not in done.err
    home.assert_no_process_is_left()
    assert_whole(home, undisturbed)


def test_the_second_is_told_who_holds_the_lock(home, world, undisturbed):
    with killed_afterwards(home.start("collect", "web", TAILRACE_STOP_AT="manifest-written")) as first:
        wait_for(lambda: is_stopped(first))
        second = home.run("collect", "*.web")
        assert second.code == 6, second
        assert f"process {first.pid} on " in second.err
        assert "`tailrace collect web`" in second.err
        (trail, web) = world.collect()
        assert trail.clean, "the lock is on one partition, not on the lake"
        assert isinstance(web.error, LockedError)
        first.send_signal(signal.SIGCONT)
        assert ended(first).code == 0
    assert_whole(home, undisturbed)


def test_two_partitions_of_one_table_at_once(home, config):
    """Two commands, two JVMs."""
    second = config.replace('"nginx_access_log" "web"', '"nginx_access_log" "other"')
    home.configure(config + second[second.index('partition "nginx') :])
    with (
        killed_afterwards(home.start("collect", "web")) as one,
        killed_afterwards(home.start("collect", "other")) as two,
    ):
        results = [ended(one), ended(two)]
    assert [done.code for done in results] == [0, 0], results
    for partition in ("web", "other"):
        check(home.path, "nginx_access_log", partition)
    assert stored(home.path).total() == 2 * 60
