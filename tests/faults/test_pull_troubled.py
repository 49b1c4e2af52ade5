"""Pulls from a bucket whose server fails: what passes is waited for, what stays is told, and the next pull goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bucketserver import Fault, serving
from commandline import Home
from lakecheck import check
from remotelake import BUCKET, connection
from twolakes import DAYS, PLACE, ROWS, made_in, rows_of
from writablebucket import WritableBucket

from tailrace.lake.paths import Lake

PULL = ("pull", "*", "--lake", f"s3://{BUCKET}/given", "--connection", "aws.test", "--output", "json")
BAD = DAYS[1]
"Newer days are there before it."
SHORT = ("short", 700)
"Less than the range that it is said to be."
PASSING: dict[str, list[Fault]] = {
    "500": [500],
    "503 twice": [503, 503],
    "429": [("wait", 1)],
    "cut at once": [("cut", 0)],
    "cut in the middle": [("cut", 700), ("cut", 4_000)],
}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WritableBucket, Lake]]:
    """A bucket with four days in it, and the lake that they were pushed from."""
    place = tmp_path_factory.mktemp("given")
    world = made_in(place)
    with serving(WritableBucket()) as server:
        assert isinstance(server, WritableBucket)
        (world.home / "config" / "there.tpc").write_text(connection(server.url))
        pushed = Home(world.home).run("push", *PULL[1:])
        assert pushed.code == 0, pushed
        yield server, world.lake


@pytest.fixture
def server(given: tuple[WritableBucket, Lake]) -> Iterator[WritableBucket]:
    yield given[0]
    given[0].faults.clear()


@pytest.fixture
def here(tmp_path: Path, server: WritableBucket) -> Home:
    home = Home(tmp_path / "here", {"TAILRACE_CACHE_DIR": str(tmp_path / "cache")})
    home.configure(connection(server.url, max_error_retry_attempts=2, min_error_retry_delay=5))
    return home


def files(server: WritableBucket, what: str) -> list[str]:
    found = [key for key in server.objects if what in key and key.endswith((".parquet", ".json"))]
    assert found
    return found


def pulled(here: Home, code: int = 0) -> Any:
    done = here.run(*PULL)
    assert done.code == code, done
    return done.json()


def assert_all_come(here: Home, lake: Lake) -> list[dict[str, Any]]:
    """Returns what is told of the days."""
    days: list[dict[str, Any]] = pulled(here)["days"]
    assert rows_of(Lake(here.path)) == rows_of(lake)
    check(here.path, *PLACE)
    return days


@pytest.mark.parametrize("faults", PASSING.values(), ids=PASSING.keys())
def test_they_come_in_spite_of(faults: list[Fault], here: Home, given: tuple[WritableBucket, Lake]) -> None:
    """Data, log and ledger."""
    server, lake = given
    server.faults |= {key: list(faults) for key in files(server, "")}
    assert_all_come(here, lake)
    assert any(not left for left in server.faults.values())


def test_short_answers_are_asked_for_again(here: Home, given: tuple[WritableBucket, Lake]) -> None:
    server, lake = given
    server.faults |= {key: [SHORT, SHORT] for key in files(server, "tp_date=")}
    assert_all_come(here, lake)
    assert not any(server.faults.values())


@pytest.mark.parametrize("fault", [503, ("cut", 700), SHORT], ids=str)
def test_what_stays_is_told_and_the_next_goes_on(fault: Fault, here: Home, given: tuple[WritableBucket, Lake]) -> None:
    server, lake = given
    server.faults |= {key: [fault] * 500 for key in files(server, f"tp_date={BAD}")}
    told = pulled(here, code=5)
    assert [(day["day"], day["added"]) for day in told["days"]] == [(str(day), ROWS) for day in DAYS[:1:-1]]
    (trouble,) = told["troubles"]
    assert trouble["code"] == "lake.io"
    assert f"tp_date={BAD}" in trouble["message"]
    found = rows_of(Lake(here.path))
    assert found.total() == len(found) == 2 * ROWS
    server.faults.clear()
    again = assert_all_come(here, lake)
    assert [day["state"] for day in again] == ["same", "same", "new", "new"]
