from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake.exceptions import DeltaError
from mounts import no_larger_files

from tailrace.core.errors import LakeError
from tailrace.lake import runs
from tailrace.lake import segments as book
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.extents import partition_extents, table_extent
from tailrace.lake.files import DataFile
from tailrace.lake.intents import Intents, read_ledger
from tailrace.lake.ledger import Entry, Segment
from tailrace.lake.object_place import refused
from tailrace.lake.paths import Lake
from tailrace.lake.quarantine import QUARANTINE_SCHEMA, read_quarantine, write_quarantine
from tailrace.lake.snapshot import snapshot

WriteFile = Callable[..., DataFile]
MakeEntry = Callable[..., Entry]


def writer_for(lake: Lake, run: str, schema: pa.Schema, partition: str = "p") -> PartitionWriter:
    writer = PartitionWriter(lake, "t", partition, run, schema)
    writer.recover()
    return writer


def ids(lake: Lake) -> Counter[str]:
    seen = snapshot(lake, "t")
    paths = [seen.root.address(p) for p in seen.files.column("path").to_pylist()]
    return Counter(i for p in paths for i in pq.ParquetFile(p).read(columns=["tp_id"]).column(0).to_pylist())


def test_rows_are_seen_once_committed(
    lake: Lake, schema: pa.Schema, write_file: WriteFile, make_entry: MakeEntry
) -> None:
    writer = writer_for(lake, "r", schema)
    file = write_file(lake, "r", ["a", "b"])
    assert snapshot(lake, "t").files.num_rows == 0
    version = writer.commit(Change([make_entry("a"), make_entry("b")], [file], notes={"range": "all"})).version
    assert snapshot(lake, "t").version == version == 1
    assert ids(lake).total() == 10
    assert set(writer.ledger().known()) == {"a", "b"}
    writer.finish()
    ledger = read_ledger(lake, "t", "p")
    assert (ledger.sequence, ledger.notes) == (1, {"range": "all"})
    assert not list(lake.meta("runs", "t", "p").path.iterdir())


def test_statistics_come_back_from_the_log(lake: Lake, schema: pa.Schema, write_file: WriteFile) -> None:
    writer = writer_for(lake, "r", schema)
    files = [write_file(lake, "r", ["a"], day=date(2024, 1, d), name=str(d), rows=d) for d in (1, 2, 9)]
    writer.commit(Change([], files))
    other = writer_for(lake, "s", schema, "q")
    other.commit(Change([], [write_file(lake, "s", ["a"], partition="q", index="i")]))
    seen = snapshot(lake, "t")
    assert table_extent(seen).rows == 17
    sizes = sum(f.size for f in files)
    extent = partition_extents(seen)[0]
    assert (extent.partition, extent.files, extent.bytes, extent.rows) == ("p", 3, sizes, 12)
    assert (extent.first, extent.last) == (date(2024, 1, 1), date(2024, 1, 9))
    assert sum((last - first).days + 1 for first, last in extent.gaps) == extent.missing_days > 0
    assert extent.changed is not None
    assert abs(extent.changed - datetime.now(UTC).replace(tzinfo=None)) < timedelta(minutes=5)
    nine = seen.files.filter(pc.equal(seen.files.column("rows"), 9)).to_pylist()[0]
    assert (nine["min.n"], nine["max.n"], nine["null_count.n"], nine["tp_index"]) == (0, 8, 0, "default")


def test_replacing_takes_the_old_rows_of_shared_files(
    lake: Lake, schema: pa.Schema, write_file: WriteFile, make_entry: MakeEntry
) -> None:
    other_day = date(2024, 3, 1)
    writer = writer_for(lake, "r", schema)
    files = [
        write_file(lake, "r", ["a", "b"], name="0"),
        write_file(lake, "r", ["a"], name="1", day=other_day),
        write_file(lake, "r", ["c"], name="2"),
    ]
    dates = (files[0].day, other_day)
    entry = Entry("a", "1", 1, "partial", make_entry("a").at, dates=dates)
    writer.commit(Change([entry, make_entry("b"), make_entry("c")], files))
    writer.commit(Change([make_entry("a", "2")], [write_file(lake, "r", ["a"], name="3", rows=7)], replace=["a"]))
    assert ids(lake).total() == 5 + 5 + 7
    assert set(ids(lake).values()) == {1}
    paths = set(snapshot(lake, "t").files.column("path").to_pylist())
    assert files[2].path in paths
    assert not {files[0].path, files[1].path} & paths
    rewritten = next(p for p in paths if "rewrite" in p)
    column = pq.read_metadata(lake.table_root("t").path / rewritten).row_group(0).column(2)
    before = pq.read_metadata(lake.table_root("t").path / files[0].path).row_group(0).column(2)
    assert column.encodings == before.encodings
    writer.finish()
    assert (lake.table_root("t").path / files[0].path).exists()


