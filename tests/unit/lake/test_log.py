"""The files of a Delta log, as others leave them."""

from __future__ import annotations

import errno
from pathlib import Path

import pyarrow as pa
import pytest
from mounts import no_larger_files

from tailrace.lake.damage import CHECKPOINT
from tailrace.lake.log import behind, checkpoint, forget_versions, logged
from tailrace.lake.paths import Lake
from tailrace.lake.snapshot import snapshot
from tailrace.lake.table import open_or_create, open_table, widen

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


def test_a_checkpoint_without_room_is_told_with_the_log_and_made_by_the_next_run(tmp_path: Path) -> None:
    """delta-rs tells of the disk by an error of its own, and in words only."""
    lake = Lake(tmp_path)
    delta = open_or_create(lake, "things", pa.schema(BY))
    root = lake.table_root("things")
    for shorten in (checkpoint, forget_versions):
        with no_larger_files(), pytest.raises(OSError, match="File too large") as told:
            shorten(delta, root)
        assert (told.value.errno, told.value.filename) == (errno.EFBIG, f"{root}/_delta_log")
        assert [commit.version for commit in logged(root)] == [0]
        assert not any(CHECKPOINT.fullmatch(name) for name in (root / "_delta_log").names())
    checkpoint(open_table(root), root)
    assert any(CHECKPOINT.fullmatch(name) for name in (root / "_delta_log").names())
    assert snapshot(lake, "things").version == 0


def test_a_table_that_finds_no_room_is_made_and_widened_by_the_next_run(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    wider = pa.schema([*BY, ("a", pa.string())])
    for schema in (pa.schema(BY), wider):
        with no_larger_files(), pytest.raises(OSError, match="File too large") as told:
            open_or_create(lake, "things", schema)
        assert str(told.value.filename).endswith("_delta_log")
        assert open_or_create(lake, "things", schema).version() == (schema is wider)
    assert snapshot(lake, "things").schema.names == wider.names
