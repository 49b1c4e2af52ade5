"""An Iceberg table of the lake's active files, read back with PyIceberg: by its catalogue, and by its directory."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from exportsource import Source
from openlake import make_trail
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable, Table

from tailrace.core import ConfigError, TimeRange
from tailrace.core.extras import install
from tailrace.export.run import Export
from tailrace.export.scope import Scope
from tailrace.lake.paths import Lake


def by_catalogue(folder: Path, table: str = "kinds") -> Table:
    catalog = SqlCatalog("tailrace", uri=f"sqlite:///{folder}/catalog.db", warehouse=str(folder))
    return catalog.load_table(("tailrace", table))


def by_directory(folder: Path, table: str = "kinds") -> Table:
    return StaticTable.from_metadata(str(folder / table))


def rows_of(table: Table) -> pa.Table:
    return table.scan().to_arrow().sort_by("tp_id")


def expected(root: str) -> pa.Table:
    return DeltaTable(root).to_pyarrow_table().sort_by("tp_id")


def check_same(source: Source) -> None:
    """Every value of every column, through both doors; files on disk are those that snapshots name."""
    wanted = expected(str(source.world.lake.table_root("kinds")))
    folder = source.folder / "iceberg"
    for table in (by_catalogue(folder), by_directory(folder)):
        found = rows_of(table)
        assert found.column_names == wanted.column_names
        for name in wanted.column_names:
            assert found[name].to_pylist() == wanted[name].to_pylist(), name
    named = {
        entry.data_file.file_path
        for snapshot in by_catalogue(folder).metadata.snapshots
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io)
    }
    on_disk = {str(path) for path in (folder / "kinds" / "data").rglob("*.parquet")}
    assert on_disk == named


def test_all_rows_and_types_come_back(source: Source) -> None:
    done = source.export("iceberg")
    assert (done.rows, done.copied, done.files) == (70, len(source.active()), len(source.active()))
    check_same(source)
    table = by_catalogue(source.folder / "iceberg")
    assert str(table.schema().find_type("tiny")) == "int"
    assert str(table.schema().find_type("large")) == "decimal(20, 0)"
    assert str(table.schema().find_type("tp_timestamp")) == "timestamp"
    assert table.schema().find_field("tp_id").doc
    assert [field.name for field in table.spec().fields] == ["tp_partition", "tp_index", "tp_date"]


def test_filters_leave_files_out(source: Source) -> None:
    source.export("iceberg")
    table = by_catalogue(source.folder / "iceberg")
    everything = len(list(table.scan().plan_files()))
    for condition, rows in (
        ("tp_date = '2024-05-02'", 24),
        ("tp_index = 'web 1/ü'", 10),
        ("tp_partition = 'a' and tp_timestamp >= '2024-05-03T00:00:00'", 10),
        ("small > 1000", 0),
    ):
        scan = table.scan(row_filter=condition)
        assert len(list(scan.plan_files())) < everything, condition
        assert scan.to_arrow().num_rows == rows, condition


def test_again_one_snapshot_adds_and_removes(source: Source) -> None:
    source.export("iceberg")
    folder = source.folder / "iceberg"
    first = by_catalogue(folder).current_snapshot()
    assert source.export("iceberg").copied == 0
    assert by_catalogue(folder).current_snapshot() == first, "nothing to do, no snapshot"
    source.log("a", "more.jsonl", range(200, 210))
    source.collect()
    source.delete("odd name", 10, 20)
    done = source.export("iceberg")
    assert done.copied
    assert done.removed
    table = by_catalogue(folder)
    assert len(table.metadata.snapshots) == 2
    assert table.scan(snapshot_id=first.snapshot_id).to_arrow().num_rows == 70, "the one before can still be read"
    check_same(source)
    for n in range(3):
        source.delete("a", 3 * n, 3 * n + 1)
        source.export("iceberg")
        check_same(source)
    table = by_catalogue(folder)
    assert len(table.metadata.snapshots) == 2
    assert len(list((folder / "kinds" / "metadata").iterdir())) < 20, "what no snapshot needs is deleted"


def test_columns_that_join_later(source: Source) -> None:
    source.export("iceberg")
    source.configure('column "late" { type = "bigint" }')
    source.log("a", "late.jsonl", range(300, 305), late=7)
    source.collect()
    source.export("iceberg")
    check_same(source)
    assert rows_of(by_directory(source.folder / "iceberg"))["late"].null_count == 70


def test_only_what_was_asked_for_is_touched(source: Source) -> None:
    day = TimeRange(datetime(2024, 5, 2), datetime(2024, 5, 3))
    assert source.export("iceberg", Scope(frozenset({"a"}), window=day)).rows == 10
    assert source.export("iceberg", Scope(indexes=("0042",))).rows == 10
    folder = source.folder / "iceberg"
    assert rows_of(by_catalogue(folder)).num_rows == 20
    source.export("iceberg", Scope(frozenset({"odd name"}), ("%41",)), only=True)
    assert set(rows_of(by_catalogue(folder))["tp_index"].to_pylist()) == {"%41"}


def test_in_place_nothing_is_copied(source: Source) -> None:
    done = source.export("iceberg", in_place=True)
    folder = source.folder / "iceberg"
    assert (done.rows, done.copied, done.copied_bytes) == (70, 0, 0)
    assert not list(folder.rglob("*.parquet"))
    root = str(source.world.lake.table_root("kinds"))
    assert rows_of(by_directory(folder)).num_rows == 70
    source.delete("odd name", 10, 20)
    source.export("iceberg", in_place=True)
    assert rows_of(by_catalogue(folder))["tp_id"].to_pylist() == expected(root)["tp_id"].to_pylist()
    assert len(source.active()) < len(list(Path(root).rglob("*.parquet"))), "the lake's files are the lake's"


def test_structs_in_structs(tmp_path: Path) -> None:
    root = make_trail(tmp_path / "home", tmp_path / "logs")
    export = Export(Lake(tmp_path / "home"), tmp_path / "out", "iceberg")
    export.run({"aws_cloudtrail_log": Scope()}, lambda _total, _more: None)
    found, wanted = rows_of(by_directory(tmp_path / "out", "aws_cloudtrail_log")), expected(root)
    for name in wanted.column_names:
        assert found[name].to_pylist() == wanted[name].to_pylist(), name


def test_without_the_package(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tailrace.export.iceberg", None)
    with pytest.raises(ConfigError, match=r"needs .*, which is not installed") as caught:
        source.export("iceberg")
    assert caught.value.hint == install("iceberg")
    assert not (source.folder / "iceberg").exists(), "the directory is free for another export"


def test_what_fails_later_leaves_what_there_was(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    source.export("iceberg")
    monkeypatch.setitem(__import__("sys").modules, "tailrace.export.iceberg", None)
    with pytest.raises(ConfigError):
        source.export("iceberg")
    assert rows_of(by_catalogue(source.folder / "iceberg")).num_rows == 70


@pytest.mark.parametrize("name", ["a?b", "a%41", "a#b c", "a[*]'ü"])
def test_a_directory_of_any_name_holds_all_of_it(source: Source, name: str) -> None:
    """The catalogue is an address to SQLAlchemy: it lay beside, in `a` or in `aA`."""
    place = source.folder / "exports"
    export = Export(source.world.lake, place / name, "iceberg")
    for copied in (len(source.active()), 0):
        (done,) = export.run({"kinds": Scope()}, lambda _total, _more: None)
        assert (done.rows, done.copied) == (70, copied)
    assert [path.name for path in place.iterdir()] == [name]
    assert (place / name / "catalog.db").is_file()
    assert rows_of(by_directory(place / name)).num_rows == 70
