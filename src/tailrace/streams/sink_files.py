"""The files of a sink: where they lie, how one is renewed with more rows, and how one is sealed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.core.errors import TailraceError
from tailrace.lake.quoting import literal
from tailrace.streams.kinds import EVENTS, schema
from tailrace.streams.ordering import taken
from tailrace.streams.sink_options import CODECS, SinkOptions

if TYPE_CHECKING:
    import duckdb

SMALL = 16 << 20
"Up to this size a file is sorted as a whole when it is renewed; a larger one gets row groups at its end."
SEAL_MEMORY = "400MB"
_THROUGH, _SEALED, _KIND, _FORMAT = "tailrace.through", "tailrace.sealed", "tailrace.kind", "tailrace.data_format"
_VERSION = "tailrace.schema_version"
_PLAIN = frozenset({"payload"})
"Too long and too different to be counted or compared."
_SINGLE = frozenset({"timestamp", "batch_timestamp", "device_id", "session_id"})


class SinkError(TailraceError):
    """A file of a sink cannot be read or written."""

    exit_code = 5
    code = "sink.file"


@dataclass(frozen=True, slots=True, order=True)
class FileKey:
    """One file: tenant, beginning of its period in milliseconds, kind of rows."""

    workspace: int
    period: int
    kind: str

    def path(self, options: SinkOptions) -> Path:
        begin = datetime.fromtimestamp(self.period / 1000, UTC)
        day = options.path / str(self.workspace) / f"{begin:%Y-%m-%d}"
        return (day / f"{begin:%H}" if options.rotation == "hourly" else day) / f"{self.kind}.parquet"


@dataclass(frozen=True, slots=True)
class FileState:
    """What a published file says of itself."""

    through: int = 0
    "Last segment whose rows are in it."
    rows: int = 0
    size: int = 0
    sealed: bool = False
    exists: bool = False


def state_of(path: Path) -> FileState:
    """From the footer; a file that is not ours is an error."""
    try:
        size = path.stat().st_size
        metadata = pq.read_metadata(path)
    except FileNotFoundError:
        return FileState()
    except pa.ArrowInvalid as error:
        raise SinkError(f"no Parquet file: {error}", where=str(path), hint="move it away") from None
    through = through_of(metadata)
    if through is None:
        raise SinkError("was not written by this sink", where=str(path), hint="move it away, or choose another path")
    sealed = metadata.metadata.get(_SEALED.encode()) == b"true"
    return FileState(through, metadata.num_rows, size, sealed, True)


def through_of(metadata: pq.FileMetaData) -> int | None:
    """Last segment whose rows are in a file; None: it was not written by a sink."""
    told = (metadata.metadata or {}).get(_THROUGH.encode())
    return None if told is None else int(told)


class FileWriter:
    """Writes files of one sink into its staging directory."""

    def __init__(self, options: SinkOptions) -> None:
        self.options = options

    def renew(self, key: FileKey, old: FileState, rows: pa.Table, through: int, temporary: Path) -> None:
        """The old rows and the new ones, into `temporary`."""
        path = key.path(self.options)
        if old.size <= SMALL:
            before = pq.ParquetFile(path).read() if old.exists else rows.slice(0, 0)
            whole = pa.concat_tables([before.cast(self._schema(key.kind)), rows])
            with pa.OSFile(str(temporary), "wb") as out:
                self._write(out, key.kind, _sorted(whole), self._footer(key.kind, through))
        else:
            self._append(path, key.kind, _sorted(rows), through, temporary)
        _sync(temporary)

    def seal(self, key: FileKey, old: FileState, temporary: Path, engine: duckdb.DuckDBPyConnection) -> None:
        """All rows in one order, sorted outside of memory."""
        import duckdb

        swap = temporary.with_suffix(".swap")
        try:
            self._sort(engine, key, old, temporary, swap)
        except duckdb.Error as error:
            raise SinkError(f"cannot be sorted: {error}", where=str(key.path(self.options))) from None
        finally:
            shutil.rmtree(swap, ignore_errors=True)
        _sync(temporary)

    def _sort(
        self, engine: duckdb.DuckDBPyConnection, key: FileKey, old: FileState, temporary: Path, swap: Path
    ) -> None:
        with pa.OSFile(str(temporary), "wb") as out:
            engine.execute("SET threads = 1")
            engine.execute(f"SET memory_limit = '{SEAL_MEMORY}'")
            engine.execute(f"SET temp_directory = {literal(str(swap))}")
            found = engine.sql(
                "SELECT * FROM read_parquet($1, hive_partitioning = false) ORDER BY timestamp",
                params=[str(key.path(self.options))],
            )
            batches = found.to_arrow_reader(self.options.row_group_size)
            footer = self._footer(key.kind, old.through, sealed=True)
            with self._writer(out, key.kind, footer) as writer:
                for table in _groups(batches, self._schema(key.kind), self.options.row_group_size):
                    writer.write_table(table, row_group_size=self.options.row_group_size)

    def _append(self, path: Path, kind: str, rows: pa.Table, through: int, temporary: Path) -> None:
        """Old row groups as bytes, at the same positions; then new ones, and a footer that names both."""
        data_end = _footer_start(path)
        with pa.OSFile(str(temporary), "wb") as out:
            writer = self._writer(out, kind, self._footer(kind, through))
            with open(path, "rb") as source:
                source.seek(len(b"PAR1"))
                left = data_end - len(b"PAR1")
                while left and (block := source.read(min(left, 4 << 20))):
                    out.write(block)
                    left -= len(block)
            writer.write_table(rows, row_group_size=self.options.row_group_size)
            writer.close()
        whole = self._empty_footer(kind, through)
        whole.append_row_groups(pq.read_metadata(path))
        whole.append_row_groups(pq.read_metadata(temporary))
        buffer = pa.BufferOutputStream()
        whole.write_metadata_file(buffer)
        end = _footer_start(temporary)
        with open(temporary, "r+b") as file:
            file.truncate(end)
            file.seek(end)
            file.write(buffer.getvalue().to_pybytes()[len(b"PAR1") :])

    def _empty_footer(self, kind: str, through: int) -> Any:
        buffer = pa.BufferOutputStream()
        self._writer(buffer, kind, self._footer(kind, through)).close()
        return pq.read_metadata(pa.BufferReader(buffer.getvalue()))

    def _write(self, out: Any, kind: str, table: pa.Table, footer: dict[str, str]) -> None:
        with self._writer(out, kind, footer) as writer:
            writer.write_table(table, row_group_size=self.options.row_group_size)

    def _writer(self, out: Any, kind: str, footer: dict[str, str]) -> pq.ParquetWriter:
        columns = self._schema(kind)
        size = self.options.row_group_size
        blooms = {"bloom_filter_options": {"device_id": {"ndv": size, "fpp": 0.01}}} if kind == EVENTS else {}
        writer = pq.ParquetWriter(
            out,
            columns,
            compression=CODECS[self.options.compression],
            use_dictionary=[name for name in columns.names if name not in _PLAIN | _SINGLE],
            write_statistics=[name for name in columns.names if name not in _PLAIN],
            sorting_columns=[pq.SortingColumn(0)],
            store_schema=False,
            **blooms,
        )
        writer.add_key_value_metadata(footer)
        return writer

    def _schema(self, kind: str) -> pa.Schema:
        return schema(kind, self.options.workspace_id_type, self.options.data_format)

    def _footer(self, kind: str, through: int, *, sealed: bool = False) -> dict[str, str]:
        return {
            _THROUGH: str(through),
            _SEALED: "true" if sealed else "false",
            _KIND: kind,
            _FORMAT: self.options.data_format,
            _VERSION: "1",
        }


def _sorted(table: pa.Table) -> pa.Table:
    return taken(table, table["timestamp"].to_numpy().argsort(kind="stable"))


def _groups(batches: pa.RecordBatchReader, wanted: pa.Schema, size: int) -> Iterator[pa.Table]:
    """Tables of a row group each."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        while rows >= size:
            table = pa.Table.from_batches(held)
            yield table.slice(0, size).cast(wanted)
            rest = table.slice(size)
            held, rows = rest.to_batches(), rest.num_rows
    if rows:
        yield pa.Table.from_batches(held).cast(wanted)


def _footer_start(path: Path) -> int:
    with open(path, "rb") as file:
        end = file.seek(-8, os.SEEK_END)
        return end - int.from_bytes(file.read(4), "little")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
