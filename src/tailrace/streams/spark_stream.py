"""The driver on Structured Streaming: segments are the rows of a stream, tasks decode them, each batch is a manifest.

No user data passes through the JVM: a row is the number of a segment, and what comes back names files. Spark's
checkpoint is a hint and is thrown away at every start: where to go on is known from the manifests.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from tailrace.core.errors import SparkError
from tailrace.streams import segments
from tailrace.streams.batches import BITE, Part, conclude, prepare_segments
from tailrace.streams.driver import Driver
from tailrace.streams.lake_sink import LakeOptions, Store
from tailrace.streams.otap_sink import OtapOptions, WritePartition
from tailrace.streams.sink_options import SinkOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "tailrace_segments"
_RESULT = "part binary"
_LOOK = 0.2


class SegmentSource(DataSource):
    """Closed segments of a spool, in the order of their numbers."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "number long"

    def streamReader(self, schema: object) -> DataSourceStreamReader:
        return SegmentReader(Path(self.options["spool"]), int(self.options["through"]))


class SegmentPartition(InputPartition):
    """One segment is one task."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class SegmentReader(DataSourceStreamReader):
    """The offset is the last segment that was given out."""

    def __init__(self, spool: Path, through: int) -> None:
        self.spool = spool
        self.through = through

    def initialOffset(self) -> dict[str, int]:
        return {"through": self.through}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """As many more as are taken together: a backlog comes in bites, whatever the engine's limit."""
        through, size = start["through"], 0
        for number in segments.numbers(self.spool, segments.CLOSED):
            if number > start["through"] and size < BITE:
                size += segments.path_of(self.spool, number, segments.CLOSED).stat().st_size
                through = number
        return {"through": through}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        closed = segments.numbers(self.spool, segments.CLOSED)
        return [SegmentPartition(number) for number in closed if start["through"] < number <= end["through"]]

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        assert isinstance(partition, SegmentPartition)
        yield (partition.number,)


def _task(spool: Path, options: SinkOptions) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = sorted(number for batch in batches for number in batch.column(0).to_pylist())
        if numbers:
            part = prepare_segments(spool, numbers, options)
            yield pa.RecordBatch.from_arrays([pa.array([msgspec.json.encode(part)], pa.binary())], ["part"])

    return work


class SparkDriver(Driver):
    """The same sinks, fed by a streaming query."""

    def __init__(
        self,
        spark: SparkSession,
        spool: Path,
        sinks: Sequence[SinkOptions],
        say: Callable[[str], None],
        tables: Mapping[OtapOptions, WritePartition] | None = None,
        lakes: Sequence[tuple[LakeOptions, Store]] = (),
    ) -> None:
        super().__init__(spool, sinks, say, tables, lakes)
        self.spark = spark
        self._turn = threading.Lock()
        "Batches come on a thread of their own."

    def run(self, stop: threading.Event) -> None:
        checkpoint = self.all[0].options.state / "checkpoint"
        shutil.rmtree(checkpoint, ignore_errors=True)
        self.spark.dataSource.register(SegmentSource)
        through = min((sink.last for sink in self.sinks), default=0)
        flush = min(sink.options.flush_interval for sink in self.all)
        stream = self.spark.readStream.format(FORMAT).option("spool", str(self.spool)).option("through", str(through))
        query = (
            stream.load()
            .writeStream.foreachBatch(self._batch)
            .option("checkpointLocation", str(checkpoint))
            .trigger(processingTime=f"{flush.total_seconds():.3f} seconds")
            .start()
        )
        try:
            more = False
            while not stop.wait(0 if more else _LOOK):
                if (failure := query.exception()) is not None:
                    raise SparkError(f"the stream failed: {failure}", code="spark.stream")
                more = self._upkeep()
            # What is left is decoded here: the stream would wait for its next trigger, with each bite anew.
            query.stop()
            with self._turn:
                self.step(last=True)
        finally:
            self._held.close()

    def _batch(self, frame: DataFrame, _: int) -> None:
        """One micro-batch. Done again, it finds its segments below the last manifest, and does nothing."""
        given = sorted(frame.toArrow().column(0).to_pylist())
        with self._turn:
            for sink in self.sinks:
                numbers = [number for number in given if number > sink.publisher.last]
                if not numbers:
                    continue
                work = _task(self.spool, sink.options)
                chosen = frame.where(frame.number > sink.publisher.last)
                found = chosen.mapInArrow(work, _RESULT).toArrow().column(0).to_pylist()
                parts = [msgspec.json.decode(part, type=Part) for part in found]
                sink.publisher.add(conclude(sink.options, numbers[0], numbers[-1], parts))
            self._delete(segments.numbers(self.spool, segments.CLOSED))
            for sink in self.sinks:
                sink.publish_if_due()

    def _upkeep(self) -> bool:
        """On the thread that began the stream. Tables are only changed here, and hold up no batch; is there more?"""
        closed = segments.numbers(self.spool, segments.CLOSED)
        more = [sink.take(self.spool, closed) for sink in self.tables]
        with self._turn:
            if self.tables:
                self._delete(closed)
            self.publish()
        return any(more)