def test_uncommitted_files_go_when_the_run_ends(lake: Lake, schema: pa.Schema, write_file: WriteFile) -> None:
    writer = writer_for(lake, "r", schema)
    kept, extra = (write_file(lake, "r", ["a"], name=n) for n in "01")
    foreign = write_file(lake, "other", ["a"])
    writer.commit(Change([], [kept]))
    writer.finish()
    exists = [(lake.table_root("t").path / f.path).exists() for f in (kept, extra, foreign)]
    assert exists == [True, False, True]


def test_a_commit_that_failed_after_the_put_is_a_success(
    lake: Lake, schema: pa.Schema, write_file: WriteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = writer_for(lake, "r", schema)
    real = Intents.transact

    def put_then_fail(self: Intents, *args: object, **more: object) -> None:
        real(self, *args, **more)  # type: ignore[arg-type]
        raise OSError("connection reset")

    monkeypatch.setattr(Intents, "transact", put_then_fail)
    assert writer.commit(Change([], [write_file(lake, "r", ["a"])])).version == 1
    monkeypatch.undo()
    writer.finish()
    assert ids(lake).total() == 5


def test_a_commit_that_failed_is_rolled_back_and_the_next_one_goes_on(
    lake: Lake,
    schema: pa.Schema,
    write_file: WriteFile,
    make_entry: MakeEntry,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer = writer_for(lake, "r", schema)
    file = write_file(lake, "r", ["a"])

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Intents, "transact", fail)
    with pytest.raises(LakeError, match="disk full"):
        writer.commit(Change([make_entry("a")], [file]))
    monkeypatch.undo()
    writer.commit(Change([make_entry("b")], [write_file(lake, "r", ["b"], name="1")]))
    writer.finish()
    assert set(read_ledger(lake, "t", "p").known()) == {"b"}
    assert ids(lake).total() == 5
    assert not (lake.table_root("t").path / file.path).exists()


def test_schema_widened_by_another_during_a_run(lake: Lake, schema: pa.Schema, write_file: WriteFile) -> None:
    writer = writer_for(lake, "r", schema)
    real = Intents.declare

    def widen_meanwhile(self: Intents, segment: Segment) -> bool:
        PartitionWriter(lake, "t", "q", "s", schema.append(pa.field("new", pa.string())))
        return real(self, segment)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Intents, "declare", widen_meanwhile)
        writer.commit(Change([], [write_file(lake, "r", ["a"])]))
    assert "new" in snapshot(lake, "t").schema.names
    assert ids(lake).total() == 5


def test_foreign_files_are_refused(lake: Lake, schema: pa.Schema, write_file: WriteFile) -> None:
    writer = writer_for(lake, "r", schema)
    with pytest.raises(LakeError, match="another schema"):
        writer.commit(Change([], [write_file(lake, "r", ["a"], schema=schema.append(pa.field("x", pa.int8())))]))
    with pytest.raises(LakeError, match="does not begin with 'r-'"):
        writer.commit(Change([], [write_file(lake, "s", ["a"])]))
    with pytest.raises(LakeError, match="bad run id"):
        PartitionWriter(lake, "t", "p", "a-b", schema)


def test_quarantine_is_read_through_the_ledger(lake: Lake, schema: pa.Schema) -> None:
    writer = writer_for(lake, "r", schema)
    directory = lake.meta("quarantine", "t", "p")
    for name in ("r-0.parquet", "r-1.parquet"):
        row = {"uri": name, "raw": b"\xff\0", "position": 5, "reason": "json: invalid"}
        write_quarantine(directory, name, pa.Table.from_pylist([row], QUARANTINE_SCHEMA))
    assert read_quarantine(lake, "t", "p").num_rows == 0
    writer.commit(Change([], quarantine=["r-1.parquet"]))
    writer.finish()
    found = read_quarantine(lake, "t", "p")
    assert found.schema == QUARANTINE_SCHEMA
    assert [(r["uri"], r["raw"]) for r in found.to_pylist()] == [("r-1.parquet", b"\xff\0")]
    assert directory.names() == ["r-1.parquet"]
    assert read_quarantine(lake, "t", "p", ["reason", "uri"]).column_names == ["reason", "uri"]


