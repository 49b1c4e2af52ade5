"""Stored columns as DuckDB sees them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from tailrace.lake.listing import Columns, Shape
from tailrace.lake.quoting import quoted
from tailrace.lake.types import JOINED_LATER

_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.date32(): "DATE",
}


def duckdb_type(field: pa.Field) -> str:
    """The type a query sees: what was declared as `json` is JSON, times are UTC without zone."""
    return _type(field, "JSON")


def stored_type(field: pa.Field) -> str:
    """The type that comes out of DuckDB as it went in: JSON is the text that was stored."""
    return _type(field, "VARCHAR")


def _type(field: pa.Field, json: str) -> str:
    if (field.metadata or {}).get(b"tailrace.type") == b"json":
        return json
    return _of(field.type, json)


def _of(kind: pa.DataType, json: str) -> str:
    if pt.is_struct(kind):
        return f"STRUCT({', '.join(f'{quoted(f.name)} {_type(f, json)}' for f in kind.fields)})"
    if pt.is_list(kind) or pt.is_large_list(kind) or pt.is_list_view(kind):
        return _of(kind.value_type, json) + "[]"
    if pt.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if pt.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz is None else "TIMESTAMPTZ"
    if pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_binary_view(kind):
        return "BLOB"
    return _NAMES.get(kind, "VARCHAR")


def has_grown(kind: pa.DataType) -> bool:
    """Is it a struct, however deep, with fields that older files lack?"""
    fields = kind.fields if pt.is_struct(kind) else ()
    return any(JOINED_LATER in (field.metadata or {}) or has_grown(field.type) for field in fields)


def columns_of(schema: pa.Schema) -> Columns:
    """The same of all columns, in words that need no Arrow."""
    shapes = tuple(Shape(f.name, duckdb_type(f), stored_type(f), has_grown(f.type)) for f in schema)
    return Columns(shapes, lambda: schema.serialize().to_pybytes())
