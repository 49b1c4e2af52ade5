"""What a collection merges when it is done: where it pays, and at no cost where it does not."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from lakecheck import check, stored
from logfiles import access_lines, write
from world import World

from tailrace.cli import after_collect
from tailrace.cli.after_collect import compact_after
from tailrace.cli.collecting import Collected, Plan
from tailrace.cli.interrupts import Interrupts
from tailrace.core import TimeRange
from tailrace.lake.lock import partition_lock
from tailrace.lake.snapshot import snapshot
from tailrace.pipeline.hands import Hands
from tailrace.pipeline.report import PartitionReport

WEB = ("nginx_access_log", "web")
OLD, NEW = date(2024, 5, 1), date(2024, 5, 2)


class NoSpark:
    """Little is merged without it."""

    hands = Hands()

    def get(self) -> Any:
        raise AssertionError("there is too little to do for a JVM")

    def cores(self) -> int:
        return 2

    def stop(self, patience: float | None = None) -> None:
        return


@pytest.fixture
def logs(world: World, tmp_path: Path) -> Path:
    world.write_config(f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{tmp_path}/logs"] }}\n}}')
    return tmp_path / "logs"


def collect(world: World, compacts: bool | None = None) -> PartitionReport:
    """As the command does it."""
    config = world.config()
    collected = Collected(world.collect())
    plan = Plan(config, list(config.partitions), world.lake, TimeRange(), compacts=compacts)
    compact_after(plan, collected, NoSpark(), Interrupts())  # type: ignore[arg-type]
    (report,) = collected.reports
    return report


def files(world: World) -> dict[date, int]:
    days = snapshot(world.lake, WEB[0]).files.column("tp_date").to_pylist()
    return {day: days.count(day) for day in sorted(set(days))}


def test_a_day_is_merged_when_it_has_eight_small_files(world: World, logs: Path) -> None:
    for number in range(9):
        write(logs / f"{OLD}-{number}.log", access_lines(OLD, 10))
        world.collect()
    merged = []
    for number in range(9):
        write(logs / f"{NEW}-{number}.log", access_lines(NEW, 10))
        report = collect(world)
        assert (report.clean, report.advice) == (True, [])
        merged.append(report.compaction.files_before if report.compaction else 0)
    assert merged == [0] * 7 + [8, 0]
    assert files(world) == {OLD: 9, NEW: 2}, "days that nothing was added to are left to `compact`"
    assert stored(world.home).total() == len(stored(world.home)) == 180
    check(world.home, *WEB)


def test_all_that_is_small_if_it_is_asked_for(world: World, logs: Path) -> None:
    for number in range(2):
        write(logs / f"{OLD}-{number}.log", access_lines(OLD, 10))
        world.collect()
    assert files(world) == {OLD: 2}
    report = collect(world, compacts=True)
    assert report.compaction is not None
    told: Any = report.as_dict()["compaction"]
    assert (told["files_before"], told["files_after"], told["troubles"]) == (2, 1, [])
    assert files(world) == {OLD: 1}


def test_where_nothing_was_collected_nothing_is_looked_at(
    world: World, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(logs / "a.log", access_lines(OLD, 10))
    collect(world)
    monkeypatch.setattr("tailrace.lake.snapshot.snapshot", None)
    assert collect(world).compaction is None


def test_somebody_else_is_at_work(world: World, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told of what was not asked for."""
    monkeypatch.setattr(after_collect, "PATIENCE", 0.0)
    for number in range(8):
        write(logs / f"{number}.log", access_lines(OLD, 10))
        world.collect()
    write(logs / "last.log", access_lines(OLD, 10))
    config, collected = world.config(), Collected(world.collect())
    told: list[str] = []
    for compacts, troubles in ((None, told), (True, ["lake.locked"])):
        plan = Plan(config, list(config.partitions), world.lake, TimeRange(), compacts=compacts)
        with partition_lock(world.lake, *WEB, "tailrace collect"):
            compact_after(plan, collected, NoSpark(), Interrupts())  # type: ignore[arg-type]
        (report,) = collected.reports
        assert report.advice == []
        assert [trouble.code for trouble in report.troubles] == troubles
    check(world.home, *WEB)
