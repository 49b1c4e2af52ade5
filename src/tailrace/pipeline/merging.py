"""The work of one task of a compaction: files of a day are read, sorted by time, and written as fewer.

DuckDB reads, and Arrow writes, so that the files are like those of a collection. Small days are read several at a time
and sorted in memory; of a large one DuckDB sorts what does not fit on disk.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate, pairwise

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core.errors import LakeError, TailraceError
from tailrace.lake.compaction import Merge
from tailrace.lake.damage import engine_failure, reading_file
from tailrace.lake.place import Place
from tailrace.lake.rewrite import ActiveFile
from tailrace.pipeline.encoding import ROW_GROUP
from tailrace.pipeline.indexed_files import IndexedFiles, indexes
from tailrace.pipeline.job import WrittenFile
from tailrace.pipeline.merge_reading import BATCH, FILE, at_hand, connected, connection, index_key, select
from tailrace.pipeline.merged_files import GROUP_BYTES, MergedFiles, Shape, fitted

TOGETHER = 4 << 20
"Bytes of files that are read by one statement and sorted in memory."
MOST_TOGETHER = 256
"Files."
MOST_HELD = 256 << 20
"Bytes of rows of one day in memory; more than that, DuckDB sorts them."
Files = MergedFiles | IndexedFiles


class MergeUnit(msgspec.Struct, frozen=True):
    """Merges of one partition that one task does."""

    number: int
    shape: Shape
    merges: tuple[Merge, ...]
    noted: Place
    "Where the run is noted: whoever sees the driver's lake finds it there."


class Merged(msgspec.Struct):
    """The files that hold the rows of a merge now, or why there are none."""

    files: list[WrittenFile] = []
    error: str | None = None
    code: str | None = None
    hint: str | None = None
    is_idle: bool = False
    "Each row was where it belongs: nothing is written."


class MergedUnit(msgspec.Struct):
    """What a task did, merge by merge."""

    merges: list[Merged]
    retried: bool = False
    "Spark had begun this task before, on a machine that it lost."


class _TooLarge(Exception):
    """More rows than memory should hold."""


_MENDABLE = (duckdb.Error, pa.ArrowException, TailraceError, OSError, _TooLarge)
"What may be the fault of one day among several."


def run_merges(unit: MergeUnit) -> MergedUnit:
    """Does all merges; one that cannot be done says why, and the others are done."""
    # A task that Spark begins again may have a twin still at work on a machine that is thought lost.
    name = f"{unit.number:05d}-{secrets.token_hex(4)}"
    done: list[Merged] = []
    for some in _batches(unit.merges):
        names = [f"{name}-{len(done) + number}" for number in range(len(some))]
        done += _merged(unit.shape, some, names)
    return MergedUnit(done)


def _batches(merges: Sequence[Merge]) -> Iterator[list[Merge]]:
    """Small merges together, large ones alone, and so those that may turn out to be idle."""
    batch: list[Merge] = []
    size = files = 0
    for merge in merges:
        is_full = size + merge.bytes > TOGETHER or files + len(merge.files) > MOST_TOGETHER
        if batch and (is_full or not merge.is_certain or not batch[-1].is_certain):
            yield batch
            batch, size, files = [], 0, 0
        batch.append(merge)
        size, files = size + merge.bytes, files + len(merge.files)
    if batch:
        yield batch


def _files(shape: Shape, merge: Merge, name: str) -> Files:
    if merge.index is None:
        return IndexedFiles(shape, merge.day, name, merge.rows)
    return MergedFiles(shape, merge.index, merge.day, name, merge.rows, merge.directory)


def _merged(shape: Shape, merges: list[Merge], names: list[str], *, is_large: bool = False) -> list[Merged]:
    writers = [_files(shape, merge, name) for merge, name in zip(merges, names, strict=True)]
    try:
        if not merges[0].is_certain and _is_idle(shape, merges[0]):
            return [Merged(is_idle=True)]
        if is_large or sum(merge.bytes for merge in merges) > TOGETHER:
            _on_disk(shape, merges[0], writers[0])
        else:
            _in_memory(shape, merges, writers)
        return [Merged(_checked(merge, writer.close())) for merge, writer in zip(merges, writers, strict=True)]
    except BaseException as error:
        for writer in writers:
            writer.discard()
        if len(merges) > 1 and isinstance(error, _MENDABLE):
            return [done for m, n in zip(merges, names, strict=True) for done in _merged(shape, [m], [n])]
        if isinstance(error, _TooLarge):
            return _merged(shape, merges, names, is_large=True)
        return [_failed(error, shape, merges[0])]


def _failed(error: BaseException, shape: Shape, merge: Merge) -> Merged:
    if isinstance(error, TailraceError):
        return Merged(error=str(error), code=error.code, hint=error.hint)
    if isinstance(error, OSError):
        return Merged(error=f"{error.strerror or error}: {error.filename or merge.day}", code="lake.io")
    if isinstance(error, duckdb.Error | pa.ArrowException):
        told = engine_failure(error, [(shape.root, [file.path for file in merge.files])], tempfile.gettempdir())
        return Merged(error=str(told), code=told.code, hint=told.hint)
    raise error


def _checked(merge: Merge, files: list[WrittenFile]) -> list[WrittenFile]:
    """The files hold as many rows as the log says, or nothing is touched."""
    rows = sum(file.rows for file in files)
    if rows != merge.rows:
        message = f"{rows:,} rows were read and the log says {merge.rows:,}"
        raise LakeError(message, code="lake.damaged-file", where=merge.files[0].path.rpartition("/")[0])
    return files


def _is_idle(shape: Shape, merge: Merge) -> bool:
    """Is each row where it belongs? One column is read to find out."""
    name = (shape.index or "").partition(".")[0]
    if name not in shape.names:
        return all(file.index == "default" for file in merge.files)
    where = pa.array([file.index for file in merge.files], pa.string())
    with at_hand(shape, merge.files) as paths, select(connection(), shape, paths, [name]) as reader:
        for batch in reader:
            rows = pa.Table.from_batches([batch])
            if not pc.all(pc.equal(indexes(rows, shape), where.take(rows.column(FILE)))).as_py():
                return False
    return True


# Small days


def _in_memory(shape: Shape, merges: Sequence[Merge], writers: Sequence[Files]) -> None:
    files = [file for merge in merges for file in merge.files]
    ends = list(accumulate(len(merge.files) for merge in merges))
    number, held = 0, _Held()
    with at_hand(shape, files) as paths, select(connection(), shape, paths, shape.names) as reader:
        for batch in reader:
            for owner, rows in _by_owner(pa.Table.from_batches([batch]), ends):
                if owner != number and held.parts:
                    writers[number].write_all(pa.concat_tables(held.parts))
                    held = _Held()
                number = owner
                held.add(rows)
    if held.parts:
        writers[number].write_all(pa.concat_tables(held.parts))


class _Held:
    """Rows of one day that have been read so far."""

    def __init__(self) -> None:
        self.parts: list[pa.Table] = []
        self.bytes = 0

    def add(self, rows: pa.Table) -> None:
        self.parts.append(rows)
        self.bytes += rows.nbytes
        if self.bytes > MOST_HELD:
            raise _TooLarge


def _by_owner(rows: pa.Table, ends: Sequence[int]) -> Iterator[tuple[int, pa.Table]]:
    """Rows of files up to each end, in turn: DuckDB reads files in the order given."""
    owner = np.searchsorted(ends, rows.column(FILE).to_numpy(), side="right")
    edges = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), len(owner)]
    rows = rows.drop_columns([FILE])
    for start, end in pairwise(edges):
        if start < end:
            yield int(owner[start]), rows.slice(start, end - start)


# Large days


def _on_disk(shape: Shape, merge: Merge, writer: Files) -> None:
    present = _present(shape, merge.files)
    order = "tp_timestamp"
    if merge.index is None and shape.index is not None and shape.index.partition(".")[0] in present.names:
        order = f"{index_key(shape.index)}, {order}"
    with ExitStack() as opened:
        paths = opened.enter_context(at_hand(shape, merge.files))
        spilled = opened.enter_context(tempfile.TemporaryDirectory(prefix="tailrace-merge-"))
        con = opened.enter_context(connected(spilled))
        for rows in _row_groups(opened.enter_context(select(con, shape, paths, present.names, order))):
            writer.write(fitted(rows, shape.schema))


def _present(shape: Shape, files: Sequence[ActiveFile]) -> Shape:
    """With the columns that any of these files has: a file that is written row group by row group cannot tell."""
    found: set[str] = set()
    for file in files:
        with reading_file(shape.root, file.path) as source:
            found.update(source.schema_arrow.names)
    structs = {field.name for field in shape.schema if pa.types.is_struct(field.type)}
    return replace(shape, names=tuple(name for name in shape.names if name in found or name in structs))


def _row_groups(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in reader:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROW_GROUP - BATCH // 2 or size >= GROUP_BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)
