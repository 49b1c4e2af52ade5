"""The four OTAP tables of logs: columns, types and codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import pyarrow as pa

EMPTY, STR, INT, DOUBLE, BOOL, MAP, SLICE, BYTES = range(8)
"Codes of a value's type; the value is in the column that is named for it, maps and slices are CBOR in `ser`."
TABLES = ("logs", "log_attrs", "resource_attrs", "scope_attrs")
ATTRIBUTES = TABLES[1:]
PART_ID = "_part_id"
UNPARTITIONED = "__none__"
"The `_part_id` of files that lie in no directory of one."
IDS = b"otap.ids"
"Key in a file's footer: `partition` says that ids of resources and scopes too are those of the partition."
LARGEST_ID = 2**32 - 1
NANOS = pa.timestamp("ns")

VALUE_FIELDS = (
    pa.field("type", pa.uint8()),
    pa.field("str", pa.string()),
    pa.field("int", pa.int64()),
    pa.field("double", pa.float64()),
    pa.field("bool", pa.bool_()),
    pa.field("bytes", pa.binary()),
    pa.field("ser", pa.binary()),
)
RESOURCE = pa.struct(
    [("id", pa.uint32()), ("schema_url", pa.string()), ("dropped_attributes_count", pa.uint32())],
)
SCOPE = pa.struct(
    [
        ("id", pa.uint32()), ("name", pa.string()), ("version", pa.string()),
        ("dropped_attributes_count", pa.uint32()),
    ]
)  # fmt: skip
BODY = pa.struct(VALUE_FIELDS)
LOGS = pa.schema(
    [
        pa.field("id", pa.uint32()),
        pa.field("resource", RESOURCE),
        pa.field("scope", SCOPE),
        pa.field("schema_url", pa.string()),
        pa.field("time_unix_nano", NANOS),
        pa.field("observed_time_unix_nano", NANOS),
        pa.field("trace_id", pa.binary(16)),
        pa.field("span_id", pa.binary(8)),
        pa.field("severity_number", pa.int32()),
        pa.field("severity_text", pa.string()),
        pa.field("body", BODY),
        pa.field("dropped_attributes_count", pa.uint32()),
        pa.field("event_name", pa.string()),
        pa.field("flags", pa.uint32()),
    ]
)
ATTRS = pa.schema([pa.field("parent_id", pa.uint32()), pa.field("key", pa.string()), *VALUE_FIELDS])
KEYED = ATTRS.set(1, pa.field("key", pa.dictionary(pa.int32(), pa.string())))
"Attributes of which each key is there once, as files hold them: a fifth less to read."
SCHEMAS = {"logs": LOGS, **dict.fromkeys(ATTRIBUTES, ATTRS)}


@dataclass(frozen=True, slots=True)
class Tables:
    """Logs with their attributes; ids lead from one table to the other and mean nothing beyond them."""

    logs: pa.Table
    log_attrs: pa.Table
    resource_attrs: pa.Table
    scope_attrs: pa.Table

    def of(self, name: str) -> pa.Table:
        table: pa.Table = getattr(self, name)
        return table

    @classmethod
    def empty(cls) -> Tables:
        return cls(*(SCHEMAS[name].empty_table() for name in TABLES))


def names() -> tuple[str, ...]:
    return tuple(field.name for field in fields(Tables))


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with just these columns and types; what it does not have is null."""
    return pa.table([_column(table, field) for field in schema], schema=schema)


def _column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if field.name not in table.column_names:
        return pa.nulls(len(table), field.type)
    column = table.column(field.name)
    if column.type == field.type:
        return column
    if pa.types.is_dictionary(field.type):
        return _column(table, field.with_type(field.type.value_type)).dictionary_encode()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_struct(field.type):
        return pa.chunked_array([_struct(chunk, field.type) for chunk in column.chunks], field.type)
    return column.cast(field.type)


def _struct(array: pa.StructArray, target: pa.StructType) -> pa.Array:
    flat = pa.table(array.flatten(), names=[array.type.field(n).name for n in range(array.type.num_fields)])
    inner: Iterable[pa.ChunkedArray] = fitted(flat, pa.schema(list(target))).columns
    parts = [column.combine_chunks() for column in inner]
    return pa.StructArray.from_arrays(parts, fields=list(target), mask=array.is_null())
