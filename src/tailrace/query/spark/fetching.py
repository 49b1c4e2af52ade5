"""Answers of Spark: few rows at once, many piece by piece, so that neither the driver nor we ever hold them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW = 10_000
"Rows that are fetched at once."
_PIECE = 4 << 20
"Bytes that come in one message."


def fetched(frame: DataFrame, most: int | None) -> pa.Table | pa.RecordBatchReader:
    """The rows, of which there are so many at most, if that is known."""
    from pyspark import StorageLevel

    if most is not None and most <= FEW:
        return frame.toArrow()
    # All executors compute it, onto their disks: an iterator alone would have one part after the other computed.
    kept = frame.persist(StorageLevel.DISK_ONLY)
    try:
        if kept.count() <= FEW:
            found = kept.toArrow()
            kept.unpersist()
            return found
        pieces = _pieces(kept)
        first = next(pieces)
    except BaseException:
        _let_go(kept)
        raise
    return pa.RecordBatchReader.from_batches(first.schema, _all(first, pieces, kept))


def _all(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch], kept: DataFrame) -> Iterator[pa.RecordBatch]:
    try:
        yield first
        yield from rest
    finally:
        _let_go(kept)


def _let_go(kept: DataFrame) -> None:
    # The session may have ended meanwhile, and everything that it kept with it.
    with suppress(Exception):
        kept.unpersist()


def _pieces(kept: DataFrame) -> Iterator[pa.RecordBatch]:
    """Rows cross to us as bytes of Arrow, part after part: Spark's own iterator makes a Python object of each value."""
    for row in kept.mapInArrow(_packing(), "piece binary").toLocalIterator():
        with pa.ipc.open_stream(row[0]) as stream:
            yield from stream


def _packing() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function of its own each time: executors get its code with it, and need no Tailrace."""
    most = _PIECE

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            rows = max(batch.num_rows * most // max(batch.nbytes, 1), 1)
            for start in range(0, batch.num_rows, rows):
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, batch.schema) as writer:
                    writer.write_batch(batch.slice(start, rows))
                yield pa.record_batch([pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["piece"])

    return pack
