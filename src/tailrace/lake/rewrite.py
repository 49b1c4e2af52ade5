"""Taking rows away: files that hold rows which have to go are written anew without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailrace.core import LakeError, TimeRange
from tailrace.lake.bounded import bounded
from tailrace.lake.damage import DAMAGED_FILE, reading_file
from tailrace.lake.files import DataFile, stats_json
from tailrace.lake.identity import PREFIX_LENGTH
from tailrace.lake.place import Place
from tailrace.lake.predicate import Predicate
from tailrace.lake.types import schema_fingerprint

Rows = np.ndarray[tuple[int], np.dtype[np.int64]]
"Numbers of rows in a file."
_TOLD = timedelta(milliseconds=1)
"Readers of the log may know times no better."


@dataclass(frozen=True, slots=True)
class ActiveFile:
    """One file of the current snapshot."""

    path: str
    size: int
    partition: str
    index: str
    day: date
    rows: int
    first: datetime | None = None
    last: datetime | None = None
    "Least and greatest `tp_timestamp` of its rows, where the log tells them."

    def lies_in(self, window: TimeRange) -> bool:
        """Are all of its rows of that range? The log knows: its day, or its statistics."""
        if window.covers(self.day):
            return True
        begins = window.start is None or (self.first is not None and self.first >= window.start)
        return begins and (window.end is None or (self.last is not None and self.last + _TOLD <= window.end))

    @property
    def partition_values(self) -> dict[str, str]:
        return {"tp_partition": self.partition, "tp_index": self.index, "tp_date": self.day.isoformat()}


@dataclass(frozen=True, slots=True)
class Doomed:
    """Which rows have to go: those of artifacts read again, and those of a range of time."""

    prefixes: Sequence[str] = ()
    "Of `tp_id`."
    window: TimeRange | None = None
    limit: Sequence[str] | None = None
    "Prefixes of the only artifacts whose rows of the window go; None = of all."
    where: Predicate | None = None
    "Of the window only rows for which this holds."

    def marks(self, rows: pa.Table) -> pa.ChunkedArray:
        """True for each row that goes."""
        heads = pc.utf8_slice_codeunits(rows.column("tp_id"), 0, PREFIX_LENGTH)
        marked = pc.is_in(heads, value_set=pa.array(self.prefixes, pa.string()))
        if self.window is None:
            return marked
        times = rows.column("tp_timestamp")
        inside = pc.is_valid(times)
        if self.window.start is not None:
            inside = pc.and_(inside, pc.greater_equal(times, pa.scalar(self.window.start, times.type)))
        if self.window.end is not None:
            inside = pc.and_(inside, pc.less(times, pa.scalar(self.window.end, times.type)))
        if self.limit is not None:
            inside = pc.and_(inside, pc.is_in(heads, value_set=pa.array(self.limit, pa.string())))
        if self.where is not None:
            inside = pc.and_(inside, self.where.marks(rows))
        return pc.or_(marked, inside)

    def takes_all(self, file: ActiveFile) -> bool:
        """Is it certain that no row of the file stays, whatever it holds?"""
        if self.window is None or self.limit is not None or self.where is not None:
            return False
        return file.lies_in(self.window)

    @property
    def columns(self) -> list[str]:
        named = [] if self.where is None else self.where.columns
        return ["tp_id"] if self.window is None else [*dict.fromkeys(["tp_id", "tp_timestamp", *named])]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What taking rows away does to the files, and how many rows of which artifact it concerns."""

    removed: list[ActiveFile] = field(default_factory=list)
    added: list[DataFile] = field(default_factory=list)
    gone: Counter[str] = field(default_factory=Counter)
    "Rows by prefix of their ids."
    kept: Counter[tuple[str, date]] = field(default_factory=Counter)
    "Rows in the files looked at that stay, by prefix and day."
    unread: list[ActiveFile] = field(default_factory=list)
    "Those of the removed ones that are damaged or missing: what they held is not counted."

    def add(self, other: Rewritten) -> None:
        self.removed.extend(other.removed)
        self.added.extend(other.added)
        self.gone.update(other.gone)
        self.kept.update(other.kept)


def rewrite_without(root: Place, files: Iterable[ActiveFile], doomed: Doomed, run: str) -> Rewritten:
    """Files to remove and files to add, so that no doomed row is left.

    Files without such rows are left alone. One that cannot be read goes if all of its rows have to.
    Memory holds one row group at a time.
    """
    done = Rewritten()
    for file in files:
        path = f"{file.path.rpartition('/')[0]}/{run}-rewrite-{len(done.removed) + 1}.parquet"
        try:
            done.add(_one_without(root, file, doomed, path))
        except LakeError as error:
            if error.code != DAMAGED_FILE or not doomed.takes_all(file):
                raise
            done.removed.append(file)
            done.unread.append(file)
    return done


