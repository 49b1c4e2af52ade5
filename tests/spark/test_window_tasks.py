"""Windows in Spark tasks: the results of this process, and numbers in the order of the windows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from otaptables import START, simple, write
from windowruns import MINUTE, places, results, run, spec_at

from tailrace.windows import run as running
from tailrace.windows.tasks import run_on_spark

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession


def test_windows_in_tasks(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [simple("shop", ["a", "b"], attributes=n % 3 > 0, time=START + n * MINUTE) for n in range(7)]
    write(tmp_path / "in", *requests)
    here = tmp_path / "here"
    here.mkdir()
    (here / "in").symlink_to(tmp_path / "in")
    expected = run(here)
    monkeypatch.setattr(running, "UNIT", 2)
    made = running.WindowRun(spec_at(tmp_path), places(tmp_path), lambda units: run_on_spark(spark, units))
    assert made.run(START + 100 * MINUTE) == 7
    assert results(tmp_path) == results(here)
    assert made.state.last is not None
    assert expected.state.last is not None
    starts = [(done.start, done.logs, done.selected) for done in made.state.last.windows]
    assert starts == [(done.start, done.logs, done.selected) for done in expected.state.last.windows]
