"""Which files of a table are worth writing anew: known from the Delta log alone, before anything is opened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import TimeRange
from tailrace.lake.ledger import COMPACT, REINDEX
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.snapshot import Snapshot
from tailrace.lake.table_place import elsewhere, is_elsewhere

SMALL = 64 << 20
"Bytes: a file below this is merged with others like it."
TARGET = 128 << 20
"At this size a file is full, and the next one begins."
LARGEST_MERGE = 1 << 30
"Bytes that are sorted together; more of one day make several merges, each of a part of its time."
FILE_COLUMNS = ("tp_partition", "tp_index", "tp_date", "path", "size", "rows", "modified")
_TIME = "min.tp_timestamp"
FileRow = tuple[Any, ...]
"`FILE_COLUMNS` of one file."


@dataclass(frozen=True, slots=True)
class Rule:
    """When the small files of one day and index are merged."""

    files: int = 2
    "So many at least."
    cheap: int = SMALL
    "Bytes of the largest of them up to which it does not matter how little there is beside it."
    ratio: int = 0
    "A larger one is written anew for no less than this part of its own size."

    def takes(self, sizes: Sequence[int]) -> bool:
        """Is it worth it?"""
        largest = max(sizes, default=0)
        is_cheap = largest <= self.cheap or (sum(sizes) - largest) * self.ratio >= largest
        return len(sizes) >= self.files and is_cheap


EVERYTHING = Rule()
"What `compact` does: afterwards no day and index has two small files, so that a second one has nothing to do."
PAYING = Rule(files=8, cheap=4 << 20, ratio=4)
"""What pays after a collection. A file to which each of them adds is written anew when it would grow by a quarter:
every row is written a few times in all, however often something is added."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Files of one day whose rows are to lie in fewer of them, or elsewhere, in order of time."""

    partition: str
    index: str | None
    "None: the files are of any, and each row goes where its columns say."
    day: date
    files: tuple[ActiveFile, ...]
    "By their first row."
    rows: int
    modified: int
    "When the last of their rows were stored, in milliseconds."
    is_certain: bool = True
    "False: the files stay if it turns out that each row is where it belongs."
    directory: str | None = None
    "Where they rest, in a tier; None: in the workspace."

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def kind(self) -> str:
        """Of the commit."""
        return COMPACT if self.index is not None else REINDEX


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """What there is to do in one version of a table."""

    snapshot: Snapshot
    merges: tuple[Merge, ...]
    "Partition by partition, newest day first."
    indexes: Mapping[str, str | None] = field(default_factory=dict)
    """By partition, where rows are to have another `tp_index`: the column that holds it, or the field of a struct;
    None: all are `default`."""

    @property
    def table(self) -> str:
        return self.snapshot.table

    def by_partition(self) -> dict[str, list[Merge]]:
        """The merges of each partition that has any."""
        found: dict[str, list[Merge]] = {}
        for merge in self.merges:
            found.setdefault(merge.partition, []).append(merge)
        return found


def plan_compaction(
    snapshot: Snapshot,
    partitions: Collection[str] | None = None,
    window: TimeRange | None = None,
    rule: Rule = EVERYTHING,
) -> CompactionPlan:
    """Merges of the days that the window touches, of those partitions or of all."""
    wanted = _anything if window is None else window.touches
    merges = plan_merges(stored_files(snapshot, partitions, SMALL, with_tiers=True), wanted, rule)
    return CompactionPlan(snapshot, in_order(merges))


def plan_merges(files: pa.Table, wanted: Callable[[date], bool], rule: Rule) -> list[Merge]:
    """Of small files, day by day and index by index; those in a tier stay there."""
    merges: list[Merge] = []
    for (partition, index, day), found in groupby(file_rows(files), key=lambda row: row[:3]):
        for directory, group in _by_directory(found).items():
            if rule.takes([row[4] for row in group]) and wanted(day):
                merged = (merge_of(partition, index, day, part) for part in parts(group))
                merges += (replace(merge, directory=directory) for merge in merged)
    return merges


def _by_directory(rows: Iterable[FileRow]) -> dict[str | None, list[FileRow]]:
    found: dict[str | None, list[FileRow]] = {}
    for row in rows:
        found.setdefault(row[3].rpartition("/")[0] if is_elsewhere(row[3]) else None, []).append(row)
    return found


def in_order(merges: Iterable[Merge]) -> tuple[Merge, ...]:
    """As they are to be done."""
    return tuple(sorted(merges, key=lambda merge: (merge.partition, -merge.day.toordinal(), merge.index or "")))


def _anything(_day: date) -> bool:
    return True


def columns_of(snapshot: Snapshot, partition: str) -> pa.Schema:
    """Columns of the table that any file of the partition may have: the log knows which are null throughout."""
    files = snapshot.files.filter(pc.equal(snapshot.files.column("tp_partition"), partition))
    rows = files.column("rows")
    names = set(files.column_names)

    def is_absent(field: pa.Field) -> bool:
        counted = f"null_count.{field.name}"
        return counted in names and bool(pc.all(pc.equal(files.column(counted), rows).fill_null(False)).as_py())

    return pa.schema([field for field in snapshot.schema if not is_absent(field)])


def stored_files(
    snapshot: Snapshot,
    partitions: Collection[str] | None,
    below: int | None = None,
    more: Collection[str] = (),
    *,
    with_tiers: bool = False,
) -> pa.Table:
    """What the log says of files of those partitions, or of all; of those below a size, if one is given.

    `more`: names of statistics, as far as there are any. `with_tiers`: also those that were moved out of the workspace.
    """
    known = snapshot.files.column_names
    files = snapshot.files.select([*FILE_COLUMNS, *(name for name in (_TIME, *more) if name in known)])
    # A file whose rows the log does not count is none of ours.
    wanted = pc.is_valid(files.column("rows"))
    if not with_tiers:
        wanted = pc.and_not(wanted, elsewhere(files.column("path")))
    if below is not None:
        wanted = pc.and_(wanted, pc.less(files.column("size"), below))
    if partitions is not None:
        wanted = pc.and_(wanted, pc.is_in(files.column("tp_partition"), pa.array(list(partitions), pa.string())))
    return files.filter(wanted)


def file_rows(files: pa.Table, *groups: str) -> list[FileRow]:
    """By those columns, or by partition, index and day, and by time within."""
    order = [name for name in (*(groups or FILE_COLUMNS[:3]), _TIME, "path") if name in files.column_names]
    ordered = files.take(pc.sort_indices(files.select(order), sort_keys=[(name, "ascending") for name in order]))
    return list(zip(*(ordered.column(name).to_pylist() for name in FILE_COLUMNS), strict=True))


def parts(group: list[FileRow]) -> Iterator[list[FileRow]]:
    """Neighbours of about equal size, as few as may be."""
    total = sum(row[4] for row in group)
    share = total / -(-total // LARGEST_MERGE) if total else 1
    part: list[FileRow] = []
    done = 0
    boundary = share
    for row in group:
        part.append(row)
        done += row[4]
        if done >= boundary and done < total:
            yield part
            part, boundary = [], boundary + share
    if part:
        yield part


def merge_of(
    partition: str, index: str | None, day: date, rows: Sequence[FileRow], *, is_certain: bool = True
) -> Merge:
    """Of files that stand in order of time."""
    files = tuple(ActiveFile(row[3], row[4], row[0], row[1], row[2], row[5]) for row in rows)
    modified = max(row[6] or 0 for row in rows)
    return Merge(partition, index, day, files, sum(row[5] for row in rows), modified, is_certain)
