"""Work for Spark: a task per item, and one small answer back from each."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tailrace.pipeline.described import described
from tailrace.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_ANSWER = "answer binary"


def run_tasks(
    spark: SparkSession, description: str, do: Callable[[Any, Any], bytes], common: object, items: Sequence[object]
) -> list[bytes]:
    """`do(common, item)` in a task of its own for each item; the answers in the same order.

    `do` is a function of a module of Tailrace, and the rest are plain values: executors unpack them only after they
    have found that it is the driver's version.
    """
    told, version = pickle.dumps((do, common)), __version__
    # Each by itself: a task need not unpack what the others do.
    packed = [pickle.dumps(item) for item in items]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tailrace.pipeline.surroundings import check_version

        check_version(version)
        from tailrace.pipeline.tasks import answered

        return answered(told, packed, batches)

    # One partition per item: `range` makes exactly that, repartitioning rows by hash would not.
    frame = described(spark, description).range(0, len(items), 1, len(items)).mapInArrow(work, _ANSWER)
    answers: list[bytes] = frame.toArrow().column("answer").to_pylist()
    return answers


def answered(told: bytes, packed: Sequence[bytes], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The side of the executor."""
    import pyarrow as pa

    do, common = pickle.loads(told)
    # The tasks are the parallelism: Arrow's own threads would only fight over the cores.
    pa.set_cpu_count(1)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            answer = do(common, pickle.loads(packed[number]))
            yield pa.record_batch({"answer": pa.array([answer], pa.binary())})
