"""What a file's footer says of its rows: which windows and which parents it can concern."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.parquet as pq

from tailrace.lake.place import Place
from tailrace.windows.files import OtapFile, ids_are_of_partition, opened

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Footer:
    """Least and greatest values; None where they are not known, which excludes nothing."""

    rows: int
    ids: Range | None
    "Of `id`, or of `parent_id`."
    times: Range | None
    observed: Range | None
    ours: bool
    "Are ids of resources and scopes those of the partition?"

    def may_hold(self, wanted: Range | None) -> bool:
        """Can an id in this range be in the file?"""
        return wanted is not None and (self.ids is None or (self.ids[0] <= wanted[1] and wanted[0] <= self.ids[1]))


def read_footer(base: Place, file: OtapFile) -> Footer:
    """One small read at the end of the file; DataError where it is damaged."""
    with opened(base, file) as parquet:
        metadata = parquet.metadata
        ids = "id" if file.table == "logs" else "parent_id"
        return Footer(
            metadata.num_rows,
            _range(metadata, ids),
            _range(metadata, "time_unix_nano"),
            _range(metadata, "observed_time_unix_nano"),
            ids_are_of_partition(metadata),
        )


def _range(metadata: pq.FileMetaData, column: str) -> Range | None:
    names = [metadata.schema.column(n).path for n in range(metadata.num_columns)]
    if column not in names or not metadata.num_row_groups:
        return None
    place = names.index(column)
    found: list[Range] = []
    for group in range(metadata.num_row_groups):
        held = metadata.row_group(group).column(place)
        if held.statistics is None or not held.statistics.has_min_max:
            if held.statistics is not None and held.statistics.null_count == held.num_values:
                continue
            return None
        found.append((held.statistics.min_raw, held.statistics.max_raw))
    if not found:
        return None
    least, greatest = min(low for low, _ in found), max(high for _, high in found)
    # Footers hold 32-bit numbers with a sign; beyond 2^31 ids would be negative.
    return (least, greatest) if least >= 0 else None
