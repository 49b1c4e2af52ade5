"""Artifacts that one of two lakes has read again as a whole: the other gets the later version, each row once."""

from __future__ import annotations

from pathlib import Path

import pytest
from logfiles import access_lines, write
from twolakes import DAYS, PLACE, hand, other
from world import World

from tailrace.lake.paths import Lake
from tailrace.lake.quarantine import read_quarantine

ROWS = 40
REFUSED = ["what is this", "and this"]


def lines_of(day: int = 0, rows: int = ROWS) -> list[str]:
    """Of one day, with two records in the middle that cannot be read."""
    lines = access_lines(DAYS[day], rows).splitlines()
    return [*lines[:5], *REFUSED, *lines[5:]]


def edited(lines: list[str], *, near: int = 20) -> list[str]:
    """A byte more in one line: those after it lie elsewhere, and have other ids."""
    return [line.replace('"GET /', '"GET /x', 1) if number == near else line for number, line in enumerate(lines)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "home")
    config = f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{tmp_path}/logs"] }}\n}}\n'
    world.write_config(config)
    return world


@pytest.fixture
def remote(tmp_path: Path) -> Lake:
    return other(tmp_path / "remote")


def put(world: World, lines: list[str], name: str = "a.log") -> None:
    write(world.home.parent / "logs" / name, "".join(f"{line}\n" for line in lines))
    (report,) = world.collect()
    assert not report.troubles


def refused(lake: Lake) -> list[bytes]:
    return sorted(read_quarantine(lake, *PLACE).column("raw").to_pylist())


def test_what_is_quarantined_here_stays(world: World, remote: Lake) -> None:
    held = sorted(line.encode() for line in REFUSED)
    put(world, lines_of())
    hand("push", world.lake, remote)
    put(world, edited(lines_of()))
    assert refused(world.lake) == held
    hand("push", world.lake, remote)
    put(world, lines_of(1), "b.log")
    hand("pull", remote, world.lake)
    assert refused(world.lake) == sorted(held * 2)
    world.collect()
    assert refused(world.lake) == sorted(held * 2)
    assert not refused(remote), "quarantined records are not handed over"


def test_a_later_version_from_elsewhere_leaves_the_quarantine(world: World, remote: Lake, tmp_path: Path) -> None:
    """Here it was read twice, there a third time."""
    put(world, lines_of())
    put(world, edited(lines_of()))
    hand("push", world.lake, remote)
    there = World(world.home, elsewhere=remote.elsewhere)
    put(there, edited(edited(lines_of()), near=10))
    assert len(refused(remote)) == 2
    hand("pull", remote, world.lake)
    assert refused(world.lake) == sorted(line.encode() for line in REFUSED)
