"""One group of days as one Spark job: a task per unit, and one small row back from each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from tailrace.pipeline.job import Job, Unit, UnitResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RESULT = "result binary"


def run_units(spark: SparkSession, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
    """Runs the units and gives back what each one wrote; no user data passes through the driver."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        from tailrace.pipeline.unit import run_unit

        task = TaskContext.get()
        # The tasks are the parallelism: Arrow's own threads would only fight over the cores.
        pa.set_cpu_count(1)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                result = run_unit(job, units[number])
                result.retried = task is not None and task.attemptNumber() > 0
                yield pa.record_batch({"result": pa.array([msgspec.msgpack.encode(result)], pa.binary())})

    # One partition per unit: `range` makes exactly that, repartitioning rows by hash would not.
    frame = spark.range(0, len(units), 1, len(units)).mapInArrow(work, _RESULT)
    decode = msgspec.msgpack.Decoder(UnitResult).decode
    return [decode(result) for result in frame.toArrow().column("result").to_pylist()]
