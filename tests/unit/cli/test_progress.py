"""The live display: what it shows while tasks work, and with more partitions than lines."""

from __future__ import annotations

import time
from datetime import datetime
from io import StringIO
from pathlib import Path

import owntime
import pytest
from logfiles import access_lines, today, write
from msgspec.structs import replace
from rich.console import Console
from world import World

from tailrace.cli.progress import Display
from tailrace.config.tables import tables_for
from tailrace.core import Artifact
from tailrace.pipeline import headway
from tailrace.pipeline.headway import Note, TaskNotes, forget, note_of
from tailrace.pipeline.job import Job, Unit
from tailrace.pipeline.report import PartitionReport
from tailrace.pipeline.unit import run_unit
from tailrace.sources import make_source


@pytest.fixture
def job(world: World, tmp_path: Path) -> Job:
    world.write_config("")
    table = tables_for(world.config(), "nginx_access_log")
    lake = world.lake
    return Job(
        table=table,
        partition="web",
        formats=(table.format,),
        run="run1",
        started=datetime(2024, 5, 1),
        table_root=lake.table_root(table.name),
        quarantine_root=lake.meta("quarantine", table.name, "web"),
        notes=str(tmp_path),
    )


def unit(number: int = 0) -> Unit:
    return Unit(number, (), ())


def shown(display: Display) -> list[str]:
    out = StringIO()
    Console(file=out, width=200).print(display.render())
    return [line.strip() for line in out.getvalue().splitlines()]


def report(name: str, **more: int) -> PartitionReport:
    made = PartitionReport(f"nginx_access_log.{name}", run="run1")
    for field, value in more.items():
        setattr(made, field, value)
    return made


def test_tasks_note_how_far_they_are(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headway, "EVERY", 0)
    file = write(tmp_path / "a.log", "x" * 1000)
    first, second = TaskNotes(job, unit(0)), TaskNotes(job, unit(1))
    with file.open("rb") as raw:
        first.opened(raw)
        raw.read(10)
        first.read(5, 1)
        assert note_of(tmp_path, "run1") == Note(0, 10, 5, 1)
    first.over(1000)
    second.read(7, 0)
    assert note_of(tmp_path, "run1") == Note(1, 1000, 12, 1)
    assert note_of(tmp_path, "run2") == Note()
    first.close()
    second.close()
    forget(job, unit(0))
    assert note_of(tmp_path, "run1") == Note(0, 0, 7, 0)


def test_nobody_watches(job: Job, tmp_path: Path) -> None:
    """No directory, or one that is on another machine: nothing is written, and nothing fails."""
    for place in (None, str(tmp_path / "elsewhere")):
        task = TaskNotes(replace(job, notes=place), unit())
        task.read(5, 0)
        task.over(10)
        task.close()
    assert note_of(tmp_path, "run1") == note_of(tmp_path / "elsewhere", "run1") == Note()


def test_a_unit_leaves_its_note(job: Job, tmp_path: Path) -> None:
    file = write(tmp_path / "logs" / "a.log", access_lines(today(), 50) + "no access line\n")
    source = make_source("file", {"paths": (str(file),)}, None, ())
    artifact = Artifact(f"file://{file}", file.stat().st_size, "v", "file", location=str(file))
    result = run_unit(replace(job, sources=(source,)), Unit(3, (artifact,), (0,)))
    assert result.error is None
    assert note_of(tmp_path, "run1") == Note(1, artifact.size, 50, 1)


def test_lines_of_the_display(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headway, "EVERY", 0)
    clock = [1000.0]
    owntime.give(monkeypatch, "tailrace.cli.progress", monotonic=lambda: clock[0])
    display = Display(str(tmp_path))
    web = report("web", discovered=9, wanted=4, wanted_bytes=4000)
    listed = PartitionReport("nginx_access_log.shop", discovered=1200)
    for each in (web, listed):
        display.update(each)
    task = TaskNotes(job, unit())
    task.over(400)
    assert "1/4 artifacts" in shown(display)[0]
    clock[0] += 2
    task.read(500, 3)
    task.over(600)
    line, other = shown(display)
    assert "1,200 artifacts found" in other
    assert "listing" in other
    cells = ("2/4 artifacts of 9 found", "1.0 kB/4.0 kB", "500 rows", "250 rows/s", "10.0 s left", "3 quarantined")
    for cell in cells:
        assert cell in line
    task.close()
    web.seconds, web.done, web.done_bytes = 3.0, 4, 4000
    web.counts.received, web.counts.stored = 2000, 2000
    assert shown(display)[0].split("  ")[0] == "✓"
    assert "4/4 artifacts" in shown(display)[0]
    assert "left" not in shown(display)[0]


def test_more_partitions_than_lines(tmp_path: Path) -> None:
    display = Display(None, height=10)
    for number in range(200):
        each = report(f"p{number}", wanted=1, wanted_bytes=10)
        each.seconds = 1.0 if number < 190 else 0.0
        display.update(each)
    lines = shown(display)
    assert len(lines) == 10
    assert [f"nginx_access_log.p{n}" in lines[n - 190] for n in range(190, 199)] == [True] * 9
    assert lines[-1] == "and 191 more partitions"
    again = report("p199", wanted=5)
    display.update(again)
    assert display.lines["nginx_access_log.p199"].report is again, "another round begins anew"


def test_drawing_is_quick(tmp_path: Path) -> None:
    """It happens four times a second beside the work."""
    display = Display(str(tmp_path), height=60)
    for number in range(16):
        display.update(report(f"p{number}", wanted=100, wanted_bytes=1000))
    began = time.process_time()
    for _ in range(10):
        display.render()
    assert (time.process_time() - began) / 10 < 0.05
