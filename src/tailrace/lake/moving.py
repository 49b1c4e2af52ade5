"""Days move between the workspace and its tiers. The rows stay what they are; only where their files lie changes.

A file is copied under a new name, which begins with the run's id, and compared with the one it was copied from. Then
one commit of the table's log removes the one and adds the other: a row is seen in one of them at every moment. Whoever
died before has left copies that no commit names, which are found like all others.
"""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core.errors import LakeError
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.files import DataFile
from tailrace.lake.ledger import MOVE
from tailrace.lake.logged_stats import stats_of
from tailrace.lake.paths import data_path, table_path
from tailrace.lake.place import Place
from tailrace.lake.resting import Move
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.snapshot import Snapshot
from tailrace.lake.steps import reached
from tailrace.lake.table_place import link
from tailrace.lake.types import schema_fingerprint

_BLOCK = 4 << 20


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
            path = _new_path(seen.table, move, file, f"{writer.run}-{file.day:%Y%m%d}-{number}.parquet")
            _copy_whole(seen.root, file, path)
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


def _copy_whole(root: Place, file: ActiveFile, path: str) -> None:
    """What was written is read again, and has to be what was read."""
    if _copy(root, file.path, path) != _digest(root, path) or root.size(path) != file.size:
        message, hint = "a copy differs from its original, which is kept", "`tailrace doctor` looks for damaged files"
        raise LakeError(message, code="lake.bad-copy", where=root.address(path), hint=hint)


def _copy(root: Place, source: str, target: str) -> str:
    """Returns what the bytes hash to that were read."""
    digest = hashlib.blake2b(digest_size=16)
    draft = root.create(target)
    try:
        with root.open(source) as opened, open(draft.path, "wb") as copy:
            while block := opened.read(_BLOCK):
                digest.update(block)
                copy.write(block)
        draft.close()
        draft.wait()
    except BaseException:
        draft.discard()
        raise
    return digest.hexdigest()


def _digest(root: Place, path: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with root.open(path) as opened:
        while block := opened.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
