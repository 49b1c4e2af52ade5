"""What Spark computes for a statement can be stopped from another thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def stoppable(spark: SparkSession) -> SparkSession:
    """A session for statements that may have to be stopped, and nothing else with them.

    On a server a tag tells them apart. In Spark's own process a tag is known to the thread alone that has set it, so
    they have a session of their own there.
    """
    return spark if _is_remote(spark) else spark.newSession()


@contextmanager
def tagged(spark: SparkSession, tag: str) -> Iterator[None]:
    """What this thread has computed, until it leaves."""
    spark.addTag(tag)
    try:
        yield
    finally:
        spark.removeTag(tag)


def stop(spark: SparkSession, tag: str) -> None:
    """What a stoppable session computes, whichever thread has begun it."""
    if _is_remote(spark):
        spark.interruptTag(tag)
    else:
        spark.interruptAll()


def _is_remote(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")
