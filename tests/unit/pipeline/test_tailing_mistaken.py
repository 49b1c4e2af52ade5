"""Files that could be taken for others: under two names in one run, or because they begin alike."""

from __future__ import annotations

import gzip
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from lakecheck import check
from livelog import START, LiveLog, line
from world import World

from tailrace.core import TimeRange
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.unit import run_unit


@pytest.fixture
def log(world: World, tmp_path: Path) -> LiveLog:
    return LiveLog(world, tmp_path / "logs")


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("rotations", [1, 2])
def test_rotated_after_listing_nothing_is_read_under_two_names(log: LiveLog, rotations: int, known: bool) -> None:
    for _ in range(3):
        log.append(50, 100)
        log.rotate()
    log.append(30, 100)
    if known:
        log.collect()
        log.append(20, 100)
    left = [log.rotate] * rotations

    def run(_: Any, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        while left:
            left.pop()()
            log.append(10, 100)
        return [run_unit(job, unit) for unit in units]

    log.world.run = run
    log.collect()
    assert max(log.stored().values(), default=1) == 1
    log.collect()
    assert log.stored() == log.expected()


@pytest.mark.parametrize("alike", [1, 20, 200])
def test_emptied_and_filled_again_with_the_same_first_lines(log: LiveLog, alike: int) -> None:
    """A banner, say, that a program writes whenever it starts."""
    log.append(500, 40)
    log.collect()
    log.path.write_bytes(b"".join(line(n, 40) for n in [*range(alike), *range(600, 700)]))
    log.collect()
    assert set(log.stored()) == {*range(500), *range(600, 700)}


def test_a_shorter_file_that_begins_like_one_that_is_gone(log: LiveLog) -> None:
    log.append(500, 40)
    log.collect()
    log.path.rename(log.folder.parent / "elsewhere")
    (log.folder / "app.log.7").write_bytes(b"".join(line(n, 40) for n in [*range(100), *range(600, 650)]))
    log.collect()
    assert set(log.stored()) == {*range(500), *range(600, 650)}


def put_in_place(path: Path, data: bytes) -> None:
    """Another file under its name, of the same time of change."""
    before = path.stat()
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(data)
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.replace(path)
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert after.st_ino != before.st_ino


def numbers(log: LiveLog) -> list[int]:
    check(log.world.home, "t", "p")
    return sorted(n for (n,) in log.world.query("select n from t"))


def test_another_file_of_the_same_size_and_time_is_noticed(log: LiveLog) -> None:
    """Edited, most of its lines are there: its rows are replaced. Others altogether: a new file."""
    log.append(10)
    log.collect()
    text = log.path.read_bytes()
    put_in_place(log.path, text.replace(b'"n": 5', b'"n": 7'))
    (report,) = log.world.collect()
    assert (report.clean, report.done) == (True, 1)
    assert numbers(log) == [0, 1, 2, 3, 4, 6, 7, 7, 8, 9]
    put_in_place(log.path, b"".join(line(n).replace(b"T00:", b"T01:") for n in range(10)))
    (report,) = log.world.collect()
    assert [advice.code for advice in report.advice] == ["data.other-content"]
    assert len(numbers(log)) == 20
    (report,) = log.world.collect()
    assert (report.wanted, report.advice) == (0, [])


def test_a_compressed_file_of_the_same_size_and_time_is_noticed(log: LiveLog) -> None:
    path = log.folder / "old.log.gz"
    packed = [gzip.compress(line(n), 0, mtime=0) for n in (1, 2)]
    path.write_bytes(packed[0])
    log.world.collect()
    put_in_place(path, packed[1])
    log.world.collect()
    assert numbers(log) == [2]
    (report,) = log.world.collect()
    assert report.wanted == 0


def test_a_file_system_whose_numbers_change(log: LiveLog) -> None:
    """The same bytes under another number: nothing is read again, and nothing is stored twice."""
    (log.folder / "old.log.gz").write_bytes(gzip.compress(line(100), mtime=0))
    log.append(10)
    for _ in range(3):
        for path in list(log.folder.iterdir()):
            put_in_place(path, path.read_bytes())
        (report,) = log.world.collect()
        assert report.clean
        log.append(1)
    assert report.wanted == 1
    for path in list(log.folder.iterdir()):
        put_in_place(path, path.read_bytes())
    log.world.collect()
    for path in list(log.folder.iterdir()):
        put_in_place(path, path.read_bytes())
    (report,) = log.world.collect()
    assert report.wanted == 0
    assert numbers(log) == [*range(13), 100]


def test_two_files_that_change_places(log: LiveLog) -> None:
    log.append(3)
    other = log.folder / "other.log"
    other.write_bytes(b"".join(line(n) for n in (7, 8, 9)))
    times = log.path.stat()
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    log.world.collect()
    between = log.folder / ".between"
    log.path.rename(between)
    other.rename(log.path)
    between.rename(other)
    (report,) = log.world.collect()
    assert (report.clean, report.wanted) == (True, 0)
    assert numbers(log) == [0, 1, 2, 7, 8, 9]


@pytest.mark.parametrize("wide", [True, False])
def test_overwriting_says_what_is_left_of_an_earlier_file(log: LiveLog, wide: bool) -> None:
    """And nothing where all was replaced, or where it could not be."""
    log.append(10)
    log.collect()
    log.path.write_bytes(b"".join(line(n) for n in range(100, 110)))
    window = TimeRange(START, None if wide else START + timedelta(minutes=5))
    (report,) = log.world.collect(window=window, overwrite=True)
    assert report.clean
    told = [(advice.code, "outside the range" in advice.message) for advice in report.advice]
    assert told == ([] if wide else [("data.other-content", True)])
    assert numbers(log) == [*(() if wide else range(5, 10)), *(range(100, 110) if wide else ())]
