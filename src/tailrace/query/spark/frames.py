"""Tables of the lake as DataFrames: over the files that a statement can need, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tailrace.core import TimeRange
    from tailrace.query.views import Held


def frame_of(spark: SparkSession, held: Held, window: TimeRange) -> DataFrame:
    """The rows of these files within a window; nothing is read yet."""
    from deltalake import Schema
    from pyspark.sql.types import StructType

    schema = StructType.fromJson(json.loads(Schema.from_arrow(held.columns.arrow()).to_json()))
    if not held.paths:
        return spark.createDataFrame([], schema)
    frame = spark.read.schema(schema).parquet(*held.paths)
    for condition in _bounds(window):
        frame = frame.where(condition)
    return frame


def _bounds(window: TimeRange) -> Iterator[str]:
    """Whatever the time zone of the session is."""
    for operator, time in ((">=", window.start), ("<", window.end)):
        if time is not None:
            yield f"tp_timestamp {operator} TIMESTAMP_NTZ '{time}'"
