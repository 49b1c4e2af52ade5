"""The queries of the window document on Spark: the same rows as from DuckDB. Numbers as in docs/windows.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import sqlglot
from otaptables import START, simple, write
from windowqueries import COUNTED, FILTERED, PASS_THROUGH, PLACEHOLDERS, SAMPLED

from tailrace.lake.place import LocalPlace
from tailrace.windows.data import WindowData, load
from tailrace.windows.engine import answered, opened
from tailrace.windows.reading import read_parts
from tailrace.windows.schema import TABLES
from tailrace.windows.sql import rewritten, window_values
from tailrace.windows.views import views

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTE = 60_000_000_000
VALUES = window_values(START, START + MINUTE, 100)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("otap")
    requests = [simple("shop", ["x"] * 300), simple("bank", ["c", "d"], attributes=False), simple("post", ["e"] * 5)]
    for record in requests[2][0]["scopes"][0]["records"]:
        record |= {"severity": 17, "trace": bytes(range(16))}
        record["attributes"] += (("sampling.weight", "2.5"),)
    requests[0][0]["scopes"][0]["records"][0]["attributes"] += (("sampling.weight", "heavy"),)
    write(made, *requests)
    return made


@pytest.fixture(scope="module")
def window(base: Path) -> WindowData:
    return load(read_parts(LocalPlace(str(base))), START, START + MINUTE)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, window: WindowData) -> None:
    for name in TABLES:
        table: pa.Table = getattr(window, name)
        flat = [f for f in table.schema if not pa.types.is_struct(f.type)]
        columns = {f.name: table[f.name].cast(_SIGNED.get(f.type, f.type)) for f in flat}
        spark.createDataFrame(pa.table(columns)).createOrReplaceTempView(name)
    for name, query in views().items():
        translated = sqlglot.transpile(query, read="duckdb", write="spark")[0]
        spark.sql(translated).createOrReplaceTempView(name)


_SIGNED = {pa.uint8(): pa.int16(), pa.uint32(): pa.int64(), pa.binary(16): pa.binary(), pa.binary(8): pa.binary()}


def rows(found: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found.to_pylist()]


@pytest.mark.parametrize("query", [PASS_THROUGH, FILTERED, SAMPLED, COUNTED, PLACEHOLDERS])
def test_a18_a39_the_queries_as_printed(query: str, spark: SparkSession, tables: None, window: WindowData) -> None:
    on_spark = spark.sql(rewritten(query, "spark", VALUES)).toArrow()
    with opened(window) as connection:
        expected = answered(connection, rewritten(query, "duckdb", VALUES))
    assert on_spark.column_names == expected.column_names
    assert sorted(map(repr, rows(on_spark))) == sorted(map(repr, rows(expected)))
    assert len(expected) or query == COUNTED


def test_a27_files_are_for_spark_too(spark: SparkSession, base: Path, window: WindowData) -> None:
    """With a schema of its own, as times in nanoseconds and numbers without a sign are not Spark's."""
    logs = "id BIGINT, time_unix_nano BIGINT, resource STRUCT<id: BIGINT>, trace_id BINARY, _part_id STRING"
    attributes = "parent_id BIGINT, key STRING, type INT, str STRING, int BIGINT, _part_id STRING"
    for name, schema in (("logs", logs), ("log_attrs", attributes)):
        files = [str(path) for path in (base / name).rglob("*.parquet")]
        found = spark.read.schema(schema).option("basePath", str(base / name)).parquet(*files).toArrow()
        assert len(found) == len(getattr(window, name))
        assert set(found["_part_id"].to_pylist()) == set(window.logs["_part_id"].to_pylist())
    assert sorted(found["int"].drop_null().to_pylist()) == sorted(window.log_attrs["int"].drop_null().to_pylist())
