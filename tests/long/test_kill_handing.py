"""Pushes and pulls killed at random moments: run again, both lakes hold the same rows, each once."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import collectonce
import pytest
from bucketserver import Fault, serving
from commandline import PATIENCE, Home, ended, is_stopped, killed_afterwards, wait_for
from handedlakes import CONFIG, DAYS, ROWS, Given, before_pull, before_push, collected, hand
from lakecheck import check, stored
from remotelake import BUCKET, MotoProcess, bucket_place, connection, moto_process
from twolakes import PLACE, asked, other, rows_of
from world import World
from writablebucket import WritableBucket

from tailrace.core import LockedError
from tailrace.lake.paths import Lake

MOMENTS = 20
WAITING = 2.0
"Seconds after which who comes second is still waiting."
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
    collected(world, place / "logs", DAYS[6:])
    home = Home(world.home)
    assert home.run("push", "*", "--lake", str(place / "remote")).code == 0
    collected(world, place / "logs", DAYS[:8], "-more")  # two of them are there, and have come to more
    world.compact()
    assert home.run("push", "*", "--lake", str(place / "whole")).code == 0
    shutil.copytree(place, place.with_name(f"{place.name}-kept"))
    taker, arguments, _ = command(place, kind)
    began = time.monotonic()
    assert taker.run(*arguments).code == 0
    seconds, rows = time.monotonic() - began, rows_of(world.lake)
    assert rows.total() == 14 * ROWS
    return Undisturbed(place.with_name(f"{place.name}-kept"), rows, seconds)


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


# To a bucket, and from it

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


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MotoProcess]:
    with moto_process(tmp_path_factory.mktemp("moto") / "log", BUCKET) as server:
        yield server


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory, moto: MotoProcess, kind: str) -> Given:
    place = tmp_path_factory.mktemp("given")
    world = World(place / "home")
    world.write_config(CONFIG.replace("LOGS", str(place / "logs")))
    (world.home / "config" / "there.tpc").write_text(connection(moto.url))
    return (before_push if kind == "push" else before_pull)(place, world)


@pytest.mark.parametrize("step", STEPS)
def test_killed_between_disk_and_bucket(
    tmp_path: Path, given: Given, moto: MotoProcess, kind: str, step: str, record_property: Noted
) -> None:
    under_way = hand(kind, tmp_path, given, moto, step.replace(":", "-"))
    with under_way.home.start(*under_way.arguments, TAILRACE_KILL_AT=step) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    under_way.assert_made_good(given.rows)
    record_property("kills", 1)
    record_property("rows compared", given.rows.total())


@pytest.fixture(scope="module")
def undisturbed_seconds(tmp_path_factory: pytest.TempPathFactory, given: Given, moto: MotoProcess, kind: str) -> float:
    timed = hand(kind, tmp_path_factory.mktemp("timed"), given, moto, "timed")
    began = time.monotonic()
    assert timed.home.run(*timed.arguments).code == 0
    seconds = time.monotonic() - began
    assert rows_of(timed.taken) == given.rows
    return seconds


@pytest.mark.parametrize("number", range(MOMENTS))
def test_killed_at_any_moment_between_disk_and_bucket(
    tmp_path: Path,
    given: Given,
    moto: MotoProcess,
    kind: str,
    undisturbed_seconds: float,
    number: int,
    record_property: Noted,
) -> None:
    part = (number + random.Random(number).random()) / MOMENTS
    is_killed, attempt = False, 0
    while not is_killed:
        under_way = hand(kind, tmp_path / str(attempt), given, moto, f"moment{number}-{attempt}")
        before = under_way.seen()
        with under_way.home.start(*under_way.arguments) as process:
            time.sleep(undisturbed_seconds * (0.2 + 0.8 * part) * 0.8**attempt)
            process.send_signal(signal.SIGKILL)
        is_killed, attempt = process.returncode == -signal.SIGKILL, attempt + 1
    found = under_way.seen()
    under_way.assert_made_good(given.rows)
    record_property("kills", 1)
    record_property("of them when some days were there", int(before < found < given.rows.total()))
    record_property("rows compared", given.rows.total())


# Several at once into one lake

from_bucket = pytest.mark.parametrize("kind", ["pull"], indirect=True)
MEETINGS = ("", "manifest-written", "day-copied:3", "segment-written", "committed:2")
"Where the first waits until the other has come; nowhere, so that they take turns as they like."


@from_bucket
@pytest.mark.parametrize("step", MEETINGS)
def test_two_pull_at_once(tmp_path: Path, given: Given, moto: MotoProcess, step: str, record_property: Noted) -> None:
    both = hand("pull", tmp_path, given, moto, "")
    missing, command = given.rows.total() - both.seen(), (*both.arguments, "--output", "json")
    with killed_afterwards(both.home.start(*command, TAILRACE_STOP_AT=step)) as first:
        wait_for(lambda: not step or is_stopped(first))
        with killed_afterwards(both.home.start(*command)) as second:
            time.sleep(WAITING if step else 0)
            assert second.poll() is None, "it waits"
            first.send_signal(signal.SIGCONT)
            done = [ended(first), ended(second)]
    assert [each.code for each in done] == [0, 0], done
    assert sum(day["added"] for each in done for day in each.json()["days"]) == missing, "each row by one of them"
    assert rows_of(both.taken) == given.rows
    check(both.taken, *PLACE)
    record_property("rows compared", given.rows.total())


def rows_but_when(lake: Lake) -> Counter[Any]:
    """All rows, whenever they were collected."""
    return Counter(asked(lake, f"select tp_id, hash(t) from (from {PLACE[0]} select * exclude tp_ingest_timestamp) t"))


@pytest.fixture(scope="module")
def pulled_and_collected(
    tmp_path_factory: pytest.TempPathFactory, given: Given, moto: MotoProcess, kind: str
) -> Counter[Any]:
    undisturbed = hand(kind, tmp_path_factory.mktemp("alone"), given, moto, "")
    assert undisturbed.home.run(*undisturbed.arguments).code == 0
    assert collectonce.started(undisturbed.home.path).wait(PATIENCE) == 0
    rows = rows_but_when(undisturbed.taken)
    assert rows.total() == len(rows) == given.rows.total() + 4 * ROWS
    return rows


@from_bucket
@pytest.mark.parametrize("step", MEETINGS)
def test_a_collection_meanwhile(
    tmp_path: Path,
    given: Given,
    moto: MotoProcess,
    pulled_and_collected: Counter[Any],
    step: str,
    record_property: Noted,
) -> None:
    pull, refused = hand("pull", tmp_path, given, moto, ""), 0
    with killed_afterwards(pull.home.start(*pull.arguments, TAILRACE_STOP_AT=step)) as first:
        wait_for(lambda: not step or is_stopped(first))
        while (code := collectonce.started(pull.home.path).wait(PATIENCE)) != 0:
            assert code == LockedError.exit_code
            refused += 1
            first.send_signal(signal.SIGCONT)
        assert ended(first).code == 0
    assert refused or not step
    assert rows_but_when(pull.taken) == pulled_and_collected
    check(pull.taken, *PLACE)
    record_property("rows compared", pulled_and_collected.total())


@from_bucket
@pytest.mark.parametrize("step", ["manifest-written", "segment-written", "committed"])
def test_a_pull_waits_for_a_collection(
    tmp_path: Path, given: Given, moto: MotoProcess, pulled_and_collected: Counter[Any], step: str
) -> None:
    pull = hand("pull", tmp_path, given, moto, "")
    with killed_afterwards(collectonce.started(pull.home.path, TAILRACE_STOP_AT=step)) as first:
        wait_for(lambda: is_stopped(first))
        with killed_afterwards(pull.home.start(*pull.arguments)) as second:
            time.sleep(WAITING)
            assert second.poll() is None, "it waits"
            first.send_signal(signal.SIGCONT)
            assert [ended(first).code, ended(second).code] == [0, 0]
    assert rows_but_when(pull.taken) == pulled_and_collected
    check(pull.taken, *PLACE)


# From a bucket whose server fails

FAULTS: tuple[Fault, ...] = (500, 503, ("wait", 0), ("cut", 0), ("cut", 9_000), ("short", 0), ("short", 9_000))


@pytest.fixture(scope="module")
def failing(given: Given, moto: MotoProcess) -> Iterator[WritableBucket]:
    """A copy of the bucket."""
    place = bucket_place(moto.url, "given")
    with serving(WritableBucket({place.key(name): place.read(name) for name in place.walk()})) as server:
        assert isinstance(server, WritableBucket)
        yield server


@from_bucket
@pytest.mark.parametrize("number", range(MOMENTS // 2))
def test_a_bucket_that_fails(
    tmp_path: Path, given: Given, moto: MotoProcess, failing: WritableBucket, number: int, record_property: Noted
) -> None:
    """Some objects at a time; what could not be read is told, and the next one goes on."""
    chance, pull, failed = random.Random(number), hand("pull", tmp_path, given, moto, ""), 0
    there = connection(failing.url, max_error_retry_attempts=1, min_error_retry_delay=5)
    (pull.home.path / "config" / "there.tpc").write_text(there)
    data = sorted(key for key in failing.objects if "/tp_date=" in key)
    failing.faults = {key: [chance.choice(FAULTS)] * chance.choice((0, 0, 0, 1, 4, 8)) for key in data}
    while (done := pull.home.run(*pull.arguments)).code:
        assert (done.code, "lake.io" in done.err) == (5, True), done
        pull.seen()
        failed += 1
    assert rows_of(pull.taken) == given.rows
    check(pull.taken, *PLACE)
    record_property("pulls that could not read something", failed)
    record_property("rows compared", given.rows.total())
