"""`tailrace compact` as people use it: on Spark, from JSON reports to exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest
from commandline import Home
from lakecheck import check, stored
from logfiles import access_lines, write
from world import World

from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake

pytestmark = pytest.mark.warm

WEB = ("nginx_access_log", "web")
DAYS = [date(2024, 5, 1) + timedelta(days=n) for n in range(3)]
IN_SPARK = """
import sys
from tailrace.pipeline import compact, compact_plan
compact.FEW = 0
compact_plan.SMALLEST_TASK = 1
from tailrace.cli.main import main
main()
"""


@pytest.fixture
def home(home: Home, tmp_path: Path) -> Home:
    """Three days, each in four files."""
    home.configure(f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{tmp_path}/logs"] }}\n}}')
    world = World(home.path)
    for number in range(4):
        for day in DAYS:
            write(tmp_path / "logs" / f"{day}-{number}.log", access_lines(day, 10 + number))
        assert all(report.clean for report in world.collect())
    return home


def test_on_spark(home: Home, tmp_path: Path) -> None:
    before = stored(home.path)
    sums = "select count(*) as n, sum(status) as s, sum(body_bytes_sent) as b from nginx_access_log"
    answer = home.query(sums)
    # What is little is done without Spark: here nothing is.
    script = tmp_path / "compact_on_spark.py"
    script.write_text(IN_SPARK)
    command = [sys.executable, str(script), "compact", "--output", "json"]
    done = subprocess.run(command, env=home.environment(), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)["partitions"]
    assert (report["days"], report["files_before"], report["files_after"]) == (3, 12, 3)
    assert report["troubles"] == []
    assert stored(home.path) == before
    assert home.query(sums) == answer
    check(home.path, *WEB)
    home.assert_no_process_is_left()


def test_without_spark_and_a_second_time(home: Home) -> None:
    before = stored(home.path)
    planned = home.run("compact", "--dry-run", "--output", "json").json()
    assert [(row["partition"], row["days"], row["files"]) for row in planned] == [("nginx_access_log.web", 3, 12)]
    some = home.run("compact", "web", "--from", str(DAYS[2]), "--output", "json").json()["partitions"]
    assert [(row["days"], row["files_after"]) for row in some] == [(1, 1)]
    done = home.run("compact")
    assert done.code == 0, done.err
    assert "nginx_access_log.web" in done.out
    assert stored(home.path) == before
    again = home.run("compact")
    assert (again.code, again.out) == (0, "")
    assert "nothing to do" in again.err
    kinds = [row["change"] for row in home.run("partition", "history", "web", "--output", "json").json()]
    assert kinds[:3] == ["compact", "compact", "collect"]
    undone = home.run("partition", "restore", "web", "--output", "json").json()
    assert undone[0]["undone"].startswith("collect")


def test_after_a_collection(home: Home, tmp_path: Path) -> None:
    before = stored(home.path)
    write(tmp_path / "logs" / "more.log", access_lines(DAYS[0], 5))
    told = home.collect("--compact")["nginx_access_log.web"]
    assert told["rows"]["stored"] == 5
    merged = told["compaction"]
    assert (merged["days"], merged["files_before"], merged["files_after"]) == (3, 13, 3)
    assert stored(home.path).total() == before.total() + 5
    assert stored(home.path) > before
    check(home.path, *WEB)


def test_rows_get_another_index(home: Home) -> None:
    before = stored(home.path)
    config = home.path / "config" / "test.tpc"
    config.write_text(config.read_text().replace('"web" {', '"web" {\n tp_index = "status"'))
    planned = home.run("compact", "--reindex", "--dry-run", "--output", "json").json()
    assert [(row["partition"], row["days"], row["files"]) for row in planned] == [("nginx_access_log.web", 3, 12)]
    done = home.run("compact", "--reindex", "--output", "json")
    assert done.code == 0, done.err
    assert [row["files_after"] for row in done.json()["partitions"]] == [6]
    assert home.query("select distinct tp_index from nginx_access_log order by 1") == [
        {"tp_index": "200"},
        {"tp_index": "500"},
    ]
    assert stored(home.path) == before
    check(home.path, *WEB)
    again = home.run("compact", "--reindex")
    assert (again.code, again.out) == (0, "")
    assert "all rows have their tp_index" in again.err
    config.write_text(config.read_text().replace("status", "nothing"))
    assert home.run("compact", "--reindex").code == 3


def test_exit_codes(home: Home) -> None:
    assert home.run("compact", "nobody").code == 2
    with partition_lock(Lake(home.path), *WEB, "tailrace compact", of="compactions"):
        held = home.run("compact")
    assert held.code == 6
    assert "held by process" in held.err
