"""Work as one Spark job: a task per piece, and one small row back from each."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from tailrace.pipeline.job import Job, Unit, UnitResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tailrace.pipeline.merging import MergedUnit, MergeUnit

_RESULT = "result binary"
Do = Callable[[int, bool], bytes]
"Number of the piece, and whether Spark had begun it before, on a machine that it lost → what came of it."


def run_units(spark: SparkSession, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
    """Reads a group of days and gives back what each unit wrote; no user data passes through the driver."""

    def read(number: int, retried: bool) -> bytes:
        from tailrace.pipeline.unit import run_unit

        result = run_unit(job, units[number])
        result.retried = retried
        return msgspec.msgpack.encode(result)

    decode = msgspec.msgpack.Decoder(UnitResult).decode
    return [decode(result) for result in _in_tasks(spark, len(units), read)]


def run_merges(spark: SparkSession, tasks: Sequence[Sequence[MergeUnit]]) -> list[list[MergedUnit]]:
    """Writes files anew; the units of a task one after the other."""
    from tailrace.pipeline.merging import MergedUnit

    # Each by itself: a task need not unpack what the others do.
    packed = [pickle.dumps(list(units)) for units in tasks]

    def merge(number: int, retried: bool) -> bytes:
        from tailrace.pipeline.merging import run_merges

        results = [run_merges(unit) for unit in pickle.loads(packed[number])]
        for result in results:
            result.retried = retried
        return msgspec.msgpack.encode(results)

    decode = msgspec.msgpack.Decoder(list[MergedUnit]).decode
    return [decode(result) for result in _in_tasks(spark, len(tasks), merge)]


def _in_tasks(spark: SparkSession, count: int, do: Do) -> list[bytes]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        retried = task is not None and task.attemptNumber() > 0
        # The tasks are the parallelism: Arrow's own threads would only fight over the cores.
        pa.set_cpu_count(1)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield pa.record_batch({"result": pa.array([do(number, retried)], pa.binary())})

    # One partition per piece: `range` makes exactly that, repartitioning rows by hash would not.
    frame = spark.range(0, count, 1, count).mapInArrow(work, _RESULT)
    results: list[bytes] = frame.toArrow().column("result").to_pylist()
    return results
