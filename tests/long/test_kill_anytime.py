"""`tailrace collect` killed at random moments: whatever it was doing, the next collect makes the lake whole."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from datetime import timedelta

import pytest
from commandline import Home
from lakecheck import Rows, check, stored
from logfiles import CLOUDTRAIL_LAYOUT, access_lines, cloudtrail, today, write

MOMENTS = 20
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


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, class_archive: dict[str, str], config: str
) -> tuple[Rows, float]:
    """What a collect stores, and how long it takes."""
    home = Home(tmp_path_factory.mktemp("undisturbed"), class_archive)
    home.configure(config)
    began = time.monotonic()
    home.collect()
    seconds = time.monotonic() - began
    rows = stored(home.path)
    assert rows.total() == len(rows) == 2 * 4 * 50_000 + 4 * 3 * 2_000
    return rows, seconds


@pytest.mark.parametrize("number", range(MOMENTS))
def test_killed(home, world, config, undisturbed, number, record_property):
    rows, seconds = undisturbed
    # One moment in each twentieth of the way, so that all phases have their turn.
    moment = seconds * (number + random.Random(number).random()) / MOMENTS
    home.configure(config)
    with home.start("collect") as process:
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            record_property("kills", 1)
    home.assert_no_process_is_left()
    assert stored(home.path) <= rows, "what is visible is whole"
    assert all(report.clean for report in world.collect())
    assert stored(home.path) == rows
    record_property("rows compared", rows.total())
    for table, partition in PARTITIONS:
        check(home.path, table, partition)
