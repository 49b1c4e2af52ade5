"""A Delta log read without delta-rs: its last checkpoint column by column, and the commits behind it.

Only logs as Tailrace and delta-rs write them: one checkpoint file, no deletion vectors, no renamed columns. Of any
other nothing is told, and whoever asked has to ask delta-rs.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailrace.core.errors import one_line
from tailrace.lake.damage import damaged_log, unreadable
from tailrace.lake.listing import EPOCH
from tailrace.lake.place import Place
from tailrace.lake.stored import LOG, large_checkpoint
from tailrace.lake.table_place import any_elsewhere

LONGEST = 64 << 20
"Bytes of commits behind the checkpoint; with more, a checkpoint is overdue."
BATCH = 16_384
"Entries that are unpacked at a time."
_KNOWN_FEATURES = frozenset({"timestampNtz"})
_OF_TABLE = {"metaData": ("schemaString",), "protocol": ("minReaderVersion", "readerFeatures")}
_COMMIT = re.compile(r"\d{20}\.json")
_TEXTS = ("tp_partition", "tp_index")
_ENTRY = pa.schema(
    {"path": pa.string(), "size": pa.int64(), "modificationTime": pa.int64(), "stats": pa.string()},
)


class _Unknown(Exception):
    """The log says something that is not understood here."""


NOT_UNDERSTOOD = (
    _Unknown, OSError, LookupError, TypeError, ValueError, pa.ArrowException, msgspec.DecodeError,
)  # fmt: skip
"Where one of these is raised, delta-rs says what is wrong with the log, if something is."


@dataclass(slots=True)
class _State:
    """What commits say, the later the truer."""

    schema: str = ""
    added: dict[str, dict[str, Any]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    "Paths of which an earlier entry no longer holds."

    def take(self, action: Mapping[str, Any]) -> None:
        if "add" in action:
            entry = action["add"]
            if entry.get("deletionVector"):
                raise _Unknown
            self.gone.add(entry["path"])
            self.added[entry["path"]] = entry
        elif "remove" in action:
            self.gone.add(action["remove"]["path"])
            self.added.pop(action["remove"]["path"], None)
        elif "metaData" in action:
            self.schema = action["metaData"]["schemaString"]
        elif "protocol" in action:
            _require_known(action["protocol"])


@dataclass(frozen=True, slots=True)
class Log:
    """The latest version, as far as it need not be unpacked."""

    root: Place
    version: int
    schema: pa.Schema
    name: str
    "Of the checkpoint."
    checkpoint: pa.OSFile
    added: Sequence[Mapping[str, Any]]
    "Files of the commits behind the checkpoint."
    gone: frozenset[str]
    "Paths of files in the checkpoint that are not meant any more."


def read_log(root: Place) -> Log | None:
    """Of a table on disk of very many files; None: there are not so many, or delta-rs has to be asked."""
    version = large_checkpoint(root)
    with suppress(*NOT_UNDERSTOOD):
        return None if version is None else _read(root, version)
    return None


def _read(root: Place, version: int) -> Log:
    log = root / LOG
    names = log.names()
    # Held open: another process may write the next one and delete this.
    checkpoint = f"{version:020}.checkpoint.parquet"
    handle = pa.OSFile(log.address(checkpoint))
    state = _State()
    for action in _beginning(_opened(handle)):
        state.take(action)
    size = 0
    for name in (name for name in names if _COMMIT.fullmatch(name) and int(name[:20]) > version):
        lines = log.read(name).splitlines()
        size += sum(map(len, lines))
        version += 1
        # One is missing; or a crash left one empty; or so many should not be read one by one.
        if int(name[:20]) != version or not lines or size > LONGEST:
            raise _Unknown
        for line in lines:
            state.take(msgspec.json.decode(line))
    from deltalake import Schema

    schema = pa.schema(Schema.from_json(state.schema))
    return Log(root, version, schema, checkpoint, handle, [*state.added.values()], frozenset(state.gone))


@contextmanager
def unpacking(log: Log) -> Iterator[None]:
    """Pages of a checkpoint that cannot be read are found when somebody asks for what they say."""
    try:
        yield
    except MemoryError:
        raise
    except NOT_UNDERSTOOD as error:
        # Arrow's own complaints about the content have no number; those about the disk have one.
        if isinstance(error, OSError) and error.errno is not None:
            raise unreadable(error, (log.root / LOG).address(log.name)) from error
        raise damaged_log(log.root, one_line(error)[:200], log.name) from error


def _beginning(checkpoint: pq.ParquetFile) -> Iterator[dict[str, Any]]:
    """What a checkpoint says of the table, not of its files."""
    told = {field.name for field in checkpoint.schema_arrow.field("add").type.fields}
    if not told.issuperset([*_ENTRY.names, "partitionValues"]):
        raise _Unknown  # another writer may leave out statistics as text
    if "sidecar" in checkpoint.schema_arrow.names:
        for batch in checkpoint.iter_batches(BATCH, columns=["sidecar.path"], use_threads=False):
            if batch.column("sidecar").null_count < batch.num_rows:
                raise _Unknown  # its files are told elsewhere
    for name, wanted in _OF_TABLE.items():
        for batch in checkpoint.iter_batches(BATCH, columns=[f"{name}.{each}" for each in wanted], use_threads=False):
            entries = batch.column(name)
            yield from ({name: entry} for entry in entries.filter(pc.is_valid(entries)).to_pylist())


def _require_known(protocol: Mapping[str, Any]) -> None:
    version, features = protocol["minReaderVersion"], protocol.get("readerFeatures") or ()
    if version not in (1, 3) or not _KNOWN_FEATURES.issuperset(features):
        raise _Unknown


def _opened(handle: pa.OSFile) -> pq.ParquetFile:
    """Pages are read as they are needed: a column of a million files has gigabytes."""
    return pq.ParquetFile(f"/dev/fd/{handle.fileno()}", buffer_size=1 << 20, pre_buffer=False)


class Checkpoint:
    """The files of a log: where each stands, and what it is the file of."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.is_moved = False
        "Does any rest elsewhere than in the table's root?"
        gone = pa.array(log.gone, pa.string())
        values: dict[str, list[pa.Array]] = {name: [] for name in (*_TEXTS, "tp_date")}
        rows, first = [], 0
        for batch in self._batches(["add.path", "add.partitionValues"], range(self._groups)):
            files = batch.column("add")
            numbers = np.flatnonzero(self._holds(files, gone)) + first
            self._note(files.take(pa.array(numbers - first)), values)
            rows.append(numbers)
            first += batch.num_rows
        self.behind = first
        "The first number of those behind the checkpoint."
        rows.append(np.arange(first, first + len(log.added)))
        self._note_added(values)
        self.rows = np.concatenate(rows)
        "By place, the number of its entry."
        self.days = _days(values.pop("tp_date"))
        self.texts = {name: _coded(some) for name, some in values.items()}

    def entries(self, places: Sequence[int], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """What the log says of files at these places, which are in order; a range: of all."""
        schema = pa.schema([_ENTRY.field(name) for name in names])
        yield pa.RecordBatch.from_pylist([], schema)
        wanted = self.rows if isinstance(places, range) else self.rows[places]
        first = 0
        metadata = self._file.metadata
        for group in range(self._groups):
            count = metadata.row_group(group).num_rows
            if np.searchsorted(wanted, first) < np.searchsorted(wanted, first + count):
                yield from self._of_group(group, first, wanted, schema)
            first += count
        added = [self.log.added[number - self.behind] for number in wanted[np.searchsorted(wanted, self.behind) :]]
        yield pa.RecordBatch.from_pylist([{name: entry.get(name) for name in names} for entry in added], schema)

    def _of_group(self, group: int, first: int, wanted: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for batch in self._batches([f"add.{name}" for name in schema.names], [group]):
            begin, end = np.searchsorted(wanted, [first, first + batch.num_rows])
            if begin < end:
                files = batch.column("add").take(pa.array(wanted[begin:end] - first))
                yield pa.RecordBatch.from_arrays([files.field(name) for name in schema.names], schema=schema)
            first += batch.num_rows

    @property
    def _file(self) -> pq.ParquetFile:
        return _opened(self.log.checkpoint)

    @property
    def _groups(self) -> int:
        return int(self._file.metadata.num_row_groups)

    def _batches(self, columns: list[str], groups: Sequence[int]) -> Iterator[pa.RecordBatch]:
        yield from self._file.iter_batches(BATCH, row_groups=list(groups), columns=columns, use_threads=False)

    def _holds(self, files: pa.StructArray, gone: pa.Array) -> Any:
        holds = pc.is_valid(files)
        if len(gone):
            holds = pc.and_not(holds, pc.is_in(files.field("path"), gone))
        return holds.to_numpy(zero_copy_only=False)

    def _note(self, files: pa.StructArray, values: dict[str, list[pa.Array]]) -> None:
        if not len(files):
            return
        self.is_moved = self.is_moved or any_elsewhere(pa.chunked_array([files.field("path")]))
        told = files.field("partitionValues")
        keys, items = told.keys, told.items
        for name, some in values.items():
            found = items.filter(pc.equal(keys, name))
            if len(found) != len(files) or found.null_count:
                raise LookupError(name)
            some.append(found.dictionary_encode())

    def _note_added(self, values: dict[str, list[pa.Array]]) -> None:
        if not self.log.added:
            return
        paths = pa.array([entry["path"] for entry in self.log.added], pa.string())
        self.is_moved = self.is_moved or any_elsewhere(pa.chunked_array([paths]))
        for name, some in values.items():
            found = [entry["partitionValues"][name] for entry in self.log.added]
            some.append(pa.array(found, pa.string()).dictionary_encode())


def _coded(parts: list[pa.Array]) -> tuple[list[str], array[int]]:
    whole = pa.chunked_array(parts, pa.dictionary(pa.int32(), pa.string())).unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    codes = array("i")
    codes.frombytes(whole.indices.to_numpy().astype(np.int32).tobytes())
    return whole.dictionary.to_pylist(), codes


def _days(parts: list[pa.Array]) -> array[int]:
    texts, codes = _coded(parts)
    numbers = np.array([date.fromisoformat(text).toordinal() - EPOCH for text in texts], np.int32)
    days = array("i")
    days.frombytes(numbers[np.frombuffer(codes, np.int32)].tobytes())
    return days
