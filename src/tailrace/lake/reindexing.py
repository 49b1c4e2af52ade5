"""Which files hold rows with another `tp_index` than the one they should have, as far as the Delta log tells.

Statistics say it of a column of texts or whole numbers: where the least value is the greatest one, all rows have it.
What they leave open a task finds out, which reads that one column first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import groupby
from typing import Any

from tailrace.core import TimeRange
from tailrace.lake.compaction import (
    EVERYTHING,
    SMALL,
    CompactionPlan,
    FileRow,
    Merge,
    file_rows,
    in_order,
    merge_of,
    parts,
    plan_merges,
    stored_files,
)
from tailrace.lake.files import STATS_TEXT
from tailrace.lake.paths import stored_value
from tailrace.lake.snapshot import Snapshot
from tailrace.lake.table_place import is_elsewhere

NONE = "default"
"The value of rows that have none."
_EVERYTHING = TimeRange()


def plan_reindex(
    snapshot: Snapshot, indexes: Mapping[str, str | None], window: TimeRange = _EVERYTHING
) -> CompactionPlan:
    """Days that have to be sorted anew, and merges of small files on the others.

    `indexes`: as in the plan, for the partitions that are looked at.
    """
    standing = _standings(snapshot, indexes)
    days: dict[tuple[str, date], list[FileRow]] = defaultdict(list)
    files = stored_files(snapshot, indexes)
    for place, found in groupby(file_rows(files, "tp_partition", "tp_date"), key=lambda row: (row[0], row[2])):
        if window.touches(place[1]):
            days[place] += found
    apart = {place for place, rows in days.items() if not all(standing[row[3]] for row in rows)}
    small = stored_files(snapshot, indexes, SMALL)
    merges = [m for m in plan_merges(small, window.touches, EVERYTHING) if (m.partition, m.day) not in apart]
    for place in apart:
        merges += _merges(place, days[place], standing)
    return CompactionPlan(snapshot, in_order(merges), indexes)


def left_in_tiers(
    snapshot: Snapshot, indexes: Mapping[str, str | None], window: TimeRange = _EVERYTHING
) -> dict[str, int]:
    """By partition, on how many days rows rest in tiers and may have another `tp_index`: those are not sorted anew."""
    days: dict[str, set[date]] = defaultdict(set)
    for partition, row, is_right in _stood(snapshot, indexes, with_tiers=True):
        if not is_right and is_elsewhere(row["path"]) and window.touches(row["tp_date"]):
            days[partition].add(row["tp_date"])
    return {partition: len(some) for partition, some in sorted(days.items())}


def _merges(place: tuple[str, date], rows: list[FileRow], standing: Mapping[str, bool | None]) -> list[Merge]:
    """Files that are right and large stay; small ones join, since the day is written anyway."""
    partition, day = place
    taken = [row for row in rows if not standing[row[3]] or row[4] < SMALL]
    pays = any(standing[row[3]] is False for row in taken) or any(
        EVERYTHING.takes(sizes) for sizes in _small_sizes(taken).values()
    )
    return [merge_of(partition, None, day, part, is_certain=pays) for part in parts(taken)]


def _small_sizes(rows: list[FileRow]) -> dict[str, list[int]]:
    sizes: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        if row[4] < SMALL:
            sizes[row[1]].append(row[4])
    return sizes


def _standings(snapshot: Snapshot, indexes: Mapping[str, str | None]) -> dict[str, bool | None]:
    """By path: is every row where it belongs? None where the log does not tell."""
    return {row["path"]: is_right for _, row, is_right in _stood(snapshot, indexes)}


def _stood(
    snapshot: Snapshot, indexes: Mapping[str, str | None], *, with_tiers: bool = False
) -> Iterator[tuple[str, dict[str, Any], bool | None]]:
    """Files by partition, and of each whether every row is where it belongs."""
    for partition, column in indexes.items():
        told = [f"{what}.{column}" for what in ("min", "max", "null_count")]
        for row in stored_files(snapshot, [partition], more=told, with_tiers=with_tiers).to_pylist():
            least, greatest, nulls = (row.get(name) for name in told)
            if column is None:
                yield partition, row, row["tp_index"] == NONE
            else:
                yield partition, row, standing(row["tp_index"], row["rows"], least, greatest, nulls)


def standing(index: str, rows: int, least: Any, greatest: Any, nulls: int | None) -> bool | None:
    """Of a file with that index, by the statistics of the column that it should come from."""
    if nulls is not None and nulls == rows:
        return index == NONE
    texts = [_text(value) for value in (least, greatest)]
    if nulls is None or None in texts:
        return None
    values = {stored_value(text) for text in texts} | ({NONE} if nulls else set())
    if values == {index}:
        # Of two texts that are stored alike others may lie between.
        return True if least == greatest else None
    # A long text is cut, so that its bounds are no values of it.
    is_cut = least != greatest and len(str(least)) >= STATS_TEXT
    return None if is_cut else False


def _text(value: Any) -> str | None:
    """As Arrow writes it into a directory's name; None for kinds that are written otherwise elsewhere."""
    if isinstance(value, str):
        return None if "\0" in value else value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
