"""The files of a Delta log, as others leave them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tailrace.lake.log import behind, checkpoint, logged
from tailrace.lake.paths import Lake
from tailrace.lake.table import open_or_create, widen

BY = [("tp_partition", pa.string()), ("tp_index", pa.string()), ("tp_date", pa.date32())]


def test_what_a_killed_writer_had_begun_is_neither_a_checkpoint_nor_a_commit(tmp_path: Path) -> None:
    """It has a number behind its name until it is whole."""
    lake = Lake(tmp_path)
    delta = open_or_create(lake, "things", pa.schema(BY))
    root = lake.table_root("things")
    for name in ("a", "b"):
        delta = widen(delta, pa.schema([*BY, (name, pa.string())]), root)
    for name in (f"{2:020}.checkpoint.parquet#1", f"{1:020}.json#1", f"{3:020}.json#1"):
        (root / "_delta_log").put(name, b"half of it", "test")
    assert behind(root, delta.version()) == 2
    assert [commit.version for commit in logged(root)] == [0, 1, 2]
    checkpoint(delta, root)
    assert behind(root, delta.version()) <= 0
