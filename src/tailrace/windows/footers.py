"""What a file's footer says of its rows: which windows and which parents it can concern, and which of its parts."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.parquet as pq

from tailrace.lake.place import Place
from tailrace.windows.files import OtapFile, ids_are_of_partition, opened

Range = tuple[int, int]
NOTHING: Range = (0, -1)
"No value at all."
_MASK = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Footer:
    """Least and greatest ids; None where they are not known, which excludes nothing."""

    ids: Range | None
    "Of `id`, or of `parent_id`."
    resources: Range | None
    scopes: Range | None
    ours: bool
    "Are ids of resources and scopes those of the partition?"

    def may_hold(self, wanted: Range | None) -> bool:
        """Can an id in this range be in the file?"""
        return wanted is not None and overlap(self.ids, wanted)


def overlap(held: Range | None, wanted: Range) -> bool:
    return held is None or (held[0] <= wanted[1] and wanted[0] <= held[1])


def read_footer(base: Place, file: OtapFile) -> Footer:
    """One small read at the end of the file; DataError where it is damaged."""
    with opened(base, file) as parquet:
        return footer_of(parquet.metadata, file.table)


def footer_of(metadata: pq.FileMetaData, table: str) -> Footer:
    ours = ids_are_of_partition(metadata)
    if table != "logs":
        return Footer(column_range(metadata, "parent_id"), NOTHING, NOTHING, ours)
    ids, resources, scopes = (column_range(metadata, name) for name in ("id", "resource.id", "scope.id"))
    return Footer(ids, resources, scopes, ours)


def column_range(metadata: pq.FileMetaData, column: str) -> Range | None:
    """Of a whole file."""
    found = group_ranges(metadata, column)
    if any(held is None for held in found):
        return None
    held = [one for one in found if one is not None and one != NOTHING]
    return (min(low for low, _ in held), max(high for _, high in held)) if held else NOTHING


def group_ranges(metadata: pq.FileMetaData, column: str, *, complete: bool = False) -> list[Range | None]:
    """Of every row group. With `complete` one in which some row has no value is not known."""
    groups = range(metadata.num_row_groups)
    if not groups:
        return []
    first = metadata.row_group(0)
    place = next((n for n in range(first.num_columns) if first.column(n).path_in_schema == column), None)
    if place is None:
        return [NOTHING for _ in groups]
    return [_range(metadata.row_group(group).column(place), complete) for group in groups]


def _range(held: pq.ColumnChunkMetaData, complete: bool) -> Range | None:
    told = held.statistics
    if told is None or (complete and (not told.has_null_count or told.null_count)):
        return None
    if not told.has_min_max:
        return NOTHING if told.null_count == held.num_values else None
    low, high = told.min_raw, told.max_raw
    if not (isinstance(low, int) and isinstance(high, int)):
        return None
    if held.physical_type == "INT32":
        # Ids have no sign, footers have: from 2^31 on they are told as negative numbers.
        low, high = low & _MASK, high & _MASK
    return (low, high) if 0 <= low <= high else None
