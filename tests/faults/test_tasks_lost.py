"""Tasks that die, are begun again, or live on after Spark has given them up: every row is stored once."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from lakecheck import check, stored
from logfiles import access_lines, write
from world import World

from tailrace.core import TimeRange
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.unit import run_unit

PLACE = ("nginx_access_log", "web")
LAYOUT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.log"
CONFIG = (
    f'partition "nginx_access_log" "web" {{\n source "file" {{\n paths = ["LOGS"]\n file_layout = `{LAYOUT}`\n}}\n}}'
)
DAYS = [date(2024, 5, n) for n in (1, 2, 3)]
MAY = TimeRange(datetime(2024, 5, 1), datetime(2024, 6, 1))


def written(logs: Path) -> str:
    for day in DAYS:
        write(logs / f"{day}.log", access_lines(day, 40) + "bad line\n")
    return CONFIG.replace("LOGS", str(logs))


class Failing:
    """Runs tasks in this process; the first job dies as it does when a worker is killed."""

    def __init__(self) -> None:
        self.jobs = 0

    def __call__(self, _: Any, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        self.jobs += 1
        results = [run_unit(job, unit) for unit in units]
        if self.jobs == 1:
            raise RuntimeError("Python worker exited unexpectedly (crashed)")
        return results


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_unit_that_died_comes_through_day_by_day(tmp_path: Path, overwrite: bool) -> None:
    """Three days in one task were too much; one by one they are not, and a range is overwritten all the same."""
    world = World(tmp_path / "home")
    world.write_config(written(tmp_path / "logs"))
    if overwrite:
        assert all(report.clean for report in world.collect(window=MAY))
        write(tmp_path / "logs" / f"{DAYS[0]}.log", access_lines(DAYS[0], 60))
    world.run = Failing()
    (report,) = world.collect(window=MAY, overwrite=overwrite)
    assert report.clean, report.troubles
    expected = 60 + 40 + 40 if overwrite else 3 * 40
    assert (report.counts.stored, stored(world.home).total()) == (expected, expected)
    check(world.home, *PLACE)


def test_a_twin_that_is_given_up_harms_nobody(tmp_path: Path) -> None:
    """Spark begins a task again while the first goes on: the twin writes, then fails and clears up after itself."""
    world = World(tmp_path / "home")
    world.write_config(written(tmp_path / "logs"))

    def twice(_: Any, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        twins = [run_unit(job, unit) for unit in units]
        kept = [run_unit(job, unit) for unit in units]
        for result in twins:
            for file in result.files:
                Path(job.table_root, file.path).write_bytes(b"half a file")
            for name in result.quarantine:
                Path(job.quarantine_root, name).unlink()
        for result in kept:
            result.retried = True
        return kept

    world.run = twice
    (report,) = world.collect(window=MAY)
    assert report.clean
    assert stored(world.home).total() == 3 * 40
    check(world.home, *PLACE)
    (manifest,) = world.lake.meta("runs", *PLACE).path.iterdir()
    directory = world.lake.table_root(PLACE[0]).path / "tp_partition=web" / "tp_index=default"
    late = directory / f"{manifest.stem}-00000-0-late.parquet"
    late.write_bytes(b"written by a twin when all was over")
    world.run = Failing()
    assert all(report.clean for report in world.collect())
    assert not late.exists()
    check(world.home, *PLACE)
