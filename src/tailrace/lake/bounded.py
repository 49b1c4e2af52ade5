"""Columns of which a Parquet file may tell least and greatest value, so that engines skip row groups by them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.types as pt


def bounded(schema: pa.Schema) -> list[str]:
    """All but lists and real numbers, struct fields by dotted paths.

    Parquet's bounds leave NaN out, and engines sort it above all numbers: they would skip the rows that hold it.
    """
    return [path for field in schema for path in _bounded(field, field.name)]


def _bounded(field: pa.Field, path: str) -> Iterator[str]:
    kind = field.type.value_type if pt.is_dictionary(field.type) else field.type
    if pt.is_struct(kind):
        for inner in kind.fields:
            yield from _bounded(inner, f"{path}.{inner.name}")
    elif not (pt.is_nested(kind) or pt.is_floating(kind)):
        yield path
