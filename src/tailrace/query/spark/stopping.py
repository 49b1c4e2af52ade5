"""What Spark computes for a statement can be stopped from another thread.

A session's own tags cannot: in Spark's process each thread has its own, and one that sets none interrupts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def tagged(spark: SparkSession, tag: str) -> Iterator[None]:
    """Jobs of this thread, until it leaves."""
    if _is_remote(spark):
        spark.addTag(tag)
    else:
        spark.sparkContext.addJobTag(tag)
    try:
        yield
    finally:
        if _is_remote(spark):
            spark.removeTag(tag)
        else:
            spark.sparkContext.removeJobTag(tag)


def stop(spark: SparkSession, tag: str) -> None:
    """Those with the tag, whichever thread began them."""
    if _is_remote(spark):
        spark.interruptTag(tag)
    else:
        spark.sparkContext.cancelJobsWithTag(tag)


def _is_remote(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")
