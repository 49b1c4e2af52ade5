"""Days move between the workspace and its tiers. The rows stay what they are; only where their files lie changes.

A file is copied under a new name, which begins with the run's id, and compared with the one it was copied from. Then
one commit of the table's log removes the one and adds the other: a row is seen in one of them at every moment. Whoever
died before has left copies that no commit names, which are found like all others.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.copying import copy_name, copy_whole
from tailrace.lake.files import DataFile
from tailrace.lake.ledger import MOVE
from tailrace.lake.logged_stats import stats_of
from tailrace.lake.paths import data_path, table_path
from tailrace.lake.resting import Move
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.snapshot import Snapshot
from tailrace.lake.steps import reached
from tailrace.lake.table_place import link
from tailrace.lake.types import schema_fingerprint


def carry_over(seen: Snapshot, writer: PartitionWriter, move: Move) -> list[ActiveFile]:
    """Files of one day in one commit; those that others have replaced meanwhile stay. Returns what was moved."""
    active = {file.path for file in writer.active()}
    files = [file for file in move.files if file.path in active]
    if files:
        writer.leave_home()
        _make_way(seen, move)
        known = {row["path"]: row for row in _of_paths(seen.files, files).to_pylist()}
        fingerprint = schema_fingerprint(seen.schema)
        copies = []
        for number, file in enumerate(files):
            path = _new_path(seen.table, move, file, copy_name(writer.run, f"{file.day:%Y%m%d}-{number}", file.path))
            copy_whole(seen.root, file.path, seen.root, path, file.size)
            stats, modified = stats_of(known[file.path]), known[file.path]["modified"]
            place = (file.partition, file.index, file.day)
            copies.append(DataFile(path, file.size, *place, file.rows, stats, fingerprint, modified))
        reached("files-moved")
        writer.commit(Change([], copies, merged=files, kind=MOVE))
    return files


def _of_paths(files: pa.Table, wanted: list[ActiveFile]) -> pa.Table:
    return files.filter(pc.is_in(files.column("path"), value_set=pa.array([file.path for file in wanted])))


def _make_way(seen: Snapshot, move: Move) -> None:
    """From the table's root to a tier on disk."""
    if move.tier is not None and move.tier.place.is_local:
        link(seen.root, move.tier.called(seen.table), move.tier.place / table_path(seen.table))


def _new_path(table: str, move: Move, file: ActiveFile, name: str) -> str:
    place = (file.partition, file.index, file.day)
    if move.tier is None:
        return f"{data_path(*place)}/{name}"
    return f"{move.tier.called(table)}/{move.tier.directory(*place)}/{name}"
