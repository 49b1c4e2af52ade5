"""A table of a hundred thousand files: what a question costs does not grow with them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta

import pytest
from commandline import Home
from logfiles import write
from world import World

from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.files import DataFile
from tailrace.lake.log import checkpoint
from tailrace.lake.logged_stats import stats_of
from tailrace.lake.runs import new_run_id
from tailrace.lake.snapshot import snapshot
from tailrace.lake.table import open_table
from tailrace.lake.types import schema_fingerprint

Noted = Callable[[str, object], None]
DAYS, COPIES = 1_000, 100
FIRST = date(2023, 1, 1)
MOST_CPU = 3.0
"Seconds of the whole command, on a busy machine; the log alone takes as long where it is read."
CONFIG = """
table "hits" {{
  column "tp_timestamp" {{ source = "at" }}
  column "word" {{}}
  column "n" {{ type = "integer" }}
}}
partition "hits" "web" {{ source "file" {{ paths = ["{logs}"] }} }}
"""
PROGRAM = """
import atexit, os, sys
from tailrace.cli.main import main
atexit.register(lambda: sys.stderr.write(str(sum(os.times()[:2]))))
main()
"""
"The command as it is installed, which does not end as a program of Python's does."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A thousand days; each file is there a hundred times, by links."""
    root = tmp_path_factory.mktemp("many")
    days = (FIRST + timedelta(days=n) for n in range(DAYS))
    lines = "".join(f'{{"at": "{day}T12:00:00Z", "word": "w{day.day}", "n": {day.day}}}\n' for day in days)
    write(root / "logs" / "a.jsonl", lines)
    world = World(root / "home")
    world.write_config(CONFIG.format(logs=root / "logs"))
    assert all(report.clean for report in world.collect())
    seen = snapshot(world.lake, "hits")
    run = new_run_id()
    writer = PartitionWriter(world.lake, "hits", "web", run, seen.schema)
    writer.recover()
    fingerprint, files = schema_fingerprint(seen.schema), []
    for row in seen.files.to_pylist():
        folder, _, name = row["path"].rpartition("/")
        for number in range(COPIES - 1):
            path = f"{folder}/{run}-{number}-{name}"
            os.link(seen.root.address(row["path"]), seen.root.address(path))
            stats = (row["tp_index"], row["tp_date"], row["rows"], stats_of(row), fingerprint)
            files.append(DataFile(path, row["size"], "web", *stats))
    writer.commit(Change([], files))
    writer.finish()
    checkpoint(open_table(seen.root), seen.root)
    return Home(world.home, {"TAILRACE_CACHE_DIR": str(root / "cache")})


def asked(home: Home, *arguments: str) -> tuple[str, float]:
    """What is answered, and seconds of CPU."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], env=home.environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, float(done.stderr.split()[-1])


def test_a_day(home: Home, record_property: Noted) -> None:
    sql = "select count(*), max(n) from hits where tp_timestamp >= '2024-03-05' and tp_timestamp < '2024-03-06'"
    _, first = asked(home, "query", sql, "--output", "csv", "--no-header")
    answer, again = asked(home, "query", sql, "--output", "csv", "--no-header")
    assert answer == f"{COPIES},5\n"
    record_property("files", DAYS * COPIES)
    record_property("milliseconds of CPU at first", int(first * 1000))
    record_property("milliseconds of CPU then", int(again * 1000))
    assert again < MOST_CPU


@pytest.mark.parametrize("sql", ["show tables", "describe hits", "select count(*) from hits where word = 'none'"])
def test_what_needs_no_file(home: Home, sql: str, record_property: Noted) -> None:
    _, taken = asked(home, "query", sql)
    record_property("largest of what needs no file, milliseconds of CPU", int(taken * 1000))
    assert taken < MOST_CPU


def test_a_view_for_others(home: Home, record_property: Noted) -> None:
    """By parts of days; all files at once are too many."""
    _, taken = asked(home, "connect", "--from", "2024-03-01", "--to", "2024-04-01")
    record_property("milliseconds of CPU of connect", int(taken * 1000))
    assert taken < 2 * MOST_CPU
