"""Expiry and restoration killed at random moments: the rows from before or those from afterwards, nothing between.

Most of the days rest in a tier. A killed command is run again, and then the lake is as if nothing had happened.
"""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from commandline import Home
from lakecheck import check
from logfiles import access_lines, today, write
from world import World

from tailrace.lake.intents import read_ledger
from tailrace.lake.paths import Lake
from tailrace.lake.runs import manifests
from tailrace.lake.snapshot import snapshot
from tailrace.lake.table_place import is_elsewhere

MOMENTS = 20
PLACE = ("nginx_access_log", "web")
DAYS = [today() - timedelta(days=n) for n in range(1, 25)]
KEPT = 12
ROWS = 1_000
CONFIG = """
store "default" {
  tier "archive" {
    path = "TIERS/archive"
    to   = "LAST"
  }
}
partition "nginx_access_log" "web" {
  RETENTION
  source "file" { paths = ["LOGS"] }
}
"""
Noted = Callable[[str, object], None]


@dataclass(frozen=True)
class Undisturbed:
    """A home before a command, the rows before and after it, and how long its change takes."""

    home: Path
    command: tuple[str, ...]
    before: Counter[Any]
    after: Counter[Any]
    seconds: float


def rows_of(home: Path) -> Counter[Any]:
    """All rows, as queries see them: id, and a hash of all columns."""
    return Counter(World(home).query("select tp_id, hash(t) from nginx_access_log t"))


def is_under_way(home: Path) -> bool:
    return bool(manifests(Lake(home).meta("runs", *PLACE)))


def configure(home: Home, place: Path, retention: str) -> None:
    facts = {"LOGS": place / "logs", "TIERS": place / "tiers", "LAST": DAYS[3], "RETENTION": retention}
    config = CONFIG
    for name, value in facts.items():
        config = config.replace(name, str(value))
    home.configure(config)


def prepared(place: Path) -> Home:
    """Collected, and moved."""
    home = Home(place / "home")
    configure(home, place, "")
    for part in ("a", "b"):
        for day in DAYS:
            write(place / "logs" / f"{day}-{part}.log", access_lines(day, ROWS))
    assert all(report.clean for report in World(home.path).collect())
    done = home.run("maintain", "--no-compact")
    assert done.code == 0, done
    paths = snapshot(Lake(home.path), PLACE[0]).files.column("path").to_pylist()
    assert 0 < sum(map(is_elsewhere, paths)) < len(paths)
    return home


@pytest.fixture(scope="module", params=["expire", "restore"])
def undisturbed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    place = tmp_path_factory.mktemp(request.param)
    home = prepared(place)
    if request.param == "expire":
        configure(home, place, f'retention = "{KEPT}d"')
        command: tuple[str, ...] = ("maintain", "--no-compact")
    else:
        version = snapshot(Lake(home.path), PLACE[0]).version
        name = ".".join(PLACE)
        assert home.run("partition", "delete", name, "--to", f"{DAYS[1]}T12:00", "--force").code == 0
        command = ("partition", "restore", name, "--at", str(version))
    before = rows_of(home.path)
    # The links to the tier lead where they led: nothing is written there by either command.
    shutil.copytree(home.path, place / "kept", symlinks=True)
    with home.start(*command) as process:
        while process.poll() is None and not is_under_way(home.path):
            time.sleep(0.001)
        began = time.monotonic()
        while is_under_way(home.path):
            time.sleep(0.001)
        seconds = time.monotonic() - began
        process.communicate()
    assert process.returncode == 0
    after = rows_of(home.path)
    assert after != before
    return Undisturbed(place / "kept", command, before, after, seconds)


def killed(home: Home, undisturbed: Undisturbed, moment: float) -> bool:
    """Runs the command and kills it so long after its change has begun: was it?"""
    with home.start(*undisturbed.command) as process:
        while process.poll() is None and not is_under_way(home.path):
            time.sleep(0.001)
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
    return process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("number", range(MOMENTS))
def test_killed(tmp_path: Path, undisturbed: Undisturbed, number: int, record_property: Noted) -> None:
    part = (number + random.Random(number).random()) / MOMENTS
    is_killed, attempt = False, 0
    while not is_killed:  # on a machine that has become faster it may be done by then
        home = Home(tmp_path / f"home{attempt}")
        shutil.copytree(undisturbed.home, home.path, symlinks=True)
        is_killed = killed(home, undisturbed, undisturbed.seconds * part * 0.7**attempt)
        attempt += 1
    found = rows_of(home.path)
    assert found in (undisturbed.before, undisturbed.after), "half of it"
    was_unfinished = is_under_way(home.path)
    done = home.run(*undisturbed.command)
    assert done.code == 0, done
    assert rows_of(home.path) == undisturbed.after
    check(home.path, *PLACE)
    assert read_ledger(Lake(home.path), *PLACE).entries.num_rows == 2 * len(DAYS)
    record_property("kills", 1)
    record_property("of them before the commit", int(found == undisturbed.before))
    record_property("of them in the middle", int(was_unfinished))
    record_property("rows compared", found.total() + undisturbed.after.total())
