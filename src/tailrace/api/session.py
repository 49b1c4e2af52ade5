"""The Spark session of a lake."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tailrace.cli.options import Context


class Session:
    """The session that is active, or one that is started when it is first needed and ends with the lake."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.spark: SparkSession | None = None
        self.is_ours = False

    def get(self) -> SparkSession:
        """From the thread of whoever asks: Spark's active session is one of a thread."""
        if self.spark is None:
            from pyspark.sql import SparkSession

            from tailrace.cli.settings import session_options
            from tailrace.pipeline.session import open_session

            self.is_ours = SparkSession.getActiveSession() is None
            # It stays for whatever comes next: several partitions side by side, and SQL that the JVM works hard on.
            self.spark = open_session(replace(session_options(self.context), compiled=True, shared=True))
        return self.spark

    def stop(self, patience: float | None = None) -> None:
        """A session that was there before stays."""
        from tailrace.pipeline.session import close_session

        spark, self.spark = self.spark, None
        if spark is not None and self.is_ours:
            close_session(spark, patience)