def test_late_files_of_a_dead_run_are_found_again(
    lake: Lake, schema: pa.Schema, write_file: WriteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer_for(lake, "dead", schema)
    second = writer_for(lake, "second", schema)
    late = lake.table_root("t").path / write_file(lake, "dead", ["a"]).path
    second.finish()
    writer_for(lake, "third", schema).finish()
    assert not late.exists()
    monkeypatch.setattr(runs, "LATE_WRITERS", -1)
    writer_for(lake, "fourth", schema).finish()
    assert not list(lake.meta("runs", "t", "p").path.iterdir())


def test_checkpoints_and_folds_are_written(
    lake: Lake, schema: pa.Schema, make_entry: MakeEntry, write_file: WriteFile
) -> None:
    writer = writer_for(lake, "r", schema)
    for n in range(70):
        writer.commit(Change([make_entry(f"u{n}")]))
    writer.finish()
    assert list((lake.table_root("t").path / "_delta_log").glob("*.checkpoint.parquet"))
    assert book.last_fold(lake.meta("ledger", "t", "p")) == 64
    again = writer_for(lake, "s", schema)
    again.commit(Change([make_entry("u70")], [write_file(lake, "s", ["u70"])]))
    assert len(read_ledger(lake, "t", "p").known()) == 71


@pytest.mark.parametrize("index", ["plain", "a b/c=%", "größe 東", "..", "x'\"\n\\*?[]{}", "ü /" * 100, None])
def test_odd_directory_values_are_read_alike_by_all(
    lake: Lake, schema: pa.Schema, write_file: WriteFile, index: str | None
) -> None:
    partition = "p %/é"
    writer = writer_for(lake, "r", schema, partition)
    file = write_file(lake, "r", ["a"], partition=partition, index=index)
    writer.commit(Change([], [file]))
    seen = snapshot(lake, "t")
    assert seen.files.select(["path", "tp_partition", "tp_index"]).to_pylist() == [
        {"path": file.path, "tp_partition": partition, "tp_index": file.index}
    ]
    by_delta = deltalake.DeltaTable(str(seen.root)).to_pyarrow_table(columns=["tp_index", "tp_partition", "tp_id"])
    in_file = pq.ParquetFile(seen.root.path / file.path).read(columns=["tp_index", "tp_partition", "tp_id"])
    assert sorted(by_delta.to_pylist(), key=str) == sorted(in_file.to_pylist(), key=str)
    literal = seen.root.address(file.path)
    assert "*" not in Path(literal).name
    by_hive = duckdb.execute(
        "select distinct tp_index, tp_partition from read_parquet(?, hive_partitioning = true)", [literal]
    ).fetchall()
    assert by_hive == [(file.index, partition)]
    writer.commit(Change([], [], replace=[]))
    assert ids(lake).total() == 5


def test_the_checkpoint_of_a_commit_that_finds_no_room_takes_nothing_from_the_commit(
    lake: Lake, schema: pa.Schema, write_file: WriteFile
) -> None:
    """The commits fit and the checkpoint does not: rows are stored once, and a later one is made."""
    writer = writer_for(lake, "r", schema)
    log = lake.table_root("t") / "_delta_log"
    for number in range(45):
        file = write_file(lake, "r", [f"a{number}"], name=f"{number}")
        with no_larger_files(7_000 if number < 25 else 1 << 20):
            writer.commit(Change([], [file]))
    writer.finish()
    assert ids(lake).total() == 45 * 5
    assert [name for name in log.names() if ".checkpoint" in name] == [f"{39:020}.checkpoint.parquet"]


def test_what_a_server_says_of_a_commit_keeps_its_remedy(
    lake: Lake, schema: pa.Schema, write_file: WriteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = writer_for(lake, "r", schema)
    file = write_file(lake, "r", ["a"])

    def transact(*_: object, **__: object) -> None:
        raise refused(DeltaError("Generic S3 error: 403 Forbidden: <Code>AccessDenied</Code>"), "s3://lake/t")

    with monkeypatch.context() as patch:
        patch.setattr(Intents, "transact", transact)
        with pytest.raises(LakeError, match="the commit failed: access denied") as told:
            writer.commit(Change([], [file]))
    assert (told.value.code, told.value.where) == ("lake.denied", str(lake.table_root("t")))
    assert "connection test" in str(told.value.hint)
    assert ids(lake).total() == 0
