"""Moves between tiers killed at random moments, and watched: every row is seen once, at every instant."""

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

from tailrace.lake.paths import Lake
from tailrace.lake.snapshot import snapshot

MOMENTS = 20
PLACE = ("nginx_access_log", "web")
DAYS = [today() - timedelta(days=n) for n in range(1, 13)]
ROWS = 20_000
"Of a day, in two files."
CONFIG = """
store "default" {
  tier "recent" {
    path    = "TIERS/recent"
    max_age = "3d"
  }
  tier "archive" {
    path         = "TIERS/archive"
    partition_by = ["tp_year", "tp_month"]
  }
}
partition "nginx_access_log" "web" {
  source "file" { paths = ["LOGS"] }
}
"""
MAINTAIN = ("maintain", "--no-compact")
Noted = Callable[[str, object], None]


@dataclass(frozen=True)
class Undisturbed:
    """A collected home, its rows, and how long it takes to move its days."""

    home: Path
    logs: Path
    rows: Counter[Any]
    seconds: float

    def copied(self, home: Home, tiers: Path) -> None:
        shutil.copytree(self.home, home.path)
        home.configure(CONFIG.replace("LOGS", str(self.logs)).replace("TIERS", str(tiers)))


def rows_of(home: Path) -> Counter[Any]:
    """All rows, as queries see them: id, and a hash of all columns."""
    return Counter(World(home).query("select tp_id, hash(t) from nginx_access_log t"))


def count(home: Path) -> int:
    """What a query would find now."""
    return sum(snapshot(Lake(home), PLACE[0]).files.column("rows").to_pylist())


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    place = tmp_path_factory.mktemp("undisturbed")
    world = World(place / "home")
    world.write_config(CONFIG.replace("LOGS", str(place / "logs")).replace("TIERS", str(place / "tiers")))
    for part in (ROWS // 2, 0):
        for day in DAYS:
            write(place / "logs" / f"{day}-{part}.log", access_lines(day, ROWS - part, ROWS // 2 - part))
        assert all(report.clean for report in world.collect())
    rows = rows_of(world.home)
    shutil.copytree(world.home, place / "kept")
    began = time.monotonic()
    assert Home(world.home).run(*MAINTAIN).code == 0
    return Undisturbed(place / "kept", place / "logs", rows, time.monotonic() - began)


@pytest.mark.parametrize("number", range(MOMENTS))
def test_killed(tmp_path: Path, undisturbed: Undisturbed, number: int, record_property: Noted) -> None:
    home = Home(tmp_path / "home")
    undisturbed.copied(home, tmp_path / "tiers")
    # The first second goes into starting Python: one moment in each part of what is left.
    begin = min(0.5, undisturbed.seconds / 2)
    span = undisturbed.seconds - begin
    moment = begin + span * (number + random.Random(number).random()) / MOMENTS
    kills, looks = 0, 0
    with home.start(*MAINTAIN) as process:
        deadline = time.monotonic() + moment
        while process.poll() is None and time.monotonic() < deadline:
            assert count(home.path) == undisturbed.rows.total(), "seen once while it moves"
            looks += 1
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills = 1
        process.wait()
    assert rows_of(home.path) == undisturbed.rows
    done = home.run(*MAINTAIN)
    assert done.code == 0, done
    assert rows_of(home.path) == undisturbed.rows
    paths = snapshot(Lake(home.path), PLACE[0]).files.column("path").to_pylist()
    assert all(path.startswith("_tiers/") for path in paths), "every day rests in a tier"
    in_tiers = [*(tmp_path / "tiers").rglob("*.parquet")]
    assert len(in_tiers) == len(paths), "nothing is left over"
    check(home.path, *PLACE)
    record_property("kills", kills)
    record_property("looks meanwhile", looks)
    record_property("rows compared", 2 * undisturbed.rows.total())