def _one_without(root: Place, file: ActiveFile, doomed: Doomed, path: str) -> Rewritten:
    done = Rewritten()
    with reading_file(root, file.path) as source:
        marks = []
        for group in range(source.num_row_groups):
            rows = source.read_row_group(group, doomed.columns)
            marks.append(doomed.marks(rows))
            _count(done, rows.column("tp_id"), marks[-1], file.day)
        if any(pc.any(mark).as_py() for mark in marks):
            done.removed.append(file)
            if not all(pc.all(mark).as_py() for mark in marks):
                done.added.append(copy_without(source, marks, root, path, file))
    return done


def rows_by_prefix(root: Place, path: str) -> Counter[str]:
    """How many rows of which artifact a file holds."""
    found: Counter[str] = Counter()
    with reading_file(root, path) as source:
        for group in range(source.num_row_groups):
            ids = source.read_row_group(group, ["tp_id"]).column("tp_id")
            for entry in pc.value_counts(pc.utf8_slice_codeunits(ids, 0, PREFIX_LENGTH)).to_pylist():
                found[entry["values"]] += entry["counts"]
    return found


def rows_inside(root: Place, path: str, doomed: Doomed) -> int:
    """How many rows of a file would go; memory holds one row group at a time."""
    with reading_file(root, path) as source:
        groups = (source.read_row_group(group, doomed.columns) for group in range(source.num_row_groups))
        return sum(pc.sum(doomed.marks(rows)).as_py() or 0 for rows in groups)


def _count(done: Rewritten, ids: pa.ChunkedArray, mark: pa.ChunkedArray, day: date) -> None:
    heads = pc.utf8_slice_codeunits(ids, 0, PREFIX_LENGTH)
    for entry in pc.value_counts(heads.filter(mark)).to_pylist():
        done.gone[entry["values"]] += entry["counts"]
    for entry in pc.value_counts(heads.filter(pc.invert(mark))).to_pylist():
        done.kept[entry["values"], day] += entry["counts"]


def copy_without(
    source: pq.ParquetFile, marks: list[pa.ChunkedArray], root: Place, path: str, file: ActiveFile | DataFile
) -> DataFile:
    """A file anew, without the rows that are marked in each of its row groups."""
    schema = source.schema_arrow
    draft = root.create(path)
    with pq.ParquetWriter(draft.path, schema, **_options_of(source)) as writer:
        for group, mark in enumerate(marks):
            kept = source.read_row_group(group).filter(pc.invert(mark))
            if kept.num_rows:
                writer.write_table(kept, row_group_size=kept.num_rows)
    metadata = writer.writer.metadata
    size = draft.close()
    draft.wait()
    return DataFile(
        path=path,
        size=size,
        partition=file.partition,
        index=file.index,
        day=file.day,
        rows=metadata.num_rows,
        stats=stats_json(metadata, schema),
        fingerprint=schema_fingerprint(schema),
    )


def without_rows(root: Place, file: ActiveFile | DataFile, rows: Rows, target: Place, path: str) -> DataFile:
    """A file anew, there or elsewhere, without the rows of those numbers."""
    with reading_file(root, file.path) as source:
        goes = np.zeros(source.metadata.num_rows, bool)
        goes[rows] = True
        sizes = [source.metadata.row_group(n).num_rows for n in range(source.num_row_groups)]
        marks = [pa.chunked_array([pa.array(part)]) for part in np.split(goes, np.cumsum(sizes)[:-1])]
        return copy_without(source, marks, target, path, file)


def marked_rows(root: Place, path: str, doomed: Sequence[Doomed]) -> Rows:
    """Numbers of the rows of a file that any of these takes."""
    found: list[Rows] = []
    columns = [*dict.fromkeys(name for one in doomed for name in one.columns)]
    with reading_file(root, path) as source:
        start, there = 0, set(source.schema_arrow.names)
        for group in range(source.num_row_groups):
            rows = source.read_row_group(group, [name for name in columns if name in there])
            marks = [one.marks(rows).to_numpy() for one in doomed]
            found.append(np.flatnonzero(np.logical_or.reduce(marks)) + start)
            start += rows.num_rows
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _options_of(source: pq.ParquetFile) -> dict[str, object]:
    """Write each column as it was written: with a dictionary or, for ids and JSON, without."""
    first = source.metadata.row_group(0)
    columns = [first.column(i) for i in range(first.num_columns)]
    plain = [c.path_in_schema for c in columns if not c.has_dictionary_page]
    by_length = [c.path_in_schema for c in columns if "DELTA_LENGTH_BYTE_ARRAY" in c.encodings]
    return {
        "compression": "zstd",
        "use_dictionary": [c.path_in_schema for c in columns if c.path_in_schema not in plain] or False,
        "column_encoding": dict.fromkeys(by_length, "DELTA_LENGTH_BYTE_ARRAY") or None,
        "sorting_columns": first.sorting_columns or None,
        "write_statistics": bounded(source.schema_arrow),
    }
