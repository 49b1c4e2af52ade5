"""The Parquet engine: row groups of a file → batches of a table's columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from tempfile import SpooledTemporaryFile

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.core import Column, Parquet, Struct, Table
from tailrace.formats.arrow_fit import as_json, as_text, suited
from tailrace.formats.arrow_nested import Nested, plain_name
from tailrace.formats.base import Batch, CorruptStream, Stream
from tailrace.formats.fit import Fitter, Texts

_ROWS = 16 * 1024
_IN_MEMORY = 16 * 1024 * 1024
"A file needs its end before its beginning can be read: larger ones wait on disk."
_READ_AT_ONCE = 1024 * 1024


class ParquetDecoder:
    """Reads whole files; positions are the numbers of rows."""

    def __init__(self, table: Table, fmt: Parquet) -> None:
        self._table = table
        self._mapped = dict(fmt.field_map)

    def decode(self, stream: Stream) -> Iterator[Batch]:
        """Batches in order of the file; a file that is none, or was cut off, is corrupt as a whole."""
        with SpooledTemporaryFile(_IN_MEMORY) as file:
            for block in stream:
                file.write(block)
            if file.tell() == 0:
                return
            file.seek(0)
            try:
                yield from self._batches(pq.ParquetFile(file, buffer_size=_READ_AT_ONCE, pre_buffer=False))
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise CorruptStream(f"parquet: {str(error).splitlines()[0]}") from None

    def _batches(self, file: pq.ParquetFile) -> Iterator[Batch]:
        reading = _Reading(self._table, self._mapped, file.schema_arrow)
        first = 0
        for rows in file.iter_batches(_ROWS, use_threads=False):
            yield reading.batch(rows, first)
            first += rows.num_rows


class _Reading:
    """What becomes of the fields of one file."""

    def __init__(self, table: Table, mapped: dict[str, str], schema: pa.Schema) -> None:
        names = _distinct(schema.names)
        loosely = {plain_name(name): name for name in reversed(names)}
        self.sources: list[tuple[Column, str]] = []
        for column in table.columns:
            wanted = mapped.get(column.name) or column.src or column.name
            found = wanted if wanted in names else loosely.get(plain_name(wanted))
            if column.sql is None and found is not None:
                self.sources.append((column, found))
        used = {source for _, source in self.sources}
        flat = tuple(replace(c, src=None) for c in table.columns if not isinstance(c.type, Struct))
        self.names = names
        self.fitter = Fitter(replace(table, columns=flat), [*(c.name for c, _ in self.sources), *names], always=())
        self.nested = Nested(replace(table, columns=tuple(c for c, _ in self.sources if isinstance(c.type, Struct))))
        self.others = [
            name
            for name in names
            if name not in used
            and name not in self.fitter.passed
            and any(fnmatchcase(name, glob) for glob in table.keep)
        ]
        self.fitter.kept = []

    def batch(self, rows: pa.RecordBatch, first: int) -> Batch:
        size = rows.num_rows
        given = dict(zip(self.names, rows.columns, strict=True))
        fields: Texts = {
            column.name: suited(column, given[source])
            for column, source in self.sources
            if not isinstance(column.type, Struct)
        }
        fields |= {name: as_text(given[name]) for name in self.fitter.passed if name not in fields}
        structs = {c.name: given[source] for c, source in self.sources if isinstance(c.type, Struct)}
        inner = self.nested.fit(structs, size)
        beside = {name: as_json(given[name]) for name in self.others if given[name].null_count < size}
        columns, extra, flagged = self.fitter.fit(fields, size, misfits=inner.misfits, beside=beside | inner.beside)
        positions = np.arange(first, first + size, dtype=np.int64)
        return Batch(columns | inner.columns, positions, lambda row: _shown(rows, row), extra, flagged)


def _shown(rows: pa.RecordBatch, row: int) -> bytes:
    """The row as JSON: it has no bytes of its own."""
    one = rows.slice(row, 1)
    values = {name: _value(value) for name, value in zip(_distinct(one.schema.names), one.columns, strict=True)}
    return msgspec.json.encode(values, enc_hook=str)


def _value(one: pa.Array) -> object:
    try:
        return one[0].as_py()
    except (ValueError, OverflowError, LookupError):  # Python knows no such year, or no such zone
        return " ".join(one.to_string().split())


def _distinct(names: Sequence[str]) -> list[str]:
    """A file may have one name twice: the second `a` is `a#2`, as with members of archives."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found
