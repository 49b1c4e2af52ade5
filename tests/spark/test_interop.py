from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NESTED = """
select count(*), count(distinct user_identity.arn), count(user_identity.user_name),
       max(user_identity.session_context.session_issuer.user_name),
       count(distinct get_json_object(request_parameters, '$.bucketName')),
       sum(cast(get_json_object(request_parameters, '$.n') as int)), count(shared_event_id),
       max(tp_index), min(tp_index)
from {}
"""


def read(spark: SparkSession, root: str) -> None:
    """As docs/interop.md shows: the log's schema and list of files."""
    # Spark's workers import this module too, and do not know where the tests' own modules are.
    from deltalake import DeltaTable
    from pyspark.sql.types import StructType

    table = DeltaTable(root)
    schema = StructType.fromJson(json.loads(table.schema().to_json()))
    spark.read.schema(schema).parquet(*table.file_uris()).createOrReplaceTempView("rows")


def test_spark_reads_the_files_of_a_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    from openlake import EXPECTED, FACTS, make_lake

    read(spark, make_lake(tmp_path / "home", tmp_path / "logs"))
    (row,) = spark.sql(FACTS.format("rows")).collect()
    assert tuple(row) == EXPECTED


def test_structs_json_and_an_index_of_digits(spark: SparkSession, tmp_path: Path) -> None:
    from openlake import NESTED_EXPECTED, make_trail

    read(spark, make_trail(tmp_path / "home", tmp_path / "logs"))
    (row,) = spark.sql(NESTED.format("rows")).collect()
    assert tuple(row) == NESTED_EXPECTED


def test_spark_reads_an_exported_tree(spark: SparkSession, tmp_path: Path) -> None:
    """By directory, with the columns that its list names: no log is needed."""
    from openlake import EXPECTED, FACTS, make_lake

    from tailrace.export.run import Export
    from tailrace.export.scope import Scope
    from tailrace.lake.paths import Lake

    make_lake(tmp_path / "home", tmp_path / "logs")
    Export(Lake(tmp_path / "home"), tmp_path / "tree", "hive").run({"app": Scope()}, lambda _total, _more: None)
    root = tmp_path / "tree" / "tp_table=app"
    columns = json.loads((root / "_tailrace.json").read_text())["columns"]
    spelled = ", ".join(f"`{column['name']}` {column['type']}" for column in columns)
    spark.read.schema(spelled).parquet(str(root)).createOrReplaceTempView("tree")
    (row,) = spark.sql(FACTS.format("tree")).collect()
    assert tuple(row) == EXPECTED
