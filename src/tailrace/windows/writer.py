"""Writes OTAP tables as Parquet: ids unique in a partition, attributes visible before their logs."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailrace.lake.bounded import bounded
from tailrace.lake.place import Draft, LocalPlace, Place
from tailrace.windows.files import directory, new_name
from tailrace.windows.schema import ATTRIBUTES, IDS, LARGEST_ID, LOGS, PART_ID, RESOURCE, SCHEMAS, SCOPE, TABLES, Tables

ROWS_PER_FILE = 1_000_000
"Logs after which the files of all tables are closed."
_UNDER_WAY = "#1"


class OtapWriter:
    """One writer owns a partition; a new one begins where ids would not fit in 32 bits."""

    def __init__(
        self, base: Place, *, rows_per_file: int = ROWS_PER_FILE, part_id: str | None = None, compression: str = "zstd",
        together: bool = False,
    ) -> None:  # fmt: skip
        """With `together` on disk no file shows before the last one is written."""
        self._base = base
        self._compression = compression
        self._rows_per_file = rows_per_file
        self.part_id = part_id or str(uuid.uuid4())
        self._next_id = 0
        self._open: dict[str, _File] = {}
        self._rows = 0
        self._together = together
        self._closed: list[_File] = []
        self.files: list[str] = []
        "Names of what is written and visible."

    def __enter__(self) -> OtapWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.flush()
                self._show()
        finally:
            self.discard()

    def write(self, tables: Tables) -> None:
        """Takes tables whose ids are their own."""
        if not len(tables.logs):
            return
        size = _largest_id(tables) + 1
        if self._next_id + size > LARGEST_ID + 1:
            self.flush()
            self.part_id, self._next_id = str(uuid.uuid4()), 0
        shifted = _shifted(tables, self._next_id)
        for name in TABLES:
            if len(shifted.of(name)):
                self._file(name).write(shifted.of(name))
        self._next_id += size
        self._rows += len(tables.logs)
        if self._rows >= self._rows_per_file:
            self.flush()

    def flush(self) -> None:
        """Closes all files."""
        for name in TABLES:
            if file := self._open.get(name):
                file.close()
                self._closed.append(self._open.pop(name))
        self._rows = 0
        if not self._together:
            self._show()

    def _show(self) -> None:
        """Whoever sees logs sees their attributes too."""
        self._closed.sort(key=lambda file: file.is_of_logs)
        while self._closed:
            self.files.append(self._closed[0].show())
            del self._closed[0]

    def discard(self) -> None:
        """Nothing of what does not show stays."""
        for file in (*self._open.values(), *self._closed):
            file.discard()
        self._open.clear()
        self._closed.clear()

    def _file(self, table: str) -> _File:
        if table not in self._open:
            name = f"{directory(table, self.part_id)}/{new_name()}"
            self._open[table] = _File(self._base, name, SCHEMAS[table], self.part_id, self._compression)
        return self._open[table]


class _File:
    """A file that shows itself when it is whole."""

    def __init__(self, base: Place, name: str, schema: pa.Schema, part_id: str, compression: str) -> None:
        self._name = name
        self._local = base.path / name if isinstance(base, LocalPlace) else None
        # In a bucket an object is there as a whole or not at all.
        self._draft: Draft = base.create(name + _UNDER_WAY if self._local else name)
        level = 1 if compression == "zstd" else None
        packed = {"compression": compression, "compression_level": level}
        self._writer = pq.ParquetWriter(self._draft.path, schema, **packed, write_statistics=bounded(schema))
        self._writer.add_key_value_metadata({IDS.decode(): "partition", PART_ID: part_id})

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table)

    @property
    def is_of_logs(self) -> bool:
        return self._name.startswith("logs/")

    def close(self) -> None:
        self._writer.close()
        self._draft.close()
        self._draft.wait()

    def show(self) -> str:
        if self._local is not None:
            os.replace(self._draft.path, self._local)
        return self._name

    def discard(self) -> None:
        with suppress(OSError):
            self._writer.close()
        self._draft.discard()


def _largest_id(tables: Tables) -> int:
    columns = [tables.logs["id"], *(pc.struct_field(tables.logs[name], "id") for name in ("resource", "scope"))]
    return max(pc.max(column).as_py() or 0 for column in columns)


def _shifted(tables: Tables, by: int) -> Tables:
    if not by:
        return tables
    columns = {name: tables.logs[name] for name in LOGS.names}
    columns["id"] = _added(columns["id"], by)
    for name, kind in (("resource", RESOURCE), ("scope", SCOPE)):
        array = columns[name].combine_chunks()
        parts = [_added(pc.struct_field(array, "id"), by)]
        parts += [pc.struct_field(array, [n]) for n in range(1, kind.num_fields)]
        columns[name] = pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
    logs = pa.table([columns[name] for name in LOGS.names], schema=LOGS)
    attributes = (tables.of(name) for name in ATTRIBUTES)
    return Tables(logs, *(t.set_column(0, t.schema.field(0), _added(t["parent_id"], by)) for t in attributes))


def _added(ids: pa.Array | pa.ChunkedArray, by: int) -> pa.Array | pa.ChunkedArray:
    return pc.add(ids, pa.scalar(np.uint32(by), pa.uint32()))
