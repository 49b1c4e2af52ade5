"""Pushes and pulls killed at random moments: run again, both lakes hold the same rows, each once."""

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
from lakecheck import check, stored
from logfiles import access_lines, today, write
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
