"""Ctrl-C and SIGTERM at any moment: soon over, what is whole is stored, the rest is undone, the next run completes."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import date

import pytest
from commandline import Finished, Home, ended, is_stopped, killed_afterwards, wait_for
from deafserver import Deaf, deaf_server
from lakecheck import check, stored
from logfiles import access_lines, write
from world import World

from tailrace.cli.interrupts import PATIENCE
from tailrace.lake.lock import partition_lock

DAY = date(2024, 5, 1)
WEB = """
partition "nginx_access_log" "web" {
  source "file" { paths = ["LOGS/*.log"] }
}
"""
LISTED = """
connection "aws" "deaf" {
  endpoint_url        = "URL"
  access_key          = "AKIDTEST"
  secret_key          = "never-shown-anywhere"
  region              = "us-east-1"
  s3_force_path_style = true
}
partition "aws_cloudtrail_log" "slow" {
  source "aws_s3_bucket" {
    connection = connection.aws.deaf
    bucket     = "trails"
  }
}
"""
READ = """
partition "syslog" "slow" {
  source "http" { url = "URL/events" }
}
"""


@pytest.fixture
def deaf() -> Iterator[Deaf]:
    with deaf_server() as server:
        yield server


def collect(home: Home, tmp_path, rows: int, more: str = "", **env: str) -> subprocess.Popen[str]:
    write(tmp_path / "logs" / "a.log", access_lines(DAY, rows) + "no access line\n")
    home.configure(WEB.replace("LOGS", str(tmp_path / "logs")) + more)
    return home.start("collect", "--output", "json", **env)


def interrupted(process: subprocess.Popen[str], *signals: signal.Signals) -> Finished:
    """Soon: what the second signal does at once happens by itself if the first is not heeded."""
    began = time.monotonic()
    for number in signals:
        process.send_signal(number)
    done = ended(process)
    assert time.monotonic() - began < PATIENCE, done
    assert done.code == 130, done
    return done


def assert_completed_by_the_next(world: World, home: Home, rows: int) -> None:
    """Locks are free, nothing is lost, nothing is there twice or lies about."""
    home.assert_no_process_is_left()
    for report in world.collect("web"):
        assert report.clean, report
    assert stored(home.path).total() == len(stored(home.path)) == rows
    check(home.path, "nginx_access_log", "web")


def test_while_the_jvm_starts(home: Home, world: World, tmp_path) -> None:
    with killed_afterwards(collect(home, tmp_path, 100)) as process:
        wait_for(lambda: len(home.processes()) > 1)
        done = interrupted(process, signal.SIGTERM)
    assert done.err == "interrupted\n"
    assert not stored(home.path)
    assert_completed_by_the_next(world, home, 100)


@pytest.mark.slow
@pytest.mark.parametrize(("slow", "number"), [(LISTED, signal.SIGINT), (READ, signal.SIGTERM)], ids=["listing", "task"])
def test_while_a_source_hangs(home: Home, world: World, tmp_path, deaf: Deaf, slow: str, number) -> None:
    """The partition beside it has been stored meanwhile, and the summary says so."""
    with killed_afterwards(collect(home, tmp_path, 100, slow.replace("URL", deaf.url))) as process:
        wait_for(lambda: deaf.callers and stored(home.path).total() == 100)
        done = interrupted(process, number)
    assert done.err == "interrupted\n"
    told = json.loads(done.out)
    assert told["interrupted"]
    web, hanging = told["partitions"]
    assert (web["interrupted"], web["rows"]["stored"], web["rows"]["quarantined"]) == (False, 100, 1)
    assert (hanging["interrupted"], hanging["rows"]["stored"], hanging["error"]) == (True, 0, None)
    table = hanging["partition"].partition(".")[0]
    with partition_lock(world.lake, table, "slow", "test"):
        assert_completed_by_the_next(world, home, 100)


def test_while_a_task_reads(home: Home, world: World, tmp_path) -> None:
    with killed_afterwards(collect(home, tmp_path, 150_000)) as process:
        wait_for(lambda: home.readers(tmp_path / "logs" / "a.log") or process.poll() is not None)
        done = interrupted(process, signal.SIGINT)
    assert [p["rows"]["stored"] for p in json.loads(done.out)["partitions"]] == [0]
    assert not stored(home.path)
    assert list(world.lake.meta_root.path.glob("runs/*/*/*.json")), "a task may still write: the next run looks"
    assert_completed_by_the_next(world, home, 150_000)


@pytest.mark.parametrize("step", ["segment-written:2", "committed:2"])
def test_while_a_day_is_committed(home: Home, world: World, tmp_path, step: str) -> None:
    """The commit is finished. (The first one of a partition keeps the range that is meant.)"""
    with killed_afterwards(collect(home, tmp_path, 100, TAILRACE_STOP_AT=step)) as process:
        wait_for(lambda: is_stopped(process))
        done = interrupted(process, signal.SIGINT, signal.SIGCONT)
    assert [p["rows"]["stored"] for p in json.loads(done.out)["partitions"]] == [100]
    assert stored(home.path).total() == 100
    assert not list(world.lake.meta_root.path.glob("runs/*/*/*.json"))
    assert_completed_by_the_next(world, home, 100)


def test_twice(home: Home, world: World, tmp_path) -> None:
    """At once, whatever it is doing."""
    with killed_afterwards(collect(home, tmp_path, 100, TAILRACE_STOP_AT="segment-written")) as process:
        wait_for(lambda: is_stopped(process))
        done = interrupted(process, signal.SIGINT, signal.SIGTERM, signal.SIGCONT)
    assert (done.out, done.err) == ("", "interrupted twice; the next run clears up and collects the rest\n")
    assert_completed_by_the_next(world, home, 100)
