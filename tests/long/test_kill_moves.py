"""Moves between tiers killed at random moments, and watched: every row is seen once, at every instant."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commandline import Home
from lakecheck import check
from logfiles import access_lines, today, write
from remotelake import ACCESS_KEY, BUCKET, SECRET_KEY, MotoProcess, moto_process
from world import World

from tailrace.cli.tiers import tiers_of
from tailrace.lake.paths import Lake
from tailrace.lake.snapshot import snapshot
from tailrace.lake.table_place import LINKS
from tailrace.query.engine import Engine

MOMENTS = 20
PLACE = ("nginx_access_log", "web")
DAYS = [today() - timedelta(days=n) for n in range(1, 13)]
ROWS = 6_000
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
    """A collected home, its rows, and how long its days take to move, from the first on."""

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


def has_begun(home: Path) -> bool:
    return (home / "data" / "default" / "tp_table=nginx_access_log" / LINKS).exists()


def paths_of(home: Path) -> list[str]:
    found: list[str] = snapshot(Lake(home), PLACE[0]).files.column("path").to_pylist()
    return found


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
    with Home(world.home).start(*MAINTAIN) as process:
        while process.poll() is None and not has_begun(world.home):
            time.sleep(0.001)
        began = time.monotonic()
        while process.poll() is None and not all(path.startswith(LINKS) for path in paths_of(world.home)):
            time.sleep(0.001)
        seconds = time.monotonic() - began
        process.communicate()
    assert process.returncode == 0
    return Undisturbed(place / "kept", place / "logs", rows, seconds)


def watched(home: Home, undisturbed: Undisturbed, moment: float, has_begun: Callable[[], bool]) -> tuple[bool, int]:
    """Moves days, and is killed so long after the first has begun: was it, and how often was looked meanwhile?"""
    looks, deadline = 0, None
    with home.start(*MAINTAIN) as process:
        while process.poll() is None and (deadline is None or time.monotonic() < deadline):
            assert count(home.path) == undisturbed.rows.total(), "seen once while it moves"
            looks += 1
            if deadline is None and has_begun():
                deadline = time.monotonic() + moment
        process.send_signal(signal.SIGKILL)
    return process.returncode == -signal.SIGKILL, looks


@pytest.mark.parametrize("number", range(MOMENTS))
def test_killed(tmp_path: Path, undisturbed: Undisturbed, number: int, record_property: Noted) -> None:
    # One moment in each part of the way.
    part = (number + random.Random(number).random()) / MOMENTS
    is_killed, looks, attempt = False, 0, 0
    while not is_killed:  # on a machine that has become faster it may be done by then
        home = Home(tmp_path / f"home{attempt}")
        undisturbed.copied(home, tmp_path / f"tiers{attempt}")
        moment = undisturbed.seconds * part * 0.7**attempt
        is_killed, more = watched(home, undisturbed, moment, partial(has_begun, home.path))
        looks, attempt = looks + more, attempt + 1
    moved = sum(path.startswith(LINKS) for path in paths_of(home.path))
    assert rows_of(home.path) == undisturbed.rows
    done = home.run(*MAINTAIN)
    assert done.code == 0, done
    assert rows_of(home.path) == undisturbed.rows
    paths = paths_of(home.path)
    assert all(path.startswith(LINKS) for path in paths), "every day rests in a tier"
    in_tiers = [*(tmp_path / f"tiers{attempt - 1}").rglob("*.parquet")]
    assert len(in_tiers) == len(paths), "nothing is left over"
    check(home.path, *PLACE)
    record_property("kills", 1)
    record_property("of them between two days", int(0 < moved < len(paths)))
    record_property("looks meanwhile", looks)
    record_property("rows compared", 2 * undisturbed.rows.total())


# To a bucket

STEPS = (
    "manifest-written",
    "files-moved",
    "files-moved:3",
    "segment-written",
    "committed",
    "committed:2",
    "run-cleaned",
)
IN_BUCKET = """
connection "aws" "test" {
  access_key   = "KEY"
  secret_key   = "SECRET"
  region       = "us-east-1"
  endpoint_url = "URL"
}
store "default" {
  tier "archive" {
    path       = "s3://BUCKET/PREFIX"
    connection = connection.aws.test
  }
}
partition "nginx_access_log" "web" {
  source "file" { paths = ["LOGS"] }
}
"""


@dataclass(frozen=True)
class Bucket:
    """A home whose days belong into a bucket, below a prefix of its own."""

    home: Home
    cache: Path
    moto: MotoProcess
    prefix: str

    def has_begun(self) -> bool:
        """Has a file arrived there?"""
        below = f"/{self.prefix}/"
        return any(m == "PUT" and below in p and p.endswith(".parquet") for m, p, _ in self.moto.requests())

    def rows(self) -> tuple[Lake, Counter[Any]]:
        """The lake with its tier, and its rows as queries see them."""
        lake = Lake(self.home.path, tiers=tiers_of(World(self.home.path).config()))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TAILRACE_CACHE_DIR", str(self.cache))
            (result,) = Engine(lake, dict).run("select tp_id, hash(t) from nginx_access_log t")
            return lake, Counter(map(tuple, result.rows))

    def is_filled(self) -> bool:
        return all("://" in path for path in paths_of(self.home.path))


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MotoProcess]:
    with moto_process(tmp_path_factory.mktemp("moto") / "log", BUCKET) as server:
        yield server


def bucket_home(place: Path, undisturbed: Undisturbed, moto: MotoProcess, prefix: str) -> Bucket:
    """A copy of the collected home."""
    home = Home(place / "home", {"TAILRACE_CACHE_DIR": str(place / "cache")})
    shutil.copytree(undisturbed.home, home.path)
    facts = {"KEY": ACCESS_KEY, "SECRET": SECRET_KEY, "URL": moto.url, "BUCKET": BUCKET, "LOGS": str(undisturbed.logs)}
    config = IN_BUCKET.replace("PREFIX", prefix)
    for name, value in facts.items():
        config = config.replace(name, value)
    home.configure(config)
    return Bucket(home, place / "cache", moto, prefix)


def assert_made_good(bucket: Bucket, undisturbed: Undisturbed) -> None:
    """Every row is there once, wherever it is; the same command again brings all of them to the bucket."""
    assert bucket.rows()[1] == undisturbed.rows, "every row once, wherever it is"
    done = bucket.home.run(*MAINTAIN)
    assert done.code == 0, done
    lake, rows = bucket.rows()
    assert rows == undisturbed.rows
    assert bucket.is_filled(), "every day rests in the bucket"
    there = {path for path in lake.table_root(PLACE[0]).walk("tp_partition=web") if "://" in path}
    assert there > set(paths_of(bucket.home.path))
    left_over = sorted(there - set(paths_of(bucket.home.path)))
    assert ["/.tailrace-lake-" in path for path in left_over] == [True], f"but the lake's sign: {left_over}"
    check(lake, *PLACE)


@pytest.mark.parametrize("step", STEPS)
def test_killed_on_the_way_to_a_bucket(
    tmp_path: Path, undisturbed: Undisturbed, moto: MotoProcess, step: str, record_property: Noted
) -> None:
    bucket = bucket_home(tmp_path, undisturbed, moto, step.replace(":", "-"))
    with bucket.home.start(*MAINTAIN, TAILRACE_KILL_AT=step) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert_made_good(bucket, undisturbed)
    record_property("kills", 1)
    record_property("rows compared", 2 * undisturbed.rows.total())


@pytest.fixture(scope="module")
def seconds_to_bucket(tmp_path_factory: pytest.TempPathFactory, undisturbed: Undisturbed, moto: MotoProcess) -> float:
    """From the first file that arrives to the last day that rests there."""
    bucket = bucket_home(tmp_path_factory.mktemp("timed"), undisturbed, moto, "timed")
    with bucket.home.start(*MAINTAIN) as process:
        while process.poll() is None and not bucket.has_begun():
            time.sleep(0.001)
        began = time.monotonic()
        while process.poll() is None and not bucket.is_filled():
            time.sleep(0.001)
        seconds = time.monotonic() - began
        process.communicate()
    assert process.returncode == 0
    return seconds


@pytest.mark.parametrize("number", range(MOMENTS))
def test_killed_at_any_moment_on_the_way_to_a_bucket(
    tmp_path: Path,
    undisturbed: Undisturbed,
    moto: MotoProcess,
    seconds_to_bucket: float,
    number: int,
    record_property: Noted,
) -> None:
    part = (number + random.Random(number).random()) / MOMENTS
    is_killed, looks, attempt = False, 0, 0
    while not is_killed:
        bucket = bucket_home(tmp_path / f"attempt{attempt}", undisturbed, moto, f"moment{number}-{attempt}")
        moment = seconds_to_bucket * part * 0.7**attempt
        is_killed, more = watched(bucket.home, undisturbed, moment, bucket.has_begun)
        looks, attempt = looks + more, attempt + 1
    moved = sum("://" in path for path in paths_of(bucket.home.path))
    assert_made_good(bucket, undisturbed)
    record_property("kills", 1)
    record_property("of them between two days", int(0 < moved < len(paths_of(bucket.home.path))))
    record_property("looks meanwhile", looks)
    record_property("rows compared", 2 * undisturbed.rows.total())
