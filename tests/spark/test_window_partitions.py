"""Windows that Spark answers, whatever partitions and files are called and whichever tables there are."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from otaptables import START, simple, write
from otlprequests import told_by_proto
from windowqueries import PASS_THROUGH, SAMPLED
from windowruns import MINUTE, places, results, spec_at

from tailrace.windows import run as running
from tailrace.windows.spark_engine import run_by_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD = ["a b", "a%2Fb", "ä", "[ab]", "{a,b}", "a*", "", "__HIVE_DEFAULT_PARTITION__", "a?b", "a#b", "a'b"]


@pytest.mark.parametrize("parts", [["one", "2", "ä=b"], ["a%2Fb"], ["__HIVE_DEFAULT_PARTITION__"], ODD])
def test_partitions_of_any_name_and_files_of_the_same(parts: list[str], spark: SparkSession, tmp_path: Path) -> None:
    """Every partition holds the same files, as copies do."""
    write(tmp_path / "made", simple("shop", ["x"] * 50), simple("bank", ["c", "d"], attributes=False))
    for table in ("logs", "log_attrs", "resource_attrs"):
        (held,) = (tmp_path / "made" / table).iterdir()
        for part in parts:
            shutil.copytree(held, tmp_path / "in" / table / f"_part_id={part}")
    by_duckdb, by_spark = by_both(spark, tmp_path, SAMPLED.replace("100", "20"))
    assert by_spark == by_duckdb != {}


def by_both(spark: SparkSession, root: Path, query: str) -> list[dict[str, bytes]]:
    """Results of DuckDB and of Spark, for what lies in `in`."""
    for engine in ("duckdb", "spark"):
        (root / engine).mkdir()
        (root / engine / "in").symlink_to(root / "in")
        runner = running.run_here if engine == "duckdb" else lambda units: run_by_spark(spark, units)
        spec = spec_at(root / engine, query=query, target_partitions=2)
        assert running.WindowRun(spec, places(root / engine), runner).run(START + 100 * MINUTE) == 1
    return [results(root / engine) for engine in ("duckdb", "spark")]


def test_a22_logs_with_an_id_and_no_attributes_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "in", simple("shop", ["a", "b"]), simple("bank", ["c"], attributes=False))
    shutil.rmtree(tmp_path / "in" / "log_attrs")
    by_duckdb, by_spark = by_both(spark, tmp_path, PASS_THROUGH)
    assert by_spark == by_duckdb
    assert sum(told_by_proto(next(iter(by_spark.values()))).values()) == 3
