"""Commands killed at random moments: whatever they were doing, the same command again makes the lake whole."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from datetime import time as midnight
from pathlib import Path

import pytest
from commandline import Home
from lakecheck import Rows, check, stored
from logfiles import CLOUDTRAIL_LAYOUT, access_lines, cloudtrail, today, write

from tailrace.core import TimeRange

MOMENTS = 30
"Of collect; overwrite and delete have a third as many each."
TRIES = 5
DAYS = [today() - timedelta(days=n) for n in range(1, 5)]
PARTITIONS = [("nginx_access_log", "web"), ("apache_access_log", "web"), ("aws_cloudtrail_log", "trail")]
CONFIG = """
partition "nginx_access_log" "web" {
  source "file" { paths = ["LOGS/web"] }
}
partition "apache_access_log" "web" {
  source "file" { paths = ["LOGS/web"] }
}
partition "aws_cloudtrail_log" "trail" {
  source "file" {
    paths       = ["LOGS/aws"]
    file_layout = `LAYOUT`
  }
}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> str:
    logs = tmp_path_factory.mktemp("logs")
    for day in DAYS:
        write(logs / "web" / f"{day}.log", access_lines(day, 50_000) + "bad line\n")
        for name in "abc":
            cloudtrail(logs / "aws", day, 2_000, name)
    return CONFIG.replace("LOGS", str(logs)).replace("LAYOUT", CLOUDTRAIL_LAYOUT)


@dataclass(frozen=True)
class Undisturbed:
    """A collected home, what it holds, and how long that took."""

    home: Path
    rows: Rows
    seconds: float


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, class_archive: dict[str, str], config: str) -> Undisturbed:
    home = Home(tmp_path_factory.mktemp("undisturbed"), class_archive)
    home.configure(config)
    began = time.monotonic()
    home.collect()
    seconds = time.monotonic() - began
    rows = stored(home.path)
    assert rows.total() == len(rows) == 2 * 4 * 50_000 + 4 * 3 * 2_000
    return Undisturbed(home.path, rows, seconds)


def killed(home: Home, share: float, seconds: float, prepare: Callable[[], object], *command: str) -> int:
    """1 if it was, after a share of the time that it takes; one that is faster is begun anew, and killed sooner."""
    for _ in range(TRIES):
        shutil.rmtree(home.path, ignore_errors=True)
        prepare()
        began = time.monotonic()
        with home.start(*command) as process:
            try:
                process.wait(share * seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                break
        seconds = time.monotonic() - began
        home.assert_no_process_is_left()
    else:
        return 0
    home.assert_no_process_is_left()
    return 1


def share_of(number: int, moments: int) -> float:
    """One in each part of the way, so that all phases have their turn."""
    return (number + random.Random(number).random()) / moments


def assert_whole(home: Home) -> None:
    for table, partition in PARTITIONS:
        check(home.path, table, partition)


@pytest.mark.parametrize("number", range(MOMENTS))
def test_killed(home, world, config, undisturbed, number, record_property):
    share = share_of(number, MOMENTS)
    kills = killed(home, share, undisturbed.seconds, lambda: home.configure(config), "collect")
    record_property("kills", kills)
    assert stored(home.path) <= undisturbed.rows, "what is visible is whole"
    assert all(report.clean for report in world.collect())
    assert stored(home.path) == undisturbed.rows
    record_property("rows compared", undisturbed.rows.total())
    assert_whole(home)


@pytest.mark.parametrize("number", range(MOMENTS // 3))
def test_killed_overwriting(home, world, undisturbed, number, record_property):
    """The range cuts two days; its rows are the same again, and at no moment are they gone."""
    start = datetime.combine(DAYS[2], midnight(12))
    window = TimeRange(start, start + timedelta(days=1))
    command = ("collect", "--overwrite", "--from", f"{window.start:%FT%T}", "--to", f"{window.end:%FT%T}")
    share = share_of(number, MOMENTS // 3)
    kills = killed(home, share, undisturbed.seconds, lambda: shutil.copytree(undisturbed.home, home.path), *command)
    record_property("kills", kills)
    assert stored(home.path) == undisturbed.rows
    assert all(report.clean for report in world.collect(window=window, overwrite=True))
    assert stored(home.path) == undisturbed.rows
    record_property("rows compared", undisturbed.rows.total())
    assert_whole(home)


@pytest.mark.parametrize("number", range(MOMENTS // 3))
def test_killed_deleting(home, undisturbed, number, record_property):
    command = ("partition", "delete", "nginx_access_log.web", "--from", f"{DAYS[2]}T12:00", "--force")
    share = share_of(number, MOMENTS // 3)
    kills = killed(home, share, 1.5, lambda: shutil.copytree(undisturbed.home, home.path), *command)
    record_property("kills", kills)
    gone = 50_000 * 5 // 2
    assert stored(home.path).total() in (undisturbed.rows.total(), undisturbed.rows.total() - gone)
    assert home.run(*command).code == 0
    after = stored(home.path)
    assert after < undisturbed.rows
    assert after.total() == undisturbed.rows.total() - gone
    record_property("rows compared", undisturbed.rows.total())
    assert_whole(home)
