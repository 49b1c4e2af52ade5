"""Partitions take turns: none waits for a large one or for a source that hangs, and not all are in memory at once."""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from logfiles import write
from world import World

from tailrace.core import TimeRange
from tailrace.pipeline import collect as collecting
from tailrace.pipeline import plan
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.listing import Listed, Listing
from tailrace.pipeline.partition_run import PartitionRun
from tailrace.pipeline.prepare import Survey
from tailrace.pipeline.unit import run_unit

TABLE = 'table "orders" {\n column "tp_timestamp" { source = "at" }\n column "n" { type = "bigint" }\n}\n'
LAYOUT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.log"
MANY = 48
"Three times as many as may be under way."


def partition(name: str, logs: Path, layout: str = "") -> str:
    lines = f'paths = ["{logs}"]\n format = format.jsonl.default\n{layout}'
    return f'partition "orders" "{name}" {{ source "file" {{\n {lines}\n}} }}\n'


class Jobs:
    """Runs jobs and remembers in which order they came, and how many at once."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.at_once = self.most = 0
        self.lock = threading.Lock()

    def __call__(self, _: Any, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        with self.lock:
            self.order.append(job.partition)
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        try:
            return [run_unit(job, unit) for unit in units]
        finally:
            with self.lock:
                self.at_once -= 1


def test_small_ones_do_not_wait_for_a_large_one(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SMALLEST_UNIT", "SMALLEST_GROUP"):
        monkeypatch.setattr(plan, name, 1)
    monkeypatch.setattr(plan, "UNITS_PER_CORE", 40)
    days = [f"2024-05-{day:02}" for day in range(1, 31)]
    for day in days:
        write(tmp_path / "large" / f"{day}.log", f'{{"at": "{day}T10:00:00Z", "n": 1}}\n')
    smalls = [f"small{n}" for n in range(5)]
    text = TABLE + partition("large", tmp_path / "large", f" file_layout = `{LAYOUT}`")
    for name in smalls:
        write(tmp_path / name / "a.log", '{"at": "2024-05-01T10:00:00Z", "n": 1}\n')
        text += partition(name, tmp_path / name)
    world.write_config(text)
    all_listed = threading.Barrier(6)
    monkeypatch.setattr(PartitionRun, "look", together(all_listed))
    world.run = jobs = Jobs()
    reports = world.collect(window=TimeRange(datetime(2024, 5, 1)))
    assert all(report.clean for report in reports)
    assert [report.counts.stored for report in reports] == [30, 1, 1, 1, 1, 1]
    assert len(jobs.order) > 15, "the large one has many jobs"
    assert max(jobs.order.index(name) for name in smalls) < 9
    assert jobs.most <= collecting.JOBS_AT_ONCE


def together(barrier: threading.Barrier) -> Any:
    right = PartitionRun.look

    def look(run: PartitionRun) -> Survey:
        found = right(run)
        barrier.wait(30)
        return found

    return look


def test_many_partitions(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = write(tmp_path / "logs" / "a.log", '{"at": "2024-05-01T10:00:00Z", "n": 1}\n').parent
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    world.write_config(TABLE + "".join(partition(f"p{n}", nothing if n % 4 else logs) for n in range(MANY)))
    most, others = 0, threading.active_count()
    right = PartitionRun.plan

    def counted(run: PartitionRun, found: Survey) -> None:
        nonlocal most
        right(run, found)
        most = max(most, threading.active_count() - others)

    monkeypatch.setattr(PartitionRun, "plan", counted)
    world.run = jobs = Jobs()
    reports = world.collect()
    assert all(report.clean for report in reports)
    assert [report.name for report in reports] == [f"orders.p{n}" for n in range(MANY)]
    assert jobs.most <= collecting.JOBS_AT_ONCE
    assert most <= collecting.PARTITIONS_AT_ONCE + collecting.JOBS_AT_ONCE
    assert world.query("select count(*), count(distinct tp_partition) from orders") == [(MANY // 4, MANY // 4)]


def test_a_source_that_takes_long_holds_up_nobody(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = write(tmp_path / "logs" / "a.log", '{"at": "2024-05-01T10:00:00Z", "n": 1}\n').parent
    world.write_config(TABLE + "".join(partition(name, logs) for name in ("slow", "one", "two")))
    right, done = Listing.look, threading.Semaphore(0)

    def look(listing: Listing, *args: Any, **more: Any) -> Listed:
        if listing.spec.name == "slow":
            assert all(done.acquire(timeout=30) for _ in range(2)), "the others wait for the slow one"
        return right(listing, *args, **more)

    def run(_: Any, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        results = [run_unit(job, unit) for unit in units]
        done.release()
        return results

    monkeypatch.setattr(Listing, "look", look)
    world.run = run
    assert [report.counts.stored for report in world.collect()] == [1, 1, 1]
