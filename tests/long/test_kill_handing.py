"""Pushes and pulls killed at random moments: run again, both lakes hold the same rows, each once."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from commandline import Home
from lakecheck import check, stored
from logfiles import access_lines, today, write
from remotelake import ACCESS_KEY, BUCKET, SECRET_KEY, MotoProcess, moto_process, remote_lake
from twolakes import PLACE, other, rows_of
from world import World

from tailrace.lake.paths import Lake

MOMENTS = 20
DAYS = [today() - timedelta(days=n) for n in range(1, 13)]
ROWS = 3_000
CONFIG = 'partition "nginx_access_log" "web" {\n source "file" { paths = ["LOGS"] }\n}\n'
Noted = Callable[[str, object], None]


@dataclass(frozen=True)
class Undisturbed:
    """A lake, another one that has some of its days, older and in part, and how long it takes to hand over the rest."""

    place: Path
    rows: Counter[Any]
    seconds: float


def command(place: Path, kind: str) -> tuple[Home, list[str], Path]:
    """Whose it is, what he types, and the lake that takes."""
    home = Home(place / ("home" if kind == "push" else "here"))
    there = place / ("remote" if kind == "push" else "whole")
    return home, [kind, "*", "--lake", str(there)], there


@pytest.fixture(scope="module", params=["push", "pull"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, kind: str) -> Undisturbed:
    place = tmp_path_factory.mktemp(kind)
    world = World(place / "home")
    world.write_config(CONFIG.replace("LOGS", str(place / "logs")))
    for day in DAYS[6:]:
        write(place / "logs" / f"{day}.log", access_lines(day, ROWS))
    assert all(report.clean for report in world.collect())
    home = Home(world.home)
    assert home.run("push", "*", "--lake", str(place / "remote")).code == 0
    for day in DAYS[:8]:  # two of them are there, and have come to more
        write(place / "logs" / f"{day}-more.log", access_lines(day, ROWS))
    assert all(report.clean for report in world.collect())
    world.compact()
    assert home.run("push", "*", "--lake", str(place / "whole")).code == 0
    shutil.copytree(place, place.with_name(f"{place.name}-kept"))
    taker, arguments, _ = command(place, kind)
    began = time.monotonic()
    assert taker.run(*arguments).code == 0
    return Undisturbed(place.with_name(f"{place.name}-kept"), rows_of(world.lake), time.monotonic() - began)


@pytest.mark.parametrize("number", range(MOMENTS))
def test_killed(tmp_path: Path, undisturbed: Undisturbed, kind: str, number: int, record_property: Noted) -> None:
    part = (number + random.Random(number).random()) / MOMENTS
    is_killed, attempt = False, 0
    while not is_killed:  # on a machine that has become faster it may be done by then
        place = tmp_path / f"attempt{attempt}"
        shutil.copytree(undisturbed.place, place)
        home, arguments, there = command(place, kind)
        with home.start(*arguments) as process:
            time.sleep(undisturbed.seconds * (0.2 + 0.8 * part) * 0.8**attempt)
            process.send_signal(signal.SIGKILL)
        is_killed, attempt = process.returncode == -signal.SIGKILL, attempt + 1
    taken = other(there) if kind == "push" else Lake(home.path)
    begun = taken.data_root.exists() and (taken.table_root(PLACE[0]) / "_delta_log").exists()
    found = stored(taken) if begun else Counter()
    assert max(found.values(), default=1) == 1, "no row is seen twice"
    assert home.run(*arguments).code == 0
    assert rows_of(taken) == undisturbed.rows
    check(taken, *PLACE)
    assert rows_of(Lake(place / "home")) == undisturbed.rows, "who gives keeps what it has"
    record_property("kills", 1)
    record_property("of them when some days were there", int(0 < found.total() < undisturbed.rows.total()))
    record_property("rows compared", undisturbed.rows.total())


# To a bucket

STEPS = (
    "manifest-written",
    "day-compared",
    "day-copied",
    "day-copied:3",
    "segment-staged",
    "segment-written",
    "committed",
    "committed:2",
    "run-cleaned",
    "manifest-removed",
)
IN_BUCKET = """
connection "aws" "test" {
  access_key   = "KEY"
  secret_key   = "SECRET"
  region       = "us-east-1"
  endpoint_url = "URL"
}
"""


@dataclass(frozen=True)
class Bucket:
    """A lake on disk whose days are pushed to another, in a bucket, below a prefix of its own."""

    home: Home
    remote: Lake
    arguments: tuple[str, ...]

    def assert_made_good(self, rows: Counter[Any]) -> None:
        """No row is seen twice; the same command again brings what is missing, and nothing else is left there."""
        begun = (self.remote.table_root(PLACE[0]) / "_delta_log").names()
        found = stored(self.remote) if begun else Counter()
        assert max(found.values(), default=1) == 1, "no row is seen twice"
        done = self.home.run(*self.arguments)
        assert done.code == 0, done
        assert rows_of(self.remote) == rows
        check(self.remote, *PLACE)


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MotoProcess]:
    with moto_process(tmp_path_factory.mktemp("moto") / "log", BUCKET) as server:
        yield server


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory, moto: MotoProcess) -> tuple[Path, Counter[Any]]:
    """A home, and its rows."""
    place = tmp_path_factory.mktemp("collected")
    world = World(place / "home")
    connection = IN_BUCKET.replace("KEY", ACCESS_KEY).replace("SECRET", SECRET_KEY).replace("URL", moto.url)
    world.write_config(connection + CONFIG.replace("LOGS", str(place / "logs")))
    for day in DAYS:
        write(place / "logs" / f"{day}.log", access_lines(day, ROWS))
    assert all(report.clean for report in world.collect())
    return world.home, rows_of(world.lake)


def to_bucket(place: Path, home: Path, moto: MotoProcess, prefix: str) -> Bucket:
    # Who gives changes nothing: all may give from the same home.
    where = (f"s3://{BUCKET}/{prefix}", "--connection", "aws.test")
    remote = remote_lake(place / "there", moto.url, prefix)
    return Bucket(Home(home, {"TAILRACE_CACHE_DIR": str(place / "cache")}), remote, ("push", "*", "--lake", *where))


@pytest.mark.parametrize("step", STEPS)
def test_killed_on_the_way_to_a_bucket(
    tmp_path: Path, collected: tuple[Path, Counter[Any]], moto: MotoProcess, step: str, record_property: Noted
) -> None:
    home, rows = collected
    bucket = to_bucket(tmp_path, home, moto, step.replace(":", "-"))
    with bucket.home.start(*bucket.arguments, TAILRACE_KILL_AT=step) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    bucket.assert_made_good(rows)
    record_property("kills", 1)
    record_property("rows compared", rows.total())


@pytest.fixture(scope="module")
def seconds_to_bucket(
    tmp_path_factory: pytest.TempPathFactory, collected: tuple[Path, Counter[Any]], moto: MotoProcess
) -> float:
    bucket = to_bucket(tmp_path_factory.mktemp("timed"), collected[0], moto, "timed")
    began = time.monotonic()
    assert bucket.home.run(*bucket.arguments).code == 0
    return time.monotonic() - began


@pytest.mark.parametrize("number", range(MOMENTS))
def test_killed_at_any_moment_on_the_way_to_a_bucket(
    tmp_path: Path,
    collected: tuple[Path, Counter[Any]],
    moto: MotoProcess,
    seconds_to_bucket: float,
    number: int,
    record_property: Noted,
) -> None:
    home, rows = collected
    part = (number + random.Random(number).random()) / MOMENTS
    is_killed, attempt = False, 0
    while not is_killed:
        bucket = to_bucket(tmp_path / str(attempt), home, moto, f"moment{number}-{attempt}")
        with bucket.home.start(*bucket.arguments) as process:
            time.sleep(seconds_to_bucket * (0.2 + 0.8 * part) * 0.8**attempt)
            process.send_signal(signal.SIGKILL)
        is_killed, attempt = process.returncode == -signal.SIGKILL, attempt + 1
    begun = (bucket.remote.table_root(PLACE[0]) / "_delta_log").names()
    found = stored(bucket.remote).total() if begun else 0
    bucket.assert_made_good(rows)
    record_property("kills", 1)
    record_property("of them when some days were there", int(0 < found < rows.total()))
    record_property("rows compared", rows.total())
