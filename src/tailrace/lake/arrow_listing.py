"""From what Arrow knows of a table to what those read who do without it, in this process or the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tailrace.lake.kept import Part
from tailrace.lake.kept_snapshot import ENDS, VALID
from tailrace.lake.listing import BOOLEAN, DATE, DECIMAL, INTEGER, REAL, REAL32, TEXT, TIME, Files, Listing
from tailrace.lake.snapshot import Snapshot
from tailrace.lake.sql import columns_of
from tailrace.lake.table_place import any_elsewhere

_READ = ("path", "size", "rows", "tp_partition", "tp_index", "tp_date")
_BOUNDS = ("min.", "max.")
_AS = {
    TEXT: pa.large_string(), DECIMAL: pa.large_string(), REAL: pa.float64(), REAL32: pa.float64(),
    INTEGER: pa.int64(), BOOLEAN: pa.int64(), TIME: pa.int64(), DATE: pa.int32(),
}  # fmt: skip
"What holds the values of a kind without loss."


def listing_of(seen: Snapshot) -> Listing:
    """The same in plain values."""
    return Listing(
        seen.table, seen.root, seen.version, columns_of(seen.schema), files_of(seen.files),
        any_elsewhere(seen.files.column("path")),
    )  # fmt: skip


def files_of(files: pa.Table) -> Files:
    """Those of a snapshot, as `Files` has them."""
    return Files(ArrowSource(files))


def rows_of(table: pa.Table, files: Files) -> pa.Table:
    """Rows of the table of which those files were made."""
    return table if isinstance(files.places, range) else table.take(pa.array(files.places, pa.int64()))


class ArrowSource:
    """A table of Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @property
    def count(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        # Of a column `a.b` and a field `b` of a column `a` nobody could tell whose bounds are meant.
        single = [name for name, times in Counter(self.table.column_names).items() if times == 1]
        found = ((name, kind_of(self.table.schema.field(name).type)) for name in single if _is_read(name))
        return {name: kind for name, kind in found if kind is not None}

    def read(self, column: str) -> Sequence[Any]:
        kind = self.kinds[column]
        values: list[Any] = _plain(self.table.column(column), kind).to_pylist()
        return revived(values, kind)

    def some(self, column: str, places: Sequence[int]) -> None:
        return None


def revived(values: Sequence[Any], kind: str) -> Sequence[Any]:
    """Values as they are compared, from what holds them."""
    if kind == BOOLEAN:
        return [None if value is None else bool(value) for value in values]
    if kind == DECIMAL:
        from decimal import Decimal

        return [None if value is None else Decimal(value) for value in values]
    return values


def parts_of(files: pa.Table) -> Iterator[tuple[str, Part]]:
    """All that is read of a table's files, as it is kept: bytes as Arrow holds them."""
    for name, kind in ArrowSource(files).kinds.items():
        values = _plain(files.column(name), kind)
        if values.null_count == len(values) and name.startswith(_BOUNDS):
            continue  # as if nothing had been said
        if values.null_count:
            yield f"{VALID}:{name}", Part(VALID, _bytes(pc.is_valid(values).cast(pa.uint8())))
            values = values.fill_null("" if pt.is_large_string(values.type) else 0)
        if pt.is_large_string(values.type):
            ends = pc.cumulative_sum(pc.binary_length(values).cast(pa.int64()))
            yield f"{ENDS}:{name}", Part(ENDS, bytes(8) + _bytes(ends))
            yield name, Part(kind, _joined(values))
        else:
            yield name, Part(kind, _bytes(values.cast(pa.int64()) if kind == DATE else values))


def _is_read(name: str) -> bool:
    return name in _READ or name.startswith(_BOUNDS)


def kind_of(type: pa.DataType) -> str | None:
    """None for what is compared with nothing."""
    if pt.is_dictionary(type):
        return kind_of(type.value_type)
    if pt.is_string(type) or pt.is_large_string(type) or pt.is_string_view(type):
        return TEXT
    if pt.is_integer(type):
        return None if pt.is_uint64(type) else INTEGER
    if pt.is_floating(type):
        return REAL32 if pt.is_float32(type) else REAL if pt.is_float64(type) else None
    if pt.is_timestamp(type):
        return TIME if type.tz is None and type.unit == "us" else None
    simple = {pt.is_boolean: BOOLEAN, pt.is_date32: DATE, pt.is_decimal: DECIMAL}
    return next((kind for test, kind in simple.items() if test(type)), None)


def _plain(column: pa.ChunkedArray, kind: str) -> pa.Array:
    values = column.combine_chunks()
    values = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
    if pt.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values.cast(_AS[kind])


def _bytes(values: pa.Array) -> bytes:
    """Of numbers without null."""
    if not len(values):
        return b""
    size = values.type.bit_width // 8
    content: memoryview = memoryview(values.buffers()[1])
    return bytes(content[values.offset * size : (values.offset + len(values)) * size])


def _joined(texts: pa.Array) -> bytes:
    """Of texts without null."""
    if not len(texts):
        return b""
    _, ends, content = texts.buffers()
    bounds = memoryview(ends).cast("q")
    return bytes(memoryview(content)[bounds[texts.offset] : bounds[texts.offset + len(texts)]])
