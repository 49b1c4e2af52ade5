"""What goes wrong around a collection: network, permissions, clock, configuration. The lake stays right."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from bucketserver import BucketServer, serving
from lakecheck import Rows, check, stored
from logfiles import access_lines, write
from world import World

from tailrace.lake import commit, runs
from tailrace.pipeline import prepare, publish
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.unit import run_unit

PLACE = ("nginx_access_log", "web")
LAYOUT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.log"
DAYS = [datetime.now(UTC).date() - timedelta(days=n) for n in (1, 2, 3)]
BUCKET = """
connection "aws" "stand_in" {
  endpoint_url             = "{url}"
  access_key               = "AKIDTEST"
  secret_key               = "hidden"
  region                   = "us-east-1"
  s3_force_path_style      = true
  max_error_retry_attempts = {retries}
}
partition "nginx_access_log" "web" {
  source "aws_s3_bucket" {
    connection  = connection.aws.stand_in
    bucket      = "logs"
    file_layout = `LAYOUT`
  }
}
"""
FILES = """
partition "nginx_access_log" "web" {
  {more}
  source "file" {
    paths       = ["{logs}"]
    file_layout = `LAYOUT`
  }
}
"""


def log(day: date) -> str:
    return access_lines(day, 50) + "bad line\n"


def configure(world: World, logs: Path, more: str = "") -> None:
    world.write_config(FILES.replace("{logs}", str(logs)).replace("{more}", more).replace("LAYOUT", LAYOUT))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for day in DAYS:
        write(tmp_path / "logs" / f"{day}.log", log(day))
    return tmp_path / "logs"


class Network:
    """A bucket at an address that can be cut off and comes back."""

    def __init__(self) -> None:
        self.server = BucketServer({f"{day}.log": log(day).encode() for day in DAYS})
        self.port = 0
        self.line: Any = None

    def up(self) -> None:
        self.line = serving(self.server, self.port)
        self.line.__enter__()
        self.port = urlsplit(self.server.url).port or 0

    def down(self) -> None:
        self.line.__exit__(None, None, None)
        self.line = None

    def configure(self, world: World, retries: int) -> None:
        text = BUCKET.replace("{url}", self.server.url).replace("{retries}", str(retries))
        world.write_config(text.replace("LAYOUT", LAYOUT))

    def undisturbed(self, world: World) -> Rows:
        other = World(world.home.with_name("undisturbed"))
        self.configure(other, 1)
        assert all(report.clean for report in other.collect())
        return stored(other.home)


@pytest.fixture
def network() -> Iterator[Network]:
    made = Network()
    made.up()
    yield made
    if made.line is not None:
        made.down()


def cut_at(network: Network, number: int, back: float | None = None) -> Callable[..., list[UnitResult]]:
    """Tasks in this process; before the one of that number the network goes, for some seconds or until it is mended."""
    begun: list[int] = []
    one_by_one = threading.Lock()

    def run(_: object, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        results = []
        with one_by_one:
            for unit in units:
                if len(begun) == number:
                    network.down()
                    if back is not None:
                        threading.Timer(back, network.up).start()
                begun.append(unit.number)
                results.append(run_unit(job, unit))
        return results

    return run


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_network_is_cut(world: World, network: Network, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.pipeline.plan.SMALLEST_UNIT", 1)
    monkeypatch.setattr("tailrace.pipeline.plan.SMALLEST_GROUP", 1)
    undisturbed = network.undisturbed(world)
    network.configure(world, retries=1)
    world.run = cut_at(network, number)
    (report,) = world.collect()
    assert not report.clean
    assert [trouble.code for trouble in report.troubles] == ["collect.rolled-back"] * (3 - number), report
    assert stored(world.home) <= undisturbed
    assert stored(world.home).total() == 50 * number
    network.up()
    world.run = World(world.home).run
    assert all(report.clean for report in world.collect())
    assert stored(world.home) == undisturbed
    check(world.home, *PLACE)


def test_the_network_comes_back_in_time(world: World, network: Network) -> None:
    undisturbed = network.undisturbed(world)
    network.configure(world, retries=9)
    world.run = cut_at(network, 0, back=1.0)
    assert all(report.clean for report in world.collect())
    assert stored(world.home) == undisturbed


def test_no_network_while_listing(world: World, network: Network) -> None:
    undisturbed = network.undisturbed(world)
    network.configure(world, retries=1)
    network.down()
    (report,) = world.collect()
    assert not report.clean
    assert stored(world.home).total() == 0
    network.up()
    assert all(report.clean for report in world.collect())
    assert stored(world.home) == undisturbed


def test_one_object_may_not_be_read(world: World, network: Network) -> None:
    """The others are stored; the one is told and tried by every run until it is allowed."""
    undisturbed = network.undisturbed(world)
    network.configure(world, retries=1)
    denied = f"{DAYS[1]}.log"
    for _ in range(2):
        network.server.faults[denied] = [403] * 5
        (report,) = world.collect()
        assert (report.failed, stored(world.home).total()) == (1, 100)
        (trouble,) = report.troubles
        assert (denied in trouble.where, "denied" in trouble.message) == (True, True)
    network.server.faults.clear()
    assert all(report.clean for report in world.collect())
    assert stored(world.home) == undisturbed
    check(world.home, *PLACE)


class Clock(datetime):
    """A clock that can be set."""

    offset = timedelta()

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.now(tz) + cls.offset


@contextmanager
def clock_at(offset: timedelta) -> Iterator[None]:
    """All clocks that a collection looks at, moved."""
    patch = pytest.MonkeyPatch()
    Clock.offset = offset
    for module in (prepare, publish, runs):
        patch.setattr(module, "datetime", Clock)
    real = time.time
    patch.setattr(commit.time, "time", lambda: real() + offset.total_seconds())
    try:
        yield
    finally:
        patch.undo()


@pytest.mark.parametrize("jump", [timedelta(days=-400), timedelta(hours=-2), timedelta(hours=2), timedelta(days=400)])
def test_the_clock_jumps_between_runs(world: World, logs: Path, jump: timedelta) -> None:
    """Forwards and back again: nothing is read twice, and what comes later is found."""
    configure(world, logs)
    assert all(report.clean for report in world.collect())
    before = stored(world.home)
    with clock_at(jump):
        assert all(report.clean for report in world.collect())
    assert stored(world.home) == before
    later = DAYS[0] + timedelta(days=1)
    write(logs / f"{later}.log", access_lines(later, 10))
    write(logs / f"{DAYS[2]}.log", access_lines(DAYS[2], 50) + access_lines(DAYS[2], 60, first=50))
    assert all(report.clean for report in world.collect())
    assert stored(world.home).total() == before.total() + 20
    check(world.home, *PLACE)


@pytest.mark.parametrize("hours", [-2, 2])
def test_the_clock_jumps_during_a_run(world: World, logs: Path, hours: int) -> None:
    configure(world, logs)
    with clock_at(timedelta()):
        right = world.run

        def jumping(_: object, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
            Clock.offset = timedelta(hours=hours)
            return right(_, job, units)

        world.run = jumping
        assert all(report.clean for report in world.collect())
    world.run = right
    assert stored(world.home).total() == 150
    assert [report.wanted for report in world.collect()] == [0]
    check(world.home, *PLACE)


def test_the_configuration_changes_between_runs(world: World, logs: Path) -> None:
    """A filter comes and goes, paths move on, the partition leaves and returns: what is stored is stored once."""
    configure(world, logs, 'filter = "status = 500"')
    assert all(report.clean for report in world.collect())
    assert stored(world.home).total() == 3 * 5
    configure(world, logs)
    assert all(report.clean for report in world.collect())
    assert stored(world.home).total() == 150, "filtered rows are worth another look without the filter"
    everything = stored(world.home)
    write(logs.parent / "more" / f"{DAYS[0]}.log", access_lines(DAYS[0], 10))
    configure(world, logs.parent / "more")
    assert all(report.clean for report in world.collect())
    world.write_config('partition "apache_access_log" "other" { source "file" { paths = ["/nowhere-at-all"] } }')
    world.collect()
    assert world.query("select count(*) from nginx_access_log") == [(160,)], "rows outlive their configuration"
    configure(world, logs)
    assert [report.wanted for report in world.collect()] == [0]
    assert stored(world.home) > everything
    check(world.home, *PLACE)
