"""How much of a table there is, by partition, from the Delta log alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow.compute as pc

from tailrace.lake.snapshot import Snapshot

_DAY = timedelta(days=1)
Gap = tuple[date, date]
"First and last day of a span without rows."


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of something there is."""

    partition: str | None
    "None for a whole table."
    files: int
    bytes: int
    rows: int
    first: date | None
    last: date | None
    changed: datetime | None = None
    "When the newest file was committed, UTC: by a collection, or what else changed rows. Moving and merging do not."
    gaps: tuple[Gap, ...] = ()
    "Days between first and last that have no rows; none for a whole table."

    @property
    def missing_days(self) -> int:
        return sum((last - first).days + 1 for first, last in self.gaps)


def table_extent(snapshot: Snapshot) -> Extent:
    """The whole table."""
    files = snapshot.files
    days = pc.min_max(files.column("tp_date")).as_py()
    size, rows = (pc.sum(files.column(name)).as_py() or 0 for name in ("size", "rows"))
    changed = _moment(pc.max(files.column("modified")).as_py())
    return Extent(None, files.num_rows, size, rows, days["min"], days["max"], changed)


def partition_extents(snapshot: Snapshot) -> list[Extent]:
    """Each partition that has files, by name."""
    wanted = [("size", "sum"), ("rows", "sum"), ("modified", "max"), ("path", "count"), ("tp_date", "distinct")]
    # In one pass: there may be a thousand partitions.
    columns = ["tp_partition", *(name for name, _ in wanted)]
    grouped = snapshot.files.select(columns).group_by("tp_partition", use_threads=False).aggregate(wanted)
    return sorted(map(_extent, grouped.to_pylist()), key=lambda extent: extent.partition or "")


def _extent(row: dict[str, Any]) -> Extent:
    days = sorted(row["tp_date_distinct"])
    return Extent(
        partition=str(row["tp_partition"]),
        files=row["path_count"],
        bytes=row["size_sum"] or 0,
        rows=row["rows_sum"] or 0,
        first=days[0] if days else None,
        last=days[-1] if days else None,
        changed=_moment(row["modified_max"]),
        gaps=tuple(gaps(days)),
    )


def newest_rows(snapshot: Snapshot) -> dict[str, datetime]:
    """The latest `tp_timestamp` of each partition, as the files' statistics tell it."""
    latest = "max.tp_timestamp"
    if latest not in snapshot.files.column_names:
        return {}
    chosen = snapshot.files.select(["tp_partition", latest])
    rows = chosen.group_by("tp_partition", use_threads=False).aggregate([(latest, "max")]).to_pylist()
    return {str(row["tp_partition"]): row[f"{latest}_max"] for row in rows if row[f"{latest}_max"] is not None}


def gaps(days: Iterable[date]) -> Iterable[Gap]:
    """Spans between the first and the last of sorted days that none of them covers."""
    previous = None
    for day in days:
        if previous is not None and day - previous > _DAY:
            yield previous + _DAY, day - _DAY
        previous = day


def _moment(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime(1970, 1, 1) + timedelta(seconds=milliseconds // 1000)
