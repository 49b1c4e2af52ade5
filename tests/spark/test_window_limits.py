"""What a window may take, where Spark is at work: time, and how many windows at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from otaptables import START, simple, write
from windowqueries import PASS_THROUGH
from windowruns import MINUTE, places, results, spec_at

from tailrace.core.errors import QueryError
from tailrace.windows import run as running
from tailrace.windows.spark_engine import run_by_spark
from tailrace.windows.tasks import run_on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENDLESS = "SELECT count(*) AS n FROM range(1000000) a, range(1000000) b WHERE a.range % 7 = b.range % 11"


@pytest.mark.parametrize("engine", ["tasks", "spark"])
def test_a_query_that_takes_too_long(engine: str, spark: SparkSession, tmp_path: Path) -> None:
    """The error is the window's, not Spark's, and Spark goes on."""
    write(tmp_path / "in", simple("shop", ["a"]), simple("shop", ["b"], time=START + MINUTE))
    runner = run_on_spark if engine == "tasks" else run_by_spark
    spec = spec_at(tmp_path, query=ENDLESS, query_timeout=1.0, concurrent_windows=2)
    with pytest.raises(QueryError, match="stopped after 1 s") as failure:
        running.WindowRun(spec, places(tmp_path), lambda units: runner(spark, units)).run(START + 100 * MINUTE)
    assert failure.value.code == "window.timeout"
    assert str(failure.value.where).startswith("window=20260921T14")
    assert spark.range(3).count() == 3
    spec = spec_at(tmp_path, query=PASS_THROUGH, query_timeout=120.0, concurrent_windows=2)
    assert running.WindowRun(spec, places(tmp_path), lambda units: runner(spark, units)).run(START + 100 * MINUTE) == 2
    assert len(results(tmp_path)) == 2
