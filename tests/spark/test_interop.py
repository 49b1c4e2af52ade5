from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_reads_the_files_of_a_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    # Spark's workers import this module too, and do not know where the tests' own modules are.
    from deltalake import DeltaTable
    from openlake import EXPECTED, FACTS, make_lake
    from pyspark.sql.types import StructType

    table = DeltaTable(make_lake(tmp_path / "home", tmp_path / "logs"))
    schema = StructType.fromJson(json.loads(table.schema().to_json()))
    spark.read.schema(schema).parquet(*table.file_uris()).createOrReplaceTempView("app")
    (row,) = spark.sql(FACTS.format("app")).collect()
    assert tuple(row) == EXPECTED
