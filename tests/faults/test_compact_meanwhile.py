"""Readers and collectors beside compactions: no reader fails, or sees a row twice or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

import pytest
from lakecheck import check, stored
from logfiles import access_lines, write
from world import World

from tailrace.lake.lock import partition_lock
from tailrace.lake.snapshot import snapshot
from tailrace.lake.undo import restore

WEB = ("nginx_access_log", "web")
DAYS = [date(2024, 5, 1) + timedelta(days=n) for n in range(4)]
CONFIG = 'partition "nginx_access_log" "web" {{\n {}\n source "file" {{ paths = ["{}"] }}\n}}'
ASK = "select count(*), count(distinct tp_id), count(distinct tp_date) from nginx_access_log"
Answer = tuple[int, int, int]


@contextmanager
def asked(world: World) -> Iterator[list[Answer]]:
    """What a query answers again and again, in the order of the answers, until the end of the block."""
    answers: list[Answer] = []
    errors: list[Exception] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                answers.append(world.query(ASK)[0])  # type: ignore[arg-type]
            except Exception as error:
                errors.append(error)
                return

    reader = threading.Thread(target=ask)
    reader.start()
    try:
        yield answers
    finally:
        over.set()
        reader.join()
    assert errors == []
    assert len(answers) > 5


def write_logs(logs: Path, number: int) -> None:
    for day in DAYS:
        write(logs / f"{day}-{number}.log", access_lines(day, 20))


@pytest.fixture
def logs(world: World, tmp_path: Path) -> Path:
    """Four days, each in three files."""
    world.write_config(CONFIG.format("", tmp_path / "logs"))
    for number in range(3):
        write_logs(tmp_path / "logs", number)
        world.collect()
    return tmp_path / "logs"


def turns(world: World, logs: Path, small: int) -> Iterator[Callable[[], object]]:
    """Merged, small again, by another index, and back."""

    def restored() -> None:
        with partition_lock(world.lake, *WEB, "test"):
            restore(world.lake, *WEB, small)

    for index in ('tp_index = "status"', ""):
        yield world.compact
        yield restored
        world.write_config(CONFIG.format(index, logs))
        yield world.reindex


def test_readers_see_every_row_once(world: World, logs: Path) -> None:
    small = snapshot(world.lake, WEB[0]).version
    with asked(world) as answers:
        for turn in [*turns(world, logs, small)] * 2:
            turn()
    assert set(answers) == {(240, 240, 4)}
    check(world.home, *WEB)


def test_collections_go_through_beside_compactions(world: World, logs: Path) -> None:
    over = threading.Event()
    merged: list[int] = []
    troubles: list[str] = []

    def compact() -> None:
        while not over.is_set():
            for report in world.compact():
                merged.append(report.files_before)
                # It may find the partition held for as long as it cares to wait, and others' changes under way.
                troubles.extend(t.message for t in report.troubles if t.code != "lake.locked")
                troubles.extend([] if report.error is None else [str(report.error)])

    compactor = threading.Thread(target=compact)
    with asked(world) as answers:
        compactor.start()
        for number in range(3, 9):
            write_logs(logs, number)
            (report,) = world.collect()
            assert (report.error, report.troubles, report.counts.stored) == (None, [], 80)
        over.set()
        compactor.join()
    assert troubles == []
    assert any(merged)
    assert [answer[0] for answer in answers] == sorted(answer[0] for answer in answers), "rows only join"
    assert all(rows == ids and rows % 80 == 0 for rows, ids, _ in answers), "whole days, each row once"
    world.compact()
    assert stored(world.home).total() == len(stored(world.home)) == 9 * 80
    assert snapshot(world.lake, WEB[0]).files.num_rows == len(DAYS)
    check(world.home, *WEB)
