"""Functions that Spark lacks: DuckDB answers them inside of its tasks, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from tailrace.lake.quoting import literal
from tailrace.query.networks import WITHIN, within
from tailrace.query.spark.texts import REAL_TEXT

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from pyspark.sql import SparkSession

_ANSWERED = {
    REAL_TEXT: ("{0}::VARCHAR", "VARCHAR", "string"),
    "tailrace_json_contains": ("json_contains({0}::JSON, {1}::JSON)", "BOOLEAN", "boolean"),
    "tailrace_json_extract": ("json_extract({0}::JSON, {1})", "VARCHAR", "string"),
    "tailrace_json_extract_string": ("json_extract_string({0}::JSON, {1})", "VARCHAR", "string"),
    "tailrace_json_extract_all": ("json_extract({0}::JSON, {path})", "VARCHAR[]", "array<string>"),
    "tailrace_json_extract_all_string": ("json_extract_string({0}::JSON, {path})", "VARCHAR[]", "array<string>"),
    "tailrace_json": ("json({0})", "VARCHAR", "string"),
    "tailrace_json_valid": ("json_valid({0})", "BOOLEAN", "boolean"),
    "tailrace_json_type": ("json_type({0}::JSON)", "VARCHAR", "string"),
    "tailrace_json_exists": ("json_exists({0}::JSON, {1})", "BOOLEAN", "boolean"),
    "tailrace_json_value": ("json_value({0}::JSON, {1})", "VARCHAR", "string"),
    "tailrace_strptime": ("strptime({0}, {path})", "TIMESTAMP", "timestamp_ntz"),
    "tailrace_try_strptime": ("try_strptime({0}, {path})", "TIMESTAMP", "timestamp_ntz"),
    **{
        f"tailrace_try_{kind}": (f"TRY_CAST({{0}} AS {kind.upper()})", kind.upper(), spark)
        for kind, spark in (
            *((same, same) for same in ("tinyint", "smallint", "integer", "bigint", "float", "double", "date")),
            ("timestamp", "timestamp_ntz"),
        )
    },
    "tailrace_levenshtein": ("levenshtein({0}, {1})", "BIGINT", "bigint"),
    "tailrace_json_list": ("""from_json({0}::JSON, '["JSON"]')""", "VARCHAR[]", "array<string>"),
}
"""Name in Spark → how DuckDB says it, the type it has there, and Spark's. A path with wildcards or
a pattern of times, which is the same for all rows, has to stand in the SQL."""


def names() -> tuple[str, ...]:
    """All functions that a translated statement may call."""
    return (*_ANSWERED, WITHIN)


def register(spark: SparkSession) -> None:
    """For all statements of the session."""
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]

    found = {name: (_answered(sql, kind), returned) for name, (sql, kind, returned) in _ANSWERED.items()}
    for name, (function, returned) in {**found, WITHIN: (within, "boolean")}.items():
        spark.udf.register(name, arrow_udf(_unannotated(function), returned))


def _unannotated(function: Callable[..., pa.Array]) -> Callable[..., Any]:
    """PySpark would try to understand the annotations, whose names are known to type checkers only."""
    return lambda *columns: function(*columns)


def _answered(sql: str, kind: str) -> Callable[..., pa.Array]:
    def answer(*columns: pa.Array) -> pa.Array:
        import pyarrow as pa

        connection = _connection()
        batch = pa.table({f"c{place}": column for place, column in enumerate(columns)})
        connection.register("batch", batch)
        path = columns[1][0].as_py() if "{path}" in sql and batch.num_rows else "$"
        asked = sql.format(*batch.column_names, path=literal(path))
        found: pa.Table = connection.execute(f"SELECT ({asked})::{kind} AS answer FROM batch").to_arrow_table()
        connection.unregister("batch")
        return _one(found.column("answer"))

    return answer


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """One in each of Spark's workers."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("SET python_enable_replacements = false")
    return connection


def _one(column: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
