"""Windows in Spark tasks: a task per unit, and one small row back from each."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from tailrace.core.errors import TailraceError
from tailrace.windows.state import Done
from tailrace.windows.unit import Unit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEMA = "number bigint, result binary, failure binary"


def run_on_spark(spark: SparkSession, units: list[Unit]) -> Iterator[list[Done]]:
    """In the order of the units; rows of windows do not pass through the driver."""
    packed = [pickle.dumps(unit) for unit in units]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tailrace.windows.unit import run_unit

        # The tasks are the parallelism: Arrow's own threads would only fight over the cores.
        pa.set_cpu_count(1)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                done = failure = None
                try:
                    done = msgspec.msgpack.encode(run_unit(pickle.loads(packed[number])))
                except TailraceError as error:
                    # Raised here, Spark would try again and then tell its own stacks.
                    failure = pickle.dumps(error)
                columns = [pa.array([number]), pa.array([done], pa.binary()), pa.array([failure], pa.binary())]
                yield pa.record_batch(columns, names=["number", "result", "failure"])
                if failure is not None:
                    return

    tasks = min(len(units), units[0].spec.concurrent_windows or len(units))
    found = spark.range(0, len(units), 1, tasks).mapInArrow(work, _SCHEMA).toArrow().sort_by("number")
    for failure in found["failure"].drop_null().to_pylist():
        raise pickle.loads(failure)
    return map(msgspec.msgpack.Decoder(list[Done]).decode, found["result"].to_pylist())
