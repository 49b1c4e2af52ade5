"""Rows in order of time → Parquet files of a good size, written as a collection writes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from tailrace.core import TP_COLUMNS, Column, Struct
from tailrace.lake.compaction import SMALL, TARGET
from tailrace.lake.files import footer, stats_json
from tailrace.lake.paths import data_path
from tailrace.lake.place import Draft, Place
from tailrace.pipeline.encoding import ROW_GROUP, parquet_settings
from tailrace.pipeline.job import WrittenFile

GROUP_BYTES = 64 << 20
"Memory of the rows of one row group, should they be long."
_TIME = "tp_timestamp"
_SHARED = frozenset(column.name for column in TP_COLUMNS)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the files of one partition have in common."""

    table: str
    partition: str
    run: str
    root: Place
    schema: pa.Schema
    "Of the table, as the log has it."
    names: tuple[str, ...]
    "Columns that any of the files may have; the others are null throughout."
    unique: frozenset[str] = frozenset()
    "Columns of ids."
    index: str | None = None
    "Column whose value becomes `tp_index`, where it is found out anew."
    settings: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict, compare=False)
    "How columns are written, by the columns that a file has: found out once in a task."

    @property
    def columns(self) -> tuple[Column, ...]:
        """The table's own columns, as far as the log remembers how they were declared."""
        return tuple(_column(f, self.unique) for f in self.schema if f.name not in _SHARED)

    def settings_for(self, first: pa.Table) -> dict[str, Any]:
        """For a file that begins with these rows."""
        names = tuple(first.column_names)
        if names not in self.settings:
            rows = {name: whole(column) for name, column in zip(names, first.columns, strict=True)}
            self.settings[names] = parquet_settings(self.columns, rows, frozenset())
        found = self.settings[names]
        blooms = found["bloom_filter_options"]
        distinct = min(first.num_rows, ROW_GROUP)
        return {**found, "bloom_filter_options": blooms and {n: {**o, "ndv": distinct} for n, o in blooms.items()}}


def _column(stored: pa.Field, unique: frozenset[str]) -> Column:
    if pt.is_struct(stored.type):
        return Column(stored.name, Struct(tuple(_column(inner, frozenset()) for inner in stored.type.fields)))
    declared = (stored.metadata or {}).get(b"tailrace.type", b"varchar").decode()
    kind = f"{declared.removesuffix('[]')}[]" if pt.is_list(stored.type) else declared
    return Column(stored.name, kind, unique=stored.name in unique)


class MergedFiles:
    """The files of one day and index, one after the other."""

    def __init__(self, shape: Shape, index: str, day: date, name: str, rows: int, directory: str | None = None) -> None:
        self.shape, self.index, self.day, self.name = shape, index, day, name
        self.directory = directory or data_path(shape.partition, index, day)
        self.left = rows
        "Rows that are still to come."
        self.files: list[WrittenFile] = []
        self.drafts: list[Draft] = []
        self._open: _Open | None = None

    def write_all(self, rows: pa.Table) -> None:
        """All rows of the day, in any order."""
        self.write(fitted(in_order(filled(rows)), self.shape.schema))

    def write(self, rows: pa.Table) -> None:
        """Row groups of these rows, which have the columns that the file shall have."""
        for group in _groups(rows):
            if self._open is None:
                self._open = self._begin(group)
            self._open.write(group)
            self.left -= group.num_rows
            if self._is_full(self._open):
                self._end()

    def close(self) -> list[WrittenFile]:
        """The files are complete and where they belong, and invisible until a commit names them."""
        self._end()
        for draft in self.drafts:
            draft.wait()
        return self.files

    def discard(self) -> None:
        """Nothing of it stays."""
        if self._open is not None:
            with suppress(OSError):
                self._open.writer.close()
        for draft in self.drafts:
            draft.discard()
        self.files, self.drafts, self._open = [], [], None

    def _begin(self, first: pa.Table) -> _Open:
        shape = self.shape
        path = f"{self.directory}/{shape.run}-{self.name}-{len(self.files)}.parquet"
        draft = shape.root.create(path)
        self.drafts.append(draft)
        schema = first.schema.remove_metadata()
        return _Open(pq.ParquetWriter(draft.path, schema, **shape.settings_for(first)), draft, path, schema)

    def _is_full(self, opened: _Open) -> bool:
        """The last file takes what would be too little for another one."""
        size = opened.draft.size()
        return size >= TARGET and self.left * size / opened.rows >= SMALL * 1.5

    def _end(self) -> None:
        opened, self._open = self._open, None
        if opened is None:
            return
        shape = self.shape
        told = footer(shape.table, shape.partition, shape.run, opened.first, opened.last)
        opened.writer.add_key_value_metadata(told)
        opened.writer.close()
        stats = stats_json(opened.writer.writer.metadata, shape.schema, written=opened.schema.names)
        self.files.append(WrittenFile(opened.path, opened.draft.close(), self.index, self.day, opened.rows, stats))


@dataclass(slots=True)
class _Open:
    writer: pq.ParquetWriter
    draft: Draft
    path: str
    schema: pa.Schema
    rows: int = 0
    first: datetime | None = None
    last: datetime | None = None

    def write(self, group: pa.Table) -> None:
        self.writer.write_table(pa.table(group.columns, schema=self.schema), row_group_size=ROW_GROUP)
        self.rows += group.num_rows
        times = group.column(_TIME)
        self.first = times[0].as_py() if self.first is None else self.first
        self.last = times[-1].as_py()


def filled(rows: pa.Table) -> pa.Table:
    """Without the columns that are null throughout; structs stay, as DuckDB wants them."""
    kept = [
        name
        for name, column in zip(rows.column_names, rows.columns, strict=True)
        if column.null_count < rows.num_rows or pt.is_struct(column.type)
    ]
    return rows if len(kept) == rows.num_columns else rows.select(kept)


def in_order(rows: pa.Table) -> pa.Table:
    """By time."""
    return rows.take(pc.sort_indices(rows.column(_TIME)))


def fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """With the types that the log has: an engine in between may have others for the same."""
    fields = [schema.field(name) for name in rows.column_names]
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(rows.columns, fields, strict=True)
    ]
    return pa.table(columns, schema=pa.schema(fields))


def _groups(rows: pa.Table) -> Iterator[pa.Table]:
    number = max(-(-rows.num_rows // ROW_GROUP), -(-rows.nbytes // GROUP_BYTES), 1)
    size = -(-rows.num_rows // number)
    for start in range(0, rows.num_rows, max(size, 1)):
        yield rows.slice(start, size)


def whole(column: pa.ChunkedArray) -> pa.Array:
    """In one piece."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def unique_columns(metadata: pq.FileMetaData) -> frozenset[str]:
    """Columns with a bloom filter: those that were declared to hold ids."""
    if not metadata.num_row_groups:
        return frozenset()
    group = metadata.row_group(0)
    columns = (group.column(number) for number in range(group.num_columns))
    return frozenset(column.path_in_schema for column in columns if column.bloom_filter_offset is not None)
