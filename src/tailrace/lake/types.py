"""Arrow types in Delta's words: what can be compared, shown in an error, and hashed."""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pyarrow.types as pt

JOINED_LATER = b"tailrace.later"
"Metadata of a field of a struct that joined it after files had been written."
_NAMES: dict[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp_ntz",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
}


def type_name(type: pa.DataType) -> str:
    """Delta's name of a type; Arrow's layout (dictionary, large, view) makes no difference."""
    if pt.is_dictionary(type):
        return type_name(type.value_type)
    if pt.is_struct(type):
        return "struct<" + ",".join(f"{f.name}:{type_name(f.type)}" for f in type.fields) + ">"
    if pt.is_list(type) or pt.is_large_list(type):
        return f"array<{type_name(type.value_type)}>"
    if pt.is_decimal(type):
        return f"decimal({type.precision},{type.scale})"
    return _NAMES.get(type) or str(type)


def schema_fingerprint(schema: pa.Schema) -> str:
    """Equal for schemas with the same column names and Delta types in the same order."""
    spelled = "\n".join(f"{f.name} {type_name(f.type)}" for f in schema)
    return hashlib.blake2b(spelled.encode(), digest_size=8).hexdigest()
