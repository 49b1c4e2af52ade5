"""The columns of a table in Iceberg's words."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pyarrow as pa
import pyarrow.types as pt
from pyiceberg import types as ice
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.transforms import IdentityTransform

from tailrace.lake.paths import PARTITION_COLUMNS
from tailrace.lake.types import type_name

_FIRST_PARTITION_FIELD = 1000
_TYPES: dict[str, Callable[[], ice.IcebergType]] = {
    "boolean": ice.BooleanType,
    # Iceberg has no smaller integers; readers widen what files hold.
    "byte": ice.IntegerType,
    "short": ice.IntegerType,
    "integer": ice.IntegerType,
    "long": ice.LongType,
    "float": ice.FloatType,
    "double": ice.DoubleType,
    "date": ice.DateType,
    "timestamp_ntz": ice.TimestampType,
    "string": ice.StringType,
    "binary": ice.BinaryType,
}


def iceberg_schema(schema: pa.Schema) -> Schema:
    """All columns, none of them required, numbered as a new table would number them."""
    numbers = count(1)
    return assign_fresh_schema_ids(Schema(*[_field(field, numbers) for field in schema]))


def partition_spec(schema: Schema) -> PartitionSpec:
    """As the lake is partitioned, so that each file lies in one partition."""
    return PartitionSpec(
        *[
            PartitionField(schema.find_field(name).field_id, _FIRST_PARTITION_FIELD + i, IdentityTransform(), name)
            for i, name in enumerate(PARTITION_COLUMNS)
        ]
    )


def _field(field: pa.Field, numbers: count[int]) -> ice.NestedField:
    number = next(numbers)
    comment = (field.metadata or {}).get(b"comment", b"").decode() or None
    return ice.NestedField(number, field.name, _type(field.type, numbers), required=False, doc=comment)


def _type(kind: pa.DataType, numbers: count[int]) -> ice.IcebergType:
    if pt.is_struct(kind):
        return ice.StructType(*[_field(field, numbers) for field in kind.fields])
    if pt.is_list(kind) or pt.is_large_list(kind):
        number = next(numbers)
        return ice.ListType(number, _type(kind.value_type, numbers), element_required=False)
    if pt.is_decimal(kind):
        return ice.DecimalType(kind.precision, kind.scale)
    return _TYPES[type_name(kind)]()
