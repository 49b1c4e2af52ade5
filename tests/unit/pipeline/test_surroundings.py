"""What a task finds on another machine: another Tailrace, another disk, other files."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from lakecheck import check, stored
from logfiles import access_lines, write
from world import World

from tailrace.core import Artifact, SourceError
from tailrace.lake.place import LocalPlace
from tailrace.pipeline.failure import NOT_SHARED, spark_failure
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.merging import MergedUnit, MergeUnit, run_merges
from tailrace.pipeline.surroundings import Astray, check_lake, check_version
from tailrace.pipeline.unit import run_unit
from tailrace.sources.base import GONE
from tailrace.sources.file import FileSource

PLACE = ("nginx_access_log", "p")
DAY = date(2024, 5, 1)


def test_another_version_is_refused_before_it_is_told_anything() -> None:
    from tailrace import __version__

    check_version(__version__)
    with pytest.raises(Astray, match=r"has Tailrace .*, the driver 0\.0\.0"):
        check_version("0.0.0")


def test_the_run_is_noted_in_the_lake_before_any_task(world: World, tmp_path: Path) -> None:
    """Whoever does not find the note sees another disk; on the driver's own every task does."""
    seen: list[str] = []

    def run(_: Any, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        check_lake(job.noted, job.run)
        seen.append(f"{job.noted}/{job.run}.json")
        assert Path(seen[-1]).exists()
        with pytest.raises(Astray, match=r"does not see the lake: .*/elsewhere knows nothing of run \d+"):
            check_lake(LocalPlace(f"{tmp_path}/elsewhere"), job.run)
        return [run_unit(job, unit) for unit in units]

    world.run = run
    write(tmp_path / "logs" / "a.log", access_lines(DAY, 10))
    assert world.collect_one("nginx_access_log", str(tmp_path / "logs")).clean
    (note,) = seen
    assert not Path(note).exists(), "it goes with the run"


def test_a_compaction_is_noted_as_well(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[Path] = []

    def run(unit: MergeUnit) -> MergedUnit:
        check_lake(unit.noted, unit.shape.run)
        notes.append(Path(f"{unit.noted}/{unit.shape.run}.json"))
        assert notes[-1].exists()
        return run_merges(unit)

    monkeypatch.setattr("tailrace.pipeline.compact.run_here", run)
    for name in "ab":
        write(tmp_path / "logs" / f"{name}.log", access_lines(DAY, 10))
        assert world.collect_one("nginx_access_log", str(tmp_path / "logs")).clean
    (report,) = world.compact()
    assert (report.clean, report.files_before, report.files_after) == (True, 2, 1)
    (note,) = notes
    assert not note.exists()


def test_executors_that_see_another_disk_end_the_partition_at_once(world: World, tmp_path: Path) -> None:
    jobs = []

    def run(_: Any, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        jobs.append(units)
        raise RuntimeError("…\ntailrace.pipeline.surroundings.Astray: node7 does not see the lake: /l/x knows nothing")

    world.run = run
    for day in (1, 2, 3):
        write(tmp_path / "logs" / f"2024-05-0{day}.log", access_lines(date(2024, 5, day), 10))
    layout = "`%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.log`"
    world.write_config(
        f'partition "nginx_access_log" "p" {{\n lookback = "9999d"\n source "file" {{\n paths = ["{tmp_path}/logs"]\n'
        f" file_layout = {layout}\n}}\n}}"
    )
    (report,) = world.collect()
    (trouble,) = report.troubles
    assert (trouble.code, len(jobs)) == (NOT_SHARED, 1)
    assert trouble.message.startswith("node7 does not see the lake: /l/x knows nothing; the next run")
    assert trouble.hint
    assert "share" in trouble.hint
    assert not stored(world.home)


@pytest.mark.parametrize("other_file", [False, True])
def test_files_that_executors_do_not_see(world: World, tmp_path: Path, other_file: bool) -> None:
    """None there, or one of their own in its place: neither is stored, and both are told."""

    def run(_: Any, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        patch = pytest.MonkeyPatch()
        right = FileSource.open

        def blind(self: FileSource, artifact: Artifact) -> Any:
            if other_file:
                own = write(tmp_path / "their" / Path(artifact.location).name, access_lines(DAY, 5))
                return right(self, replace(artifact, uri=own.as_uri()))
            raise SourceError("cannot be read: no such file", code=GONE, where=artifact.location)

        patch.setattr(FileSource, "open", blind)
        try:
            results = [run_unit(job, unit) for unit in units]
        finally:
            patch.undo()
        for result in results:
            result.host = "node7"
        return results

    right, world.run = world.run, run
    for name in "abc":
        write(tmp_path / "logs" / f"{name}.log", access_lines(DAY, 10))
    report = world.collect_one("nginx_access_log", str(tmp_path / "logs"))
    (trouble,) = report.troubles
    assert trouble.code == "source.not-shared"
    assert "node7 does not see this file and 2 more files as it is here" in trouble.message
    assert not stored(world.home)
    world.run = right
    (report,) = world.collect()
    assert report.clean
    assert stored(world.home).total() == 30
    check(world.home, *PLACE)


def test_what_is_missing_on_executors_is_said() -> None:
    said = {
        "ModuleNotFoundError: No module named 'tailrace'": "executors have no Python module tailrace",
        "No module named tailrace.pipeline": "executors have no Python module tailrace.pipeline",
        'java.io.IOException: Cannot run program "/opt/v/bin/python": error=2': "no Python at /opt/v/bin/python",
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.11, PySpark": (
            "executors run Python 3.9, not 3.11"
        ),
        "tailrace.pipeline.surroundings.Astray: n1 has Tailrace 0.1.0, the driver 0.2.0\n": (
            "n1 has Tailrace 0.1.0, the driver 0.2.0"
        ),
    }
    for text, message in said.items():
        error = spark_failure(RuntimeError(f"Job aborted: {text}"))
        assert (error.code, message in error.message) == ("spark.environment", True), error
        assert "tailrace spark pack" in str(error.hint)
