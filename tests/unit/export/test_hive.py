"""A plain hive tree of the lake's active files: what is in it, and what becomes of it when the lake changes."""

from __future__ import annotations

import fcntl
import json
from collections import Counter
from datetime import datetime
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.dataset as ds
import pytest
from exportsource import Source

from tailrace.core import LakeError, TimeRange, UsageError
from tailrace.core.errors import LockedError
from tailrace.export.run import Export
from tailrace.export.scope import Scope


def tree(source: Source) -> list[str]:
    root = source.folder / "hive" / "tp_table=kinds"
    return sorted(str(path.relative_to(root)) for path in root.rglob("*.parquet"))


def glob(source: Source) -> str:
    return f"{source.folder}/hive/tp_table=kinds/*/*/*/*.parquet"


def ids(source: Source) -> Counter[str]:
    return Counter(row[0] for row in duckdb.execute("select tp_id from read_parquet(?)", [glob(source)]).fetchall())


def test_active_files_are_copied_and_nothing_else(source: Source) -> None:
    source.delete("a", 0, 1)
    done = source.export()
    assert tree(source) == source.active()
    assert ids(source) == source.ids()
    assert (done.files, done.copied, done.rows, done.days) == (len(tree(source)), len(tree(source)), 69, 3)
    for name in tree(source):
        copy, original = source.folder / "hive" / "tp_table=kinds" / name, source.world.lake.table_root("kinds")
        assert copy.stat().st_nlink == 1, "a copy, not a second name"
        assert copy.read_bytes() == original.read(name)
    assert not (source.folder / "hive" / ".tailrace" / "staging").exists()


def test_other_engines_read_the_tree(source: Source) -> None:
    source.export()
    levels = "hive_partitioning = true, hive_types = {'tp_index': varchar, 'tp_partition': varchar, 'tp_date': date}"
    facts = "select count(*), sum(small), count(distinct tp_index), max(tp_index), max(tp_date)::text from {}"
    sql = facts.format(f"read_parquet('{glob(source)}', union_by_name = true, {levels})")
    expected = (70, sum(range(30)) + sum(range(100, 140)), 5, "web 1/ü", "2024-05-03")
    assert duckdb.sql(sql).fetchall() == [expected]
    rows = pl.scan_parquet(glob(source), hive_partitioning=False, missing_columns="insert", extra_columns="ignore")
    facts_of = rows.select(
        pl.len(), pl.col("small").sum(), pl.col("tp_index").n_unique(), pl.col("tp_index").max().alias("last"),
        pl.col("tp_date").max().cast(pl.String),
    )  # fmt: skip
    assert facts_of.collect().row(0) == expected
    # Files that are read one by one: the columns are in them, the directories are not needed.
    arrow = ds.dataset(f"{source.folder}/hive/tp_table=kinds", format="parquet", exclude_invalid_files=True)
    assert arrow.count_rows() == 70


def test_again_only_what_is_new_is_copied_and_what_is_gone_removed(source: Source) -> None:
    source.export()
    before = set(tree(source))
    again = source.export()
    assert (again.copied, again.removed, again.files) == (0, 0, len(before))
    source.log("a", "more.jsonl", range(200, 210))
    source.collect()
    source.delete("odd name", 10, 20)
    done = source.export()
    assert tree(source) == source.active()
    assert ids(source) == source.ids()
    assert (done.copied, done.removed) == (len(set(tree(source)) - before), len(before - set(tree(source))))
    assert done.removed
    listed = json.loads((source.folder / "hive" / "tp_table=kinds" / "_tailrace.json").read_text())
    assert sorted(file["path"] for file in listed["files"]) == tree(source)
    assert sum(file["rows"] for file in listed["files"]) == done.rows


def test_a_list_that_a_cut_off_export_did_not_write(source: Source) -> None:
    source.export()
    written = source.folder / "hive" / "tp_table=kinds" / "_tailrace.json"
    listed = json.loads(written.read_text())["files"]
    written.unlink()
    assert source.export().copied == 0
    assert json.loads(written.read_text())["files"] == listed


def test_only_what_was_asked_for_is_touched(source: Source) -> None:
    day = TimeRange(datetime(2024, 5, 2, 10), datetime(2024, 5, 2, 11))
    done = source.export(scope=Scope(frozenset({"a"}), window=day))
    assert (done.days, done.files, done.rows) == (1, 1, 10)
    source.export(scope=Scope(indexes=("0042", "a*")))
    values = duckdb.execute("select distinct tp_partition, tp_index from read_parquet(?) order by all", [glob(source)])
    assert values.fetchall() == [("a", "default"), ("odd name", "0042"), ("odd name", "a=b")]
    source.export(scope=Scope(frozenset({"odd name"}), ("%41",)), only=True)
    values = duckdb.execute("select distinct tp_partition, tp_index from read_parquet(?)", [glob(source)])
    assert values.fetchall() == [("odd name", "%41")]
    assert not (source.folder / "hive" / "tp_table=kinds" / "tp_partition=a").exists(), "no empty directories"


def test_a_dry_run_changes_nothing(source: Source) -> None:
    export = Export(source.world.lake, source.folder / "hive", "hive")
    (told,) = export.look({"kinds": Scope()})
    assert (told.copied, told.rows) == (len(source.active()), 70)
    assert not (source.folder / "hive").exists()


def test_directories_that_hold_something_else(source: Source) -> None:
    (source.folder / "hive").mkdir()
    (source.folder / "hive" / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds something else"):
        source.export()
    assert [path.name for path in (source.folder / "hive").iterdir()] == ["mine.txt"]
    (source.folder / "iceberg").write_text("a file")
    with pytest.raises(UsageError, match="is not a directory"):
        source.export("iceberg")
    lake = source.world.lake
    with pytest.raises(UsageError, match="in the lake"):
        Export(lake, Path(str(lake.data_root)) / "x", "hive")
    with pytest.raises(UsageError, match="--in-place cannot be"):
        Export(lake, source.folder / "x", "hive", in_place=True)


def test_the_other_form_needs_another_directory(source: Source) -> None:
    source.export()
    with pytest.raises(UsageError, match="holds an export as hive"):
        Export(source.world.lake, source.folder / "hive", "iceberg").look({"kinds": Scope()})


def test_two_at_once(source: Source) -> None:
    source.export()
    with (source.folder / "hive" / ".tailrace" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(LockedError, match="another process exports"):
            source.export()


@pytest.mark.parametrize("harm", ["cut", "other rows", "gone"])
def test_a_damaged_file_is_said_and_nothing_takes_its_name(source: Source, harm: str) -> None:
    name = source.active()[0]
    victim = Path(str(source.world.lake.table_root("kinds"))) / name
    if harm == "cut":
        victim.write_bytes(victim.read_bytes()[:-100])
    elif harm == "other rows":
        victim.write_bytes(bytes(victim.stat().st_size))
    else:
        victim.unlink()
    with pytest.raises(LakeError) as caught:
        source.export()
    assert name in str(caught.value.where)
    assert name not in tree(source)
    assert not (source.folder / "hive" / "tp_table=kinds" / "_tailrace.json").exists()


def test_a_disk_that_is_too_small(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    with pytest.raises(LakeError, match="bytes are to be copied, and 10 are free"):
        source.export()
    assert tree(source) == []
