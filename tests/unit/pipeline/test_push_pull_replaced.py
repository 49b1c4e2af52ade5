"""Artifacts that one of two lakes has read again as a whole: the other gets the later version, each row once."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from lakecheck import check
from logfiles import access_lines, write
from twolakes import ALL, DAYS, PLACE, asked, hand, other, rows_of, told
from world import World

from tailrace.core import TimeRange
from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake
from tailrace.lake.quarantine import read_quarantine
from tailrace.lake.undo import erase

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


def lines_in(lake: Lake) -> Counter[object]:
    return Counter(asked(lake, "select tp_timestamp, remote_addr, request_uri from nginx_access_log"))


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


def test_the_later_version_takes_the_place_of_the_earlier(world: World, remote: Lake, tmp_path: Path) -> None:
    put(world, lines_of())
    put(world, lines_of(rows=7), "b.log")
    hand("push", world.lake, remote)
    third = other(tmp_path / "third")
    hand("push", remote, third)
    put(world, edited(lines_of()))
    assert told(hand("pull", remote, world.lake)) == [("differs", 0, 0, ROWS)], "the later one is here"
    (done,) = hand("push", world.lake, remote)
    assert done.gone == done.added > 0
    for lake in (remote, third):
        hand("push", world.lake, lake)
        assert rows_of(lake) == rows_of(world.lake)
        check(lake, *PLACE)
    assert told(hand("pull", remote, world.lake)) == [("same", 0, 0, 0)]
    hand("pull", third, world.lake)
    assert rows_of(third) == rows_of(world.lake)


def test_rows_of_artifacts_that_the_sender_does_not_know_stay(world: World, remote: Lake, tmp_path: Path) -> None:
    elsewhere = World(tmp_path / "elsewhere" / "home")
    elsewhere.write_config((world.home / "config" / "test.tpc").read_text().replace("/logs", "/elsewhere/logs"))
    put(elsewhere, lines_of(rows=9), "c.log")
    hand("push", elsewhere.lake, remote)
    put(world, lines_of())
    hand("push", world.lake, remote)
    World(world.home, elsewhere=remote.elsewhere).compact()
    put(world, edited(lines_of())[:-3])
    hand("push", world.lake, remote)
    assert rows_of(remote) == rows_of(world.lake) + rows_of(elsewhere.lake)
    check(remote, *PLACE)


def test_the_artifact_read_last_wins(world: World, remote: Lake) -> None:
    put(world, lines_of())
    hand("push", world.lake, remote)
    there = World(world.home, elsewhere=remote.elsewhere)
    put(there, edited(lines_of()))
    put(world, edited(edited(lines_of()), near=9))
    for kind, source, target in (("pull", remote, world.lake), ("push", world.lake, remote)):
        before = rows_of(world.lake)
        hand(kind, source, target)  # type: ignore[arg-type]
        assert rows_of(world.lake) == before
    assert rows_of(remote) == before
    assert max(lines_in(remote).values()) == 1
    check(remote, *PLACE)


def test_who_deletes_rows_here_does_not_delete_them_there(world: World, remote: Lake) -> None:
    put(world, lines_of())
    hand("push", world.lake, remote)
    with partition_lock(world.lake, *PLACE, "test"):
        erase(world.lake, *PLACE, TimeRange(datetime(2024, 5, 1, 12), None))
    put(world, edited(lines_of()))
    hand("push", world.lake, remote)
    afternoon = "select count(*) from nginx_access_log where tp_timestamp >= '2024-05-01 12:00'"
    assert asked(world.lake, afternoon) == [(0,)]
    assert asked(remote, afternoon) == [(ROWS // 2,)]
    check(remote, *PLACE)


def test_another_file_of_that_name_on_another_machine(world: World, remote: Lake) -> None:
    """Paths are the same, lines are not: no version of each other, however often they are read."""
    put(world, lines_of())
    hand("push", world.lake, remote)
    shutil.rmtree(world.home / "data")
    shutil.rmtree(world.home / "meta")
    first = lines_in(remote)
    mine = [line.replace("GET /", "GET /of/another/machine/") for line in lines_of()]
    for lines in (mine, edited(mine), edited(mine, near=9)):
        put(world, lines)
        hand("push", world.lake, remote)
    left = lines_in(remote) & first
    assert left.total() >= ROWS - 6, "only rows at the same places are taken for the same"


def test_over_several_days_and_cut_off_between(world: World, remote: Lake) -> None:
    """Each day is a commit of its own; lines have gone, and one has come to another day."""
    lines = [*lines_of(0), *lines_of(1), *lines_of(2)]
    put(world, lines)
    hand("push", world.lake, remote)
    put(world, [line for number, line in enumerate(lines) if number % 20 != 10])
    days = hand("push", world.lake, remote, replace(ALL, window=TimeRange(datetime(2024, 5, 3), None)))
    assert [one.gone > 0 for one in days] == [True]
    check(remote, *PLACE)
    later = rows_of(world.lake)
    hand("pull", remote, world.lake)
    assert rows_of(world.lake) == later, "days of the earlier version do not come back"
    hand("push", world.lake, remote)
    assert rows_of(remote) == later
    check(remote, *PLACE)


@pytest.mark.parametrize("with_others", [False, True])
def test_a_day_on_which_the_later_version_has_nothing(world: World, remote: Lake, *, with_others: bool) -> None:
    put(world, lines_of(0)[:9] + lines_of(1)[:2])
    if with_others:
        put(world, lines_of(1, rows=3), "b.log")
    hand("push", world.lake, remote)
    put(world, lines_of(0)[:9] + [line.replace("02/May", "03/May") for line in lines_of(1)[:2]])
    states = [one.shared.state for one in hand("push", world.lake, remote)]
    assert states == ["emptied", "new", *(["older"] if with_others else []), "differs"]
    for _ in range(2):
        assert rows_of(remote) == rows_of(world.lake)
        check(remote, *PLACE)
        assert not any(one.version for one in hand("push", world.lake, remote))
        assert not any(one.version for one in hand("pull", remote, world.lake))
