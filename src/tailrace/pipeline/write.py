"""Rows → Parquet files that nobody can see yet: one per day and index, sorted, with statistics."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailrace.core.arrow import arrow_schema
from tailrace.lake.files import TextRange, footer, stats_json
from tailrace.lake.identity import tp_ids
from tailrace.lake.paths import data_path, stored_value
from tailrace.lake.place import Draft
from tailrace.pipeline.encoding import ROW_GROUP, parquet_settings
from tailrace.pipeline.enrich import LISTS, Enricher
from tailrace.pipeline.job import Job, WrittenFile
from tailrace.pipeline.joining import held_bytes, joined
from tailrace.pipeline.lists import CODED, LIST
from tailrace.pipeline.moments import DAY_US, EPOCH
from tailrace.pipeline.shape import Origin, Shaped, places

BUFFER_BYTES = 48 << 20
"Rows held back to be sorted together, over all days of a task."
FILE_BYTES = 192 << 20
OPEN_FILES = 64
_REPEATS = ("tp_table", "tp_partition", "tp_index", "tp_source_type", "tp_source_name", "tp_source_location")
"Columns that are handed to Parquet as dictionaries: few values, so nothing is hashed row by row."
_TIME, _POSITION, _OWNER = "tp_timestamp", " position", " owner"
"Columns of a buffer that are not the table's own; no table can have a column of the latter two names."
_BESIDE = 20
"Bytes of these three."
Key = tuple[str, int]
"tp_index and the day's number."


@dataclass(slots=True)
class _Buffer:
    parts: list[dict[str, pa.Array]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    bytes: int = 0


@dataclass(slots=True)
class _Open:
    writer: pq.ParquetWriter
    draft: Draft
    path: str
    schema: pa.Schema
    "The columns of this file: those that any of its rows has a value in."
    rows: int = 0
    first: datetime | None = None
    last: datetime | None = None
    "Times of its rows."
    ranges: dict[str, TextRange] = field(default_factory=dict)
    "Of columns that are written as dictionaries: their few words tell it, the file's own statistics would cost."

    def write(self, columns: dict[str, pa.Array], rows: int, coded: frozenset[str]) -> None:
        """One more row group; columns that none of its rows has are null in it."""
        arrays = []
        for column in self.schema:
            array = columns.get(column.name)
            if array is None:
                array = pa.nulls(rows, column.type)
            arrays.append(array if array.type == column.type else array.cast(column.type))
        self.writer.write_table(pa.table(arrays, schema=self.schema), row_group_size=ROW_GROUP)
        self.rows += rows
        span = pc.min_max(columns[_TIME]).as_py()
        self.first = min(self.first or span["min"], span["min"])
        self.last = max(self.last or span["max"], span["max"])
        for name in coded.intersection(self.schema.names):
            column = arrays[self.schema.get_field_index(name)]
            found = pc.min_max(column.dictionary).as_py()
            here = TextRange(found["min"], found["max"], column.null_count)
            self.ranges[name] = self.ranges[name].joined(here) if name in self.ranges else here


class LakeWriter:
    """Collects shaped rows by day and index; flushes the largest heap when they outgrow the buffer."""

    def __init__(self, job: Job, name: str, enricher: Enricher, origins: list[Origin]) -> None:
        self.job, self.name, self.enricher, self.origins = job, name, enricher, origins
        self.schema = arrow_schema(job.table)
        coded = enricher.coded.union(_REPEATS)
        stored = dict.fromkeys(coded, CODED) | {f"tp_{kind}": LIST for kind in LISTS}
        self.written = pa.schema([f.with_type(stored.get(f.name, f.type)) for f in self.schema])
        self.structs = {f.name for f in self.schema if pa.types.is_struct(f.type)}
        "In every file: DuckDB 2.0 fails on a field of a struct that a file does not have."
        self.buffers: dict[Key, _Buffer] = {}
        self.buffered = 0
        self.open: OrderedDict[Key, _Open] = OrderedDict()
        self.files: list[WrittenFile] = []
        self.drafts: list[Draft] = []
        "Of those files: they may be on their way still."
        self.serial = 0

    def add(self, shaped: Shaped) -> None:
        held = held_bytes(shaped.columns)
        for key, columns in _by_key(shaped):
            buffer = self.buffers.setdefault(key, _Buffer())
            rows = len(columns[_TIME])
            size = rows * (held // len(shaped.timestamps) + _BESIDE)
            buffer.parts.append(columns)
            buffer.sizes.append(rows)
            buffer.bytes += size
            self.buffered += size
        while self.buffered > BUFFER_BYTES:
            self._flush(max(self.buffers, key=lambda k: self.buffers[k].bytes))

    def close(self) -> list[WrittenFile]:
        """Writes what is left; the files are complete, and invisible until a commit names them."""
        for key in sorted(self.buffers):
            self._flush(key)
        for key in list(self.open):
            self._close(key)
        for draft in self.drafts:
            draft.wait()
        return self.files

    def discard(self) -> None:
        """Removes everything this writer has put on disk."""
        for opened in self.open.values():
            # What could not be written before cannot be now; the file goes anyway.
            with suppress(OSError):
                opened.writer.close()
        for draft in [*(opened.draft for opened in self.open.values()), *self.drafts]:
            draft.discard()
        self.open.clear()
        self.files.clear()
        self.drafts.clear()

    def _flush(self, key: Key) -> None:
        buffer = self.buffers.pop(key)
        self.buffered -= buffer.bytes
        columns = self._sorted(buffer)
        rows = len(columns[_TIME])
        for start in range(0, rows, ROW_GROUP):
            group = {n: a.slice(start, ROW_GROUP) for n, a in columns.items()} if rows > ROW_GROUP else columns
            present = self._completed(group, key)
            self._file(key, columns, present).write(present, min(ROW_GROUP, rows - start), self.enricher.coded)
        if self.open[key].draft.size() > FILE_BYTES:
            self._close(key)

    def _sorted(self, buffer: _Buffer) -> dict[str, pa.Array]:
        """The buffered rows as one set of columns, in order of time. Dead parts are let go on the way."""
        names = {name: array.type for part in buffer.parts for name, array in part.items()}
        kinds = {n: k.value_type if pa.types.is_dictionary(k) else k for n, k in names.items()}
        times = joined([p[_TIME] for p in buffer.parts], kinds.pop(_TIME), buffer.sizes)
        order = None if _ascending(times) else pc.sort_indices(times)
        columns = {_TIME: times if order is None else times.take(order)}
        for name, kind in kinds.items():
            array = joined([p.pop(name, None) for p in buffer.parts], kind, buffer.sizes)
            columns[name] = array if order is None else array.take(order)
        return columns

    def _completed(self, columns: dict[str, pa.Array], key: Key) -> dict[str, pa.Array]:
        """The columns that any row has, those made from others included."""
        rows = len(columns[_TIME])
        owner = columns[_OWNER]
        ids = tp_ids([o.prefix for o in self.origins], owner.to_numpy(), columns[_POSITION].to_numpy())
        made = self.enricher.made(columns, rows) | places(self.origins, owner) | self._constants(key, rows)
        filled = {name: array for name, array in made.items() if array.null_count < rows}
        return columns | filled | {"tp_id": ids}

    def _constants(self, key: Key, rows: int) -> dict[str, pa.Array]:
        index, day = key
        texts = {"tp_table": self.job.table.name, "tp_partition": self.job.partition, "tp_index": index}
        zeros = pa.array(np.zeros(rows, np.int32))
        made = {n: pa.DictionaryArray.from_arrays(zeros, pa.array([text])) for n, text in texts.items()}
        made["tp_date"] = pa.repeat(pa.scalar(EPOCH + timedelta(days=day), pa.date32()), rows)
        made["tp_ingest_timestamp"] = pa.repeat(pa.scalar(self.job.started, pa.timestamp("us")), rows)
        return made

    def _file(self, key: Key, columns: dict[str, pa.Array], present: dict[str, pa.Array]) -> _Open:
        """The day's open file. Columns without a value cost as much as others: a file has none that is null throughout.

        A column that comes later needs another file, which then has every column, lest there be a third.
        """
        names = columns.keys() | present.keys() | self.structs
        opened = self.open.get(key)
        if opened is None:
            opened = self._open(key, columns, pa.schema([f for f in self.written if f.name in names]))
        elif any(f.name in names and f.name not in opened.schema.names for f in self.written):
            self._close(key)
            opened = self._open(key, columns, self.written)
        self.open.move_to_end(key)
        return opened

    def _open(self, key: Key, first: dict[str, pa.Array], schema: pa.Schema) -> _Open:
        while len(self.open) >= OPEN_FILES:
            self._close(next(iter(self.open)))
        index, day = key
        directory = data_path(self.job.partition, index, EPOCH + timedelta(days=day))
        path = f"{directory}/{self.job.run}-{self.name}-{self.serial}.parquet"
        self.serial += 1
        draft = self.job.table_root.create(path)
        settings = parquet_settings(self.job.table.columns, first, self.enricher.coded)
        opened = self.open[key] = _Open(pq.ParquetWriter(draft.path, schema, **settings), draft, path, schema)
        return opened

    def _close(self, key: Key) -> None:
        opened = self.open.pop(key)
        # Metadata of the schema would not be written: it is left out where Arrow's own schema is.
        told = footer(self.job.table.name, self.job.partition, self.job.run, opened.first, opened.last)
        opened.writer.add_key_value_metadata(told)
        opened.writer.close()
        stats = stats_json(opened.writer.writer.metadata, self.schema, opened.ranges, opened.schema.names)
        index, day = key
        size = opened.draft.close()
        self.drafts.append(opened.draft)
        file = WrittenFile(opened.path, size, index, EPOCH + timedelta(days=day), opened.rows, stats)
        self.files.append(file)


def _ascending(times: pa.Array) -> bool:
    values: npt.NDArray[np.int64] = times.cast(pa.int64()).to_numpy()
    return bool((values[1:] >= values[:-1]).all())


def _by_key(shaped: Shaped) -> Iterator[tuple[Key, dict[str, pa.Array]]]:
    """The rows of each day and index; usually there is but one."""
    times = shaped.timestamps
    if not len(times):
        return
    own = {_TIME: times, _POSITION: shaped.positions, _OWNER: pa.array(shaped.owner)}
    columns = shaped.columns | own
    days: npt.NDArray[np.int64] = np.floor_divide(times.cast(pa.int64()).to_numpy(), DAY_US)
    names = ["default"]
    codes: npt.NDArray[np.int64] = np.zeros(len(times), np.int64)
    if shaped.index is not None:
        encoded = shaped.index.fill_null("default").dictionary_encode()
        names = [stored_value(v) for v in encoded.dictionary.to_pylist()]
        codes = encoded.indices.to_numpy().astype(np.int64)
    keys = codes << 32 | (days + (1 << 24))
    if (keys == keys[0]).all():
        yield (names[int(codes[0])], int(days[0])), columns
        return
    order = np.argsort(keys, kind="stable")
    taken = {name: array.take(pa.array(order)) for name, array in columns.items()}
    edges = np.flatnonzero(np.diff(keys[order])) + 1
    for start, end in zip([0, *edges.tolist()], [*edges.tolist(), len(order)], strict=True):
        first = order[start]
        some = {name: array.slice(start, end - start) for name, array in taken.items()}
        yield (names[int(codes[first])], int(days[first])), some
