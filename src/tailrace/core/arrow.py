"""Column types → Arrow types as the lake stores them. The one module of `core` that imports pyarrow."""

from __future__ import annotations

import re

import pyarrow as pa

from tailrace.core.columns import SYNONYMS, Column, Struct
from tailrace.core.errors import ConfigError
from tailrace.core.table import TP_COLUMNS, Table

# Delta has no unsigned integers, no time of day, no interval: the next type that holds every value stands in.
_ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "utinyint": pa.int16(),
    "usmallint": pa.int32(),
    "uinteger": pa.int64(),
    "ubigint": pa.decimal128(20, 0),
    "hugeint": pa.decimal128(38, 0),
    "float": pa.float32(),
    "double": pa.float64(),
    "varchar": pa.string(),
    "json": pa.string(),
    "uuid": pa.string(),
    "time": pa.string(),
    "interval": pa.string(),
    "cidr": pa.string(),
    "inet": pa.string(),
    "blob": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal(?:\((\d+)\s*,\s*(\d+)\))?")


def arrow_type(spelled: str | Struct) -> pa.DataType:
    """The stored type of a declared one: `varchar[]` → list<string>."""
    if isinstance(spelled, Struct):
        return pa.struct([arrow_field(c) for c in spelled.columns])
    name = spelled.strip().lower()
    if name.endswith("[]"):
        return pa.list_(arrow_type(name[:-2]))
    name = SYNONYMS.get(name, name)
    if name in _ARROW:
        return _ARROW[name]
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return pa.decimal128(int(decimal[1] or 18), int(decimal[2] or 3))
    raise ConfigError(
        f"unknown column type '{spelled}'",
        code="config.unknown-type",
        hint=f"known: {', '.join(sorted(_ARROW))}, decimal(p,s), T[], struct",
    )


def arrow_field(column: Column) -> pa.Field:
    """The stored field; the declared type travels as metadata so that readers can show `json`."""
    metadata = {} if isinstance(column.type, Struct) else {"tailrace.type": column.type}
    if column.doc:
        metadata["comment"] = column.doc
    return pa.field(column.name, arrow_type(column.type), metadata=metadata or None)


def arrow_schema(table: Table) -> pa.Schema:
    """Own columns in declared order, then the shared ones. A table that maps a `tp_*` itself has it once."""
    shared = {c.name for c in TP_COLUMNS}
    own = [c for c in table.columns if c.name not in shared]
    return pa.schema([arrow_field(c) for c in (*own, *TP_COLUMNS)])
