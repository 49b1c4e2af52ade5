"""Columns: the words with which a table is declared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
TYPES = frozenset({
    "boolean", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint", "hugeint",
    "float", "double", "varchar", "json", "uuid", "time", "interval", "cidr", "inet", "blob", "date", "timestamp",
})  # fmt: skip
"Scalar types that a column may have, besides `decimal(p,s)`; any of them with `[]` is a list."
SYNONYMS = {
    "bool": "boolean",
    "int": "integer",
    "int4": "integer",
    "int8": "bigint",
    "long": "bigint",
    "real": "float",
    "float4": "float",
    "float8": "double",
    "string": "varchar",
    "text": "varchar",
    "datetime": "timestamp",
    "bytea": "blob",
}


@dataclass(frozen=True, slots=True)
class Struct:
    """A nested type: named columns, nullable, in declared order."""

    columns: tuple[Column, ...]

    def __str__(self) -> str:
        return "struct(" + ", ".join(f"{c.name} {c.type}" for c in self.columns) + ")"


@dataclass(frozen=True, slots=True)
class Column:
    """One typed column of a table and where its value comes from."""

    name: str
    type: str | Struct = "varchar"
    "DuckDB's spelling in lower case (`bigint`, `varchar[]`, `json`, `decimal(18,2)`), or a struct."
    src: str | None = None
    """Source field or key; by default the column's name, rewritten by the format's `keys` rule. In JSON `/a/b` points
    at `b` inside the object `a`, `*` at all of an object that has no column; `/tp_envelope/a` at `a` in the envelope
    that the record came in. In delimited records `a/*` gathers the fields that begin so and have no column."""
    doc: str = ""
    sql: str | None = None
    "A DuckDB expression over source fields; excludes `src`."
    time: str | None = None
    """How a timestamp is written: None = ISO 8601; `epoch` (any unit) or `epoch_s|ms|us|ns`, which take ISO 8601 too;
    or a strptime pattern."""
    null_if: str | None = None
    "A text that means null, on top of the table's own marker."
    required: bool = False
    "A row in which this column is null is quarantined."
    decode: str | None = None
    "`json`: the value is JSON sent as a string and is stored decoded."
    unique: bool = False
    "Nearly every row has its own value (ids): no dictionary, bloom filter instead of min/max."
    list_separator: str | None = None
    "A text value for a `T[]` column is split at this separator."


def col(
    name: str,
    type: str | Struct = "varchar",
    src: str | None = None,
    doc: str = "",
    *,
    sql: str | None = None,
    time: str | None = None,
    null_if: str | None = None,
    required: bool = False,
    decode: str | None = None,
    unique: bool = False,
    list_separator: str | None = None,
) -> Column:
    """Declare a column: `col("status", "integer", "sc-status", "HTTP status sent to the client.")`."""
    return Column(name, type, src, doc, sql, time, null_if, required, decode, unique, list_separator)


def struct(*columns: Column) -> Struct:
    """Declare a nested type: `struct(col("type"), col("arn"))`."""
    return Struct(columns)


def leaves(columns: tuple[Column, ...], prefix: str = "") -> Iterator[tuple[str, Column]]:
    """Every leaf column with its dotted path, depth first."""
    for column in columns:
        path = f"{prefix}{column.name}"
        if isinstance(column.type, Struct):
            yield from leaves(column.type.columns, f"{path}.")
        else:
            yield path, column


def is_column_name(name: str) -> bool:
    """Can a column be called so? Not empty, no blanks around it, no control characters in it."""
    return bool(name) and name == name.strip() and not _CONTROL.search(name)


def pascal(name: str) -> str:
    """`product_arn` → `ProductArn`."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def camel(name: str) -> str:
    """`user_identity` → `userIdentity`: how AWS and others spell JSON keys."""
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)
