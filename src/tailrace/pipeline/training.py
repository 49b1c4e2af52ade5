"""The run that makes the class-data archive: `python -m tailrace.pipeline.training [JAVA_HOME]`."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.pipeline.java import find_java
from tailrace.pipeline.jvm import Driver, archive_for
from tailrace.pipeline.options import SessionOptions, settle
from tailrace.pipeline.session import open_session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_LONGEST_DUMP = 600.0


def train(java_home: str | None = None, compiled: bool = False) -> Path | None:
    """Make the archive for this Java and wait for it; None when it was not made."""
    with tempfile.TemporaryDirectory(prefix="tailrace-", ignore_cleanup_errors=True) as scratch:
        options = SessionOptions("local[2]", java_home=java_home, home=Path(scratch), compiled=compiled)
        settings = settle(options)
        archive = archive_for(settings, find_java(java_home))
        with archive.draft() as draft:
            if draft is None:
                return None
            driver = Driver.launch(settings, dump_to=draft)
            _exercise(open_session(options, driver))
            if driver.close(_LONGEST_DUMP) != 0:
                draft.unlink(missing_ok=True)
    return archive.path if archive.path.exists() else None


def _exercise(spark: SparkSession) -> None:
    """Load the classes of a collect: a plan, tasks in Python workers, small rows back as Arrow."""
    rows = spark.range(0, 4, 1, 4).mapInArrow(_same, "id long").toArrow().num_rows
    assert rows == 4


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    os.nice(19)
    train(sys.argv[1] if len(sys.argv) > 1 else None, compiled=sys.argv[2:] == ["1"])
