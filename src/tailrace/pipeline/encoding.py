"""How columns are written to Parquet: chosen per file, from the declarations and a look at its first rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tailrace.core import TP_COLUMNS, Column, leaves

ROW_GROUP = 128 * 1024
SAMPLE = 8_192
TEXTS = 1_024
_UNBOUNDED = ("json", "float", "double")
"Nobody asks for the least text of JSON; Parquet's bounds leave NaN out, and engines would skip the rows that hold it."
_UNCOUNTED = ("tp_table", "tp_partition", "tp_index", "tp_date")
"The log holds these as values of the partition: statistics in the file would say them again."


def parquet_settings(
    columns: tuple[Column, ...], first: Mapping[str, pa.Array], coded: frozenset[str]
) -> dict[str, Any]:
    """Settings for a file that begins with these rows; `coded` columns come as dictionaries, without statistics."""
    dictionary: list[str] = []
    counted: list[str] = []
    encoding: dict[str, str] = {}
    for path, column in leaves((*columns, *TP_COLUMNS)):
        is_list = str(column.type).endswith("[]")
        how = None if is_list or path in coded else _encoding(path, column, first)
        if how is None:
            dictionary.append(f"{path}.list.element" if is_list else path)
        else:
            encoding[path] = how
        if not is_list and column.type not in _UNBOUNDED and path not in _UNCOUNTED and path not in coded:
            counted.append(path)
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": dictionary,
        "column_encoding": encoding,
        "write_statistics": counted,
        "bloom_filter_options": _bloom_filters(columns, first),
        "store_schema": False,
        "version": "2.6",
    }


def _bloom_filters(columns: tuple[Column, ...], first: Mapping[str, pa.Array]) -> dict[str, Any] | None:
    """For declared ids: least and greatest of random values prune nothing."""
    ids = [path for path, column in leaves(columns) if column.unique and path in first]
    return {path: {"ndv": min(len(first[path]), ROW_GROUP), "fpp": 0.05} for path in ids} or None


def _encoding(path: str, column: Column, first: Mapping[str, pa.Array]) -> str | None:
    """None = dictionary, which pays for what returns; numbers that do not go by difference, ids and JSON by length."""
    if path == "tp_id":
        return "DELTA_BYTE_ARRAY"
    if path == "tp_timestamp":
        return "DELTA_BINARY_PACKED"
    if column.unique or column.type == "json":
        return "DELTA_LENGTH_BYTE_ARRAY"
    array = first.get(path)
    if array is not None and pt.is_string(array.type):
        return "PLAIN" if _in_runs(array.slice(0, TEXTS).drop_null()) else None
    if array is None or not _varied(array):
        return None
    if pt.is_integer(array.type) or pt.is_timestamp(array.type) or pt.is_date(array.type):
        return "DELTA_BINARY_PACKED" if array.type.bit_width >= 32 else "PLAIN"
    if pt.is_floating(array.type):
        return "PLAIN"
    return None


def _varied(array: pa.Array) -> bool:
    """Do few of the first values repeat? Only asked of numbers: a text is cheaper to hash than to write twice."""
    if not (pt.is_primitive(array.type) and not pt.is_boolean(array.type)):
        return False
    sample = array.slice(0, SAMPLE).drop_null()
    return len(sample) > 100 and len(sample.unique()) * 8 > len(sample)


def _in_runs(texts: pa.Array) -> bool:
    """Many texts, none of which returns after another, as times do: a dictionary finds no more than zstd does."""
    if len(texts) < 100:
        return False
    distinct = len(texts.unique())
    runs = 1 + pc.sum(pc.not_equal(texts.slice(1), texts.slice(0, len(texts) - 1))).as_py()
    return bool(distinct * 8 > len(texts) and runs < distinct * 1.25)
