"""Which files a query can need: conditions and wildcards, held against the Delta log's statistics."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.query.conditions import Condition
from tailrace.query.wildcards import fits, fits_exactly


def surviving(files: pa.Table, scans: list[list[Condition]]) -> pa.Table:
    """The files that at least one scan may need."""
    if not scans:
        return files.slice(0, 0)
    if any(not scan for scan in scans):
        return files
    masks = [_scan_mask(files, scan) for scan in scans]
    keep = masks[0]
    for mask in masks[1:]:
        keep = pc.or_(keep, mask)
    return files.filter(keep)


def matching(files: pa.Table, column: str, patterns: Sequence[str], folded: bool = False) -> pa.Table:
    """Files whose value any wildcard fits."""
    if "*" in patterns:
        return files
    values = pc.unique(files.column(column))
    fit = fits if folded else fits_exactly
    kept = [value for value in values.to_pylist() if any(fit(value, pattern) for pattern in patterns)]
    return files.filter(pc.is_in(files.column(column), value_set=pa.array(kept, values.type)))


def _scan_mask(files: pa.Table, scan: list[Condition]) -> pa.ChunkedArray:
    keep = pa.chunked_array([pa.repeat(True, files.num_rows)])
    for condition in scan:
        mask = _condition_mask(files, condition)
        if mask is not None:
            keep = pc.and_(keep, mask)
    return keep


def _condition_mask(files: pa.Table, condition: Condition) -> pa.ChunkedArray | None:
    """Files that may hold a row for which the condition is true; a file without statistics always may."""
    if condition.column in ("tp_partition", "tp_index", "tp_date"):
        least = greatest = files[condition.column]
    elif f"min.{condition.column}" in files.column_names and f"max.{condition.column}" in files.column_names:
        least, greatest = files[f"min.{condition.column}"], files[f"max.{condition.column}"]
    else:
        return None
    try:
        values = [_value(v, least.type) for v in condition.values]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError):
        return None
    masks = [_one(least, greatest, condition.operator, value) for value in values]
    mask = masks[0]
    for other in masks[1:]:
        mask = pc.or_(mask, other)
    return mask


def _value(value: Any, kind: pa.DataType) -> pa.Scalar:
    # From a decimal Arrow comes to the next real number only, which is not the one that the text means.
    is_real = pa.types.is_floating(kind) and isinstance(value, Decimal)
    return pa.scalar(float(value) if is_real else value).cast(kind)


def _one(least: Any, greatest: Any, operator: str, value: pa.Scalar) -> pa.ChunkedArray:
    """Bounds of long texts are rounded, but outwards: what holds for the value holds for them, `<` and `>` too."""
    if operator == "=":
        low, high = pc.less_equal(least, value), pc.greater_equal(greatest, value)
        return pc.and_(low.fill_null(True), high.fill_null(True))
    compare, bound = {
        ">": (pc.greater, greatest),
        ">=": (pc.greater_equal, greatest),
        "<": (pc.less, least),
        "<=": (pc.less_equal, least),
    }[operator]
    return compare(bound, value).fill_null(True)
