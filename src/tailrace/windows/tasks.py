"""Windows in Spark tasks: a task per unit, and one small row back from each."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from tailrace.windows.state import Done
from tailrace.windows.unit import Unit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_on_spark(spark: SparkSession, units: list[Unit]) -> Iterator[list[Done]]:
    """In the order of the units; rows of windows do not pass through the driver."""
    packed = [pickle.dumps(unit) for unit in units]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tailrace.windows.unit import run_unit

        # The tasks are the parallelism: Arrow's own threads would only fight over the cores.
        pa.set_cpu_count(1)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                done = msgspec.msgpack.encode(run_unit(pickle.loads(packed[number])))
                yield pa.record_batch({"number": pa.array([number]), "result": pa.array([done], pa.binary())})

    frame = spark.range(0, len(units), 1, len(units)).mapInArrow(work, "number bigint, result binary")
    found = frame.toArrow().sort_by("number").column("result").to_pylist()
    return map(msgspec.msgpack.Decoder(list[Done]).decode, found)
