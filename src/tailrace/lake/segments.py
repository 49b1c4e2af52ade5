"""Ledger segments and their folds as files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.core.errors import LakeError, one_line
from tailrace.lake.ledger import ENTRY_SCHEMA, LEDGER_SCHEMA, RESTORE, RESTORED, Ledger, Segment
from tailrace.lake.place import Place
from tailrace.lake.steps import reached

FOLD_EVERY = 64
"Segments that may lie behind the last fold before a new one is written."
PLAIN_ROWS = 1000
_HEADER = b"tailrace.segment"
_FOLD = "fold-"
_FIRST_COLUMNS = ("uri", "version", "size", "generation", "status", "rows", "dates", "at")
"What every version has written."


def segment_name(sequence: int) -> str:
    return f"{sequence:012d}.parquet"


def segment_numbers(directory: Place, after: int = 0) -> list[int]:
    """Segments that exist behind a number, in order."""
    stems = (name.removesuffix(".parquet") for name in directory.names(segment_name(after)))
    return [int(stem) for stem in stems if stem.isdigit()]


def segment_bytes(segment: Segment) -> bytes:
    """A segment as Parquet: entries as rows, the rest in the footer."""
    header = {f.name: getattr(segment, f.name) for f in fields(segment) if f.name != "entries"}
    return _parquet(segment.entries, header)


def read_segment(directory: Place, sequence: int) -> Segment:
    """One segment, valid or not."""
    name = segment_name(sequence)
    try:
        entries, header = _read(directory, name)
    except FileNotFoundError:
        raise _damaged(directory, name, f"ledger segment {sequence} is missing") from None
    completed = _completed(entries, ENTRY_SCHEMA)
    if completed is None:
        raise _damaged(directory, name, "not a ledger segment: its columns are others")
    return Segment(**_with_tuples(header), entries=completed)


def load_ledger(directory: Place, decided: int, is_last_valid: bool) -> Ledger:
    """Fold of the segments up to `decided`; the last one counts only if its commit said so."""
    last = decided if is_last_valid else decided - 1
    ledger = _read_fold(directory, last)
    tail: list[Segment] = []
    for sequence in range(ledger.sequence + 1, last + 1):
        segment = read_segment(directory, sequence)
        if segment.kind == RESTORE:
            ledger = replace(load_ledger(directory, int(segment.notes[RESTORED]), True), sequence=sequence)
            tail = []
        else:
            tail.append(segment)
    return ledger.fold(tail)


def write_fold(directory: Place, ledger: Ledger, owner: str) -> None:
    """Keep the fold, so that later runs read only what came after; and the one before, for readers."""
    header = {"sequence": ledger.sequence, "quarantine": ledger.quarantine, "notes": ledger.notes}
    directory.put(_fold_name(ledger.sequence), _parquet(ledger.entries, header), owner)
    reached("fold-written")
    directory.delete(_fold_name(number) for number in _folds(directory)[:-2])


def last_fold(directory: Place) -> int:
    """Sequence of the newest fold, 0 without one."""
    return max(_folds(directory), default=0)


def _fold_name(sequence: int) -> str:
    return f"{_FOLD}{segment_name(sequence)}"


def _folds(directory: Place) -> list[int]:
    """The folds that exist, in order. Their names come behind those of segments."""
    names = (name for name in directory.names(_FOLD) if name.startswith(_FOLD))
    return [int(name.removeprefix(_FOLD).removesuffix(".parquet")) for name in names]


def _read_fold(directory: Place, last: int) -> Ledger:
    for sequence in sorted((n for n in _folds(directory) if n <= last), reverse=True):
        try:
            entries, header = _read(directory, _fold_name(sequence))
        except FileNotFoundError:
            continue
        completed = _completed(entries, LEDGER_SCHEMA)
        if completed is None:
            continue  # of another version: the segments say the same
        return Ledger(**_with_tuples(header), entries=completed)
    return Ledger()


def _completed(entries: pa.Table, schema: pa.Schema) -> pa.Table | None:
    """With the columns that came later, which earlier versions did not write; None: other columns altogether."""
    if entries.schema == schema:
        return entries
    if not set(_FIRST_COLUMNS) <= set(entries.column_names) <= set(schema.names):
        return None
    written = set(entries.column_names)
    columns = [entries.column(f.name) if f.name in written else pa.nulls(entries.num_rows, f.type) for f in schema]
    completed = pa.table(columns, names=schema.names)
    return completed if completed.schema == schema else None


def _parquet(entries: pa.Table, header: Mapping[str, Any]) -> bytes:
    sink = pa.BufferOutputStream()
    table = entries.replace_schema_metadata({_HEADER: json.dumps(header).encode()})
    # Most segments hold a few artifacts, and plain pages are read three times as fast.
    is_large = entries.num_rows > PLAIN_ROWS
    compression = "zstd" if is_large else "none"
    pq.write_table(table, sink, compression=compression, use_dictionary=is_large, write_statistics=False)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _read(directory: Place, name: str) -> tuple[pa.Table, dict[str, Any]]:
    data = directory.read(name)
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
        header: dict[str, Any] = json.loads(table.schema.metadata[_HEADER])
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(directory, name, f"not a ledger file: {one_line(error)}") from error
    return table.replace_schema_metadata(None), header


def _damaged(directory: Place, name: str, message: str) -> LakeError:
    hint = "restore the file from a backup of the workspace's `meta` directory"
    return LakeError(message, code="lake.damaged-ledger", where=directory.address(name), hint=hint)


def _with_tuples(header: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in header.items()}
