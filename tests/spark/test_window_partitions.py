"""Windows that Spark answers, whatever partitions and files are called and whichever tables there are."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from otaptables import START, simple, write
from otlprequests import told_by_proto
from windowqueries import PASS_THROUGH, SAMPLED
from windowruns import MINUTE, places, results, sources_of, spec_at

from tailrace.windows import run as running
from tailrace.windows.spark_engine import register, run_by_spark
from tailrace.windows.unit import Wanted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "windows.md"
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


def test_filters_on_the_table_of_all_tables_reach_the_files(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("shop", "bank"):
        write(tmp_path / "in", simple(name, ["a", "b"]))
    session, spec = spark.newSession(), spec_at(tmp_path)
    register(session, spec, Wanted(START, tuple(sources_of(spec, tmp_path / "state"))))

    def plan(query: str) -> str:
        return str(session.sql(query)._jdf.queryExecution().executedPlan().toString())

    part = next((tmp_path / "in" / "logs").iterdir()).name.removeprefix("_part_id=")
    assert plan("select count(*) from otap_temporal").count("FileScan parquet") > 3
    one = plan(f"select count(*) from otap_temporal where _table_type = 'logs' and _part_id = '{part}'")
    assert one.count("FileScan parquet") == 1
    assert "PartitionFilters: [isnotnull(_part_id#" in one
    assert f" = {part})]" in one


def test_a18_the_query_over_one_table(spark: SparkSession, tmp_path: Path) -> None:
    """As the page has it, with another attribute for the weight."""
    for name in ("shop", "bank"):
        write(tmp_path / "in", simple(name, ["a"] * 30))
    (query,) = re.findall(
        r"```text\n(with drawn as \(\n  select _part_id, weighted.*?)```", PAGE.read_text(), re.DOTALL
    )
    query = query.replace("sampling.weight", "of").replace("100", "9")
    by_duckdb, by_spark = by_both(spark, tmp_path, query)
    assert by_spark == by_duckdb
    assert sum(sum(told_by_proto(body).values()) for body in by_spark.values()) == 18
