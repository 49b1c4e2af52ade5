"""Is a lake what its logs say? Files that are missing, cut off or exchanged, and commits that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core.errors import LakeError
from tailrace.lake import runs
from tailrace.lake.compacting import APART
from tailrace.lake.damage import LOG, reading_file
from tailrace.lake.intents import read_ledger, undecided
from tailrace.lake.paths import PARTITION_COLUMNS, Lake
from tailrace.lake.place import Place
from tailrace.lake.segments import read_segment
from tailrace.lake.snapshot import Snapshot
from tailrace.lake.table import exists
from tailrace.lake.table_place import is_elsewhere

_KINDS = {"runs": "tailrace collect", APART: "tailrace compact"}
"Manifests, and who clears up after the runs they name."
_MAGIC = b"PAR1"
_TAIL = 8
_TOLD = 1000
"Microseconds: readers of the log may know times no better."
AGAIN = "restore it from a backup, or collect its whole day again: `tailrace collect --overwrite --from … --to …`"


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is not as it should be."""

    what: str
    where: str
    hint: str


def broken_files(seen: Snapshot, *, deep: bool = False) -> Iterator[Flaw]:
    """Files of a version that are not there, or not what the log says.

    Sizes are compared, and on disk the last bytes. `deep`: every file is read as a whole.
    """
    files = seen.files
    sizes = seen.root.sizes(files.column("path").to_pylist())
    for row in files.to_pylist():
        path = row["path"]
        flaw = _flaw(seen.root, path, row["size"], sizes.get(path))
        if flaw is None and deep:
            flaw = _wrong_content(seen, row)
        if flaw is not None:
            elsewhere = "is its disk mounted? Else " if is_elsewhere(path) and path not in sizes else ""
            yield Flaw(flaw, seen.root.address(path), elsewhere + AGAIN)


def _flaw(root: Place, path: str, wanted: int, size: int | None) -> str | None:
    if size is None:
        return "the file is missing"
    if size != wanted:
        return f"the file has {size:,} bytes, and the log says {wanted:,}"
    return _bad_end(root.address(path), size) if root.has_near(path) else None


def _bad_end(path: str, size: int) -> str | None:
    """A Parquet file ends with the length of its footer, and its kind."""
    with open(path, "rb") as file:
        file.seek(max(size - _TAIL, 0))
        tail = file.read(_TAIL)
    is_whole = tail[4:] == _MAGIC and int.from_bytes(tail[:4], "little") + _TAIL < size
    return None if is_whole else "the file is no Parquet file any more: its end is missing or another"


def _wrong_content(seen: Snapshot, row: dict[str, Any]) -> str | None:
    """Rows, days and times have to be those of the log, and every page has to be readable."""
    try:
        with reading_file(seen.root, row["path"]) as file:
            if file.metadata.num_rows != row["rows"]:
                return f"the file has {file.metadata.num_rows:,} rows, and the log says {row['rows']:,}"
            first, last = None, None
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group)
                for name in PARTITION_COLUMNS:
                    if name in rows.column_names and (odd := _other_than(rows.column(name), row[name])):
                        return f"the file is another: its {name} is {odd}, and the log says {row[name]}"
                bounds = pc.min_max(rows.column("tp_timestamp")).as_py()
                first, last = _wider(first, last, bounds)
    except LakeError as error:
        return error.message
    logged = (row.get("min.tp_timestamp"), row.get("max.tp_timestamp"))
    if any(_differ(found, told) for found, told in zip((first, last), logged, strict=True)):
        return f"the file is another: its rows are of {first} to {last}, and the log says {logged[0]} to {logged[1]}"
    return None


def _other_than(column: pa.ChunkedArray, value: object) -> str | None:
    found = [one for one in column.unique().to_pylist() if one != value]
    return str(found[0]) if found else None


def _wider(first: datetime | None, last: datetime | None, more: dict[str, datetime | None]) -> tuple[Any, Any]:
    lows, highs = ([t for t in pair if t is not None] for pair in ((first, more["min"]), (last, more["max"])))
    return min(lows, default=None), max(highs, default=None)


def _differ(found: datetime | None, told: datetime | None) -> bool:
    if found is None or told is None:
        return False
    return abs((found - told.replace(tzinfo=None)).total_seconds()) * 1e6 > _TOLD


def lost_commits(lake: Lake, table: str, partition: str) -> Iterator[Flaw]:
    """What the ledger knows to have been committed, and the log of the table does not."""
    root = lake.table_root(table)
    if not exists(root):
        hint = (
            "restore the directory from a backup; without one move the table's directories in `data` and"
            " `meta/ledger` away and collect again"
        )
        yield Flaw("the table's Delta log is gone, and its ledger is there", (root / LOG).uri, hint)
        return
    for sequence in undecided(lake, table, partition):
        if _was_committed(lake, table, partition, sequence):
            what = f"a commit is gone from the table's Delta log: ledger segment {sequence} was stored by it"
            hint = (
                "restore the missing file from a backup before anything is stored; without one `tailrace collect`"
                " takes back what it had stored, and reads it again"
            )
            yield Flaw(what, (root / LOG).uri, hint)
            return


def damaged_runs(lake: Lake, table: str, partition: str) -> Iterator[Flaw]:
    """Manifests of dead runs that cannot be read."""
    for kind, command in _KINDS.items():
        for where in runs.damaged_manifests(lake.meta(kind, table, partition)):
            what = "the manifest of a run cannot be read; files of the run that no commit names may be there"
            yield Flaw(what, where, f"the next `{command}` of the partition finds them by their names, and clears up")


def broken_quarantine(lake: Lake, table: str, partition: str, *, deep: bool = False) -> Iterator[Flaw]:
    """Files of refused records that are not there, or no Parquet files any more. `deep`: every page is read."""
    place = lake.meta("quarantine", table, partition)
    names = read_ledger(lake, table, partition).quarantine
    sizes = place.sizes(names)
    for name in names:
        size = sizes.get(name)
        flaw = _flaw(place, name, size or 0, size)
        if flaw is None and deep:
            flaw = _unreadable(place, name)
        if flaw is not None:
            hint = "restore it from a backup; `select * from tp_quarantine` shows the records of the others"
            yield Flaw(flaw, place.address(name), hint)


def _unreadable(place: Place, name: str) -> str | None:
    try:
        with reading_file(place, name) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group)
    except LakeError as error:
        return error.message
    return None


def _was_committed(lake: Lake, table: str, partition: str, sequence: int) -> bool:
    """A run that ended well has taken its manifest away; one that was killed before its commit has not."""
    segment = read_segment(lake.meta("ledger", table, partition), sequence)
    places = (lake.meta(kind, table, partition) for kind in _KINDS)
    return not segment.is_void and not any(runs.is_noted(place, segment.run) for place in places)
