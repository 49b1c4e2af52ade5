"""A large table's log, read without delta-rs, says of every file what delta-rs says of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.transaction import AddAction
from smalllake import answer, made_in
from world import World

from tailrace.cli.holdings import holdings
from tailrace.core import LakeError
from tailrace.lake import logged_files, stored
from tailrace.lake.actions import add_action, remove_action
from tailrace.lake.arrow_listing import listing_of
from tailrace.lake.checkpoint import read_log
from tailrace.lake.extents import partition_extents, table_extent
from tailrace.lake.files import DataFile
from tailrace.lake.kept_snapshot import kept_snapshot
from tailrace.lake.listing import Listing
from tailrace.lake.logged_files import LoggedSource, logged_amounts, logged_listing
from tailrace.lake.paths import Lake, data_path
from tailrace.lake.snapshot import active_files, snapshot
from tailrace.lake.table import open_or_create, widen
from tailrace.query.conditions import Condition
from tailrace.query.engine import Engine
from tailrace.query.prune import surviving

SCHEMA = pa.schema(
    [
        pa.field("text", pa.string()),
        pa.field("whole", pa.int64()),
        pa.field("small", pa.int32()),
        pa.field("real", pa.float64()),
        pa.field("half", pa.float32()),
        pa.field("money", pa.decimal128(20, 4)),
        pa.field("yes", pa.bool_()),
        pa.field("day", pa.date32()),
        pa.field("tp_timestamp", pa.timestamp("us")),
        pa.field("inner", pa.struct([("a", pa.int64()), ("b c", pa.string())])),
        pa.field("many", pa.list_(pa.string())),
        pa.field("never", pa.string()),
        pa.field("tp_partition", pa.string()),
        pa.field("tp_index", pa.string()),
        pa.field("tp_date", pa.date32()),
    ]
)
BY = ["tp_partition", "tp_index", "tp_date"]
TABLE = "things"


@pytest.fixture(autouse=True)
def every_table_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MANY", 0)


def stats(number: int) -> str:
    """Of a file: some say nothing of some columns, and one says nothing at all."""
    if number % 11 == 10:
        return json.dumps({"numRecords": number})
    values: dict[str, Any] = {
        "text": f'naïve "quoted" {number}',
        "whole": number * 10**15,
        "small": -number,
        "real": number / 3,
        "half": number / 7,
        "money": f"<{Decimal(number).scaleb(-4) + 1234567890123}>",
        "yes": bool(number % 2),
        "day": f"{date(2024, 1, 1 + number % 28)}",
        "tp_timestamp": f"{datetime(2024, 1, 1 + number % 28, 3, 4, 5, number)}".replace(" ", "T"),
        "inner": {"a": number, "b c": "%41/é"},
    }
    if number % 3 == 0:
        del values["whole"], values["inner"]["a"], values["tp_timestamp"]
    said = {"numRecords": number, "minValues": values, "maxValues": values, "nullCount": {"text": 0, "never": number}}
    # A number of more digits than a real one has, as it stands in a log.
    return json.dumps(said).replace('"<', "").replace('>"', "")


def file(number: int, table_path: str = "") -> DataFile:
    partition, index = ("web", "ü %/=")[number % 2], ("default", "a b", "ß")[number % 3]
    day = date(2024, 1, 1 + number % 28)
    path = f"{table_path}{data_path(partition, index, day)}/20240505000000000000abcdefabcd-{number}-0.parquet"
    return DataFile(path, 1000 + number, partition, index, day, number, stats(number), "", 1_700_000_000_000 + number)


def commit(delta: DeltaTable, actions: Sequence[Any]) -> None:
    delta.create_write_transaction([*actions], "append", delta.schema(), partition_by=BY)
    delta.update_incremental()


def adding(numbers: Sequence[int], table_path: str = "") -> list[AddAction]:
    return [add_action(file(number, table_path), True) for number in numbers]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A table with a checkpoint, some of whose files are gone."""
    lake = Lake(tmp_path)
    delta = open_or_create(lake, TABLE, SCHEMA)
    commit(delta, adding(range(60)))
    doomed = [each for each in active_files(delta, "web") if each.rows in (4, 8)]
    commit(delta, [remove_action(each, True) for each in doomed])
    delta.create_checkpoint()
    return lake


def opened(lake: Lake) -> DeltaTable:
    return DeltaTable(lake.table_root(TABLE).delta_uri)


def by_path(found: Listing) -> dict[str, dict[str, Any]]:
    """All that is said of each file."""
    names = sorted(found.files.source.kinds)
    rows = zip(*(found.files.column(name) for name in names), strict=True)
    said = ({n: v for n, v in zip(names, row, strict=True) if v is not None} for row in rows)
    return {row["path"]: row for row in said}


def assert_same(lake: Lake) -> Listing:
    found = logged_listing(lake, TABLE)
    assert found is not None
    assert isinstance(found.files.source, LoggedSource)
    expected = listing_of(snapshot(lake, TABLE))
    assert (found.version, found.root, found.moved) == (expected.version, expected.root, expected.moved)
    assert found.columns == expected.columns
    assert found.columns.arrow().equals(expected.columns.arrow(), check_metadata=True)
    assert by_path(found) == by_path(expected)
    assert_same_amounts(lake)
    some = surviving(found.files, [[Condition("tp_date", "=", (date(2024, 1, 5),))]])
    assert 0 < some.num_rows < found.files.num_rows
    whole = by_path(expected)
    for name in found.files.source.kinds:
        told = [whole[path].get(name) for path in some.paths]
        assert list(some.column(name)) == told, "of some files as of all"
    return found


def assert_same_amounts(lake: Lake) -> None:
    """What lists of tables and partitions tell."""
    found, expected = logged_amounts(lake, TABLE), snapshot(lake, TABLE)
    assert found is not None
    assert table_extent(found) == table_extent(expected)
    assert partition_extents(found) == partition_extents(expected)
    (holding,) = holdings(lake).values()
    assert (holding.total, [*holding.partitions]) == (table_extent(expected), partition_extents(expected))
    assert holding.snapshot is not None
    assert holding.snapshot.files.num_rows == expected.files.num_rows


def test_a_checkpoint(lake: Lake) -> None:
    assert assert_same(lake).files.num_rows == 58


def test_of_more_files_than_are_held_at_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logged_files, "FEW", 0)
    assert_same(lake)


def test_commits_behind_the_checkpoint(lake: Lake) -> None:
    """Files come, and go, those of the checkpoint and others; one comes back; columns join."""
    delta = opened(lake)
    commit(delta, adding(range(60, 75)))
    active = {each.rows: each for name in ("web", "ü %/=") for each in active_files(delta, name)}
    commit(delta, [remove_action(active[number], False) for number in (6, 7, 61, 62)])
    commit(delta, adding([7]))
    wider = pa.schema([*SCHEMA, pa.field("later", pa.string()), pa.field("inner", pa.struct([("d", pa.int32())]))])
    delta = widen(delta, pa.schema([field for field in wider if field.name == "later"]), lake.table_root(TABLE))
    commit(delta, adding([80]))
    assert assert_same(lake).files.num_rows == 58 + 15 - 4 + 1 + 1


def test_files_that_were_moved(lake: Lake) -> None:
    commit(opened(lake), adding([90, 91], "s3://bucket/some where/"))
    assert assert_same(lake).moved


def test_by_a_condition_on_rows_statistics_are_unpacked_of_the_days_files_alone(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = logged_listing(lake, TABLE)
    assert found is not None
    source = found.files.source
    asked: list[int] = []
    some = LoggedSource.some
    monkeypatch.setattr(LoggedSource, "some", lambda s, c, places: asked.append(len(places)) or some(s, c, places))
    monkeypatch.setattr(source, "read", lambda column: LoggedSource.read(source, column) if column in BY else None)
    wanted = [Condition("whole", ">=", (5 * 10**15,)), Condition("tp_date", "=", (date(2024, 1, 6),))]
    kept = surviving(found.files, [wanted])
    assert sorted(kept.column("rows")) == [5, 33]
    assert set(asked) == {2}


def test_a_log_that_is_not_understood_is_delta_rs_to_read(lake: Lake) -> None:
    log = lake.table_root(TABLE) / "_delta_log"
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"], "writerFeatures": []}
    log.put(f"{3:020}.json", json.dumps({"protocol": protocol}).encode(), "test")
    assert read_log(lake.table_root(TABLE)) is None
    log.put(f"{3:020}.json", b"", "test")
    assert read_log(lake.table_root(TABLE)) is None, "a crash left it empty"
    log.delete([f"{3:020}.json"])
    assert read_log(lake.table_root(TABLE)) is not None
    log.put(f"{4:020}.json", json.dumps({"commitInfo": {}}).encode(), "test")
    assert read_log(lake.table_root(TABLE)) is None, "one is missing"


def test_a_table_of_fewer_files_is_read_as_before(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MANY", 58)
    assert read_log(lake.table_root(TABLE)) is None
    monkeypatch.setattr(stored, "MANY", 57)
    assert read_log(lake.table_root(TABLE)) is not None


def test_a_checkpoint_that_is_deleted_meanwhile_is_read_to_the_end(lake: Lake) -> None:
    found = logged_listing(lake, TABLE)
    assert found is not None
    expected = by_path(listing_of(snapshot(lake, TABLE)))
    log = lake.table_root(TABLE) / "_delta_log"
    log.delete([name for name in log.names() if "checkpoint" in name])
    assert by_path(found) == expected


def damaged(lake: Lake, column: str) -> str:
    """The checkpoint, where a column of it lies; its footer is whole."""
    (path,) = (lake.table_root(TABLE).path / "_delta_log").glob("*.checkpoint.parquet")
    content = bytearray(path.read_bytes())
    group = pq.ParquetFile(path).metadata.row_group(0)
    chunks = [group.column(number) for number in range(group.num_columns)]
    for chunk in (chunk for chunk in chunks if chunk.path_in_schema.startswith(column)):
        first = chunk.dictionary_page_offset or chunk.data_page_offset
        place = slice(first, first + chunk.total_compressed_size)
        content[place] = bytes(byte ^ 0xFF for byte in content[place])
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize("few", [0, logged_files.FEW])
def test_pages_of_a_checkpoint_that_cannot_be_read(lake: Lake, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """They are read when a question needs what they say."""
    monkeypatch.setattr(logged_files, "FEW", few)
    path = damaged(lake, "add.stats")
    found = logged_listing(lake, TABLE)
    assert found is not None
    assert len(found.files.days) == 58
    for look in (
        lambda: found.files.column("min.whole"),
        lambda: found.files.take([1, 2]).column("rows"),
        lambda: logged_amounts(lake, TABLE),
    ):
        with pytest.raises(LakeError) as raised:
            look()
        assert (raised.value.code, raised.value.where, raised.value.exit_code) == ("lake.damaged-log", path, 5)
        assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("column", ["add.stats", "add.path", "add.size", "add.partitionValues", "metaData", "protocol"])
@pytest.mark.parametrize("many", [0, 10**9])
def test_whatever_of_a_checkpoint_is_damaged_it_is_named(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], column: str, many: int
) -> None:
    """By this reader, or by delta-rs, which it asks where days and partitions cannot be read."""
    monkeypatch.setattr(stored, "MANY", many)
    path = damaged(lake, column)
    with pytest.raises(LakeError) as raised:
        by_path(kept_snapshot(lake, TABLE))
    assert (raised.value.code, raised.value.where) == ("lake.damaged-log", path)
    holdings(lake)
    assert f"warning[lake.damaged-log]: table {TABLE} is damaged: {path}: " in capsys.readouterr().err


def test_a_checkpoint_without_statistics_as_text_is_delta_rs_to_read(lake: Lake) -> None:
    (path,) = (lake.table_root(TABLE).path / "_delta_log").glob("*.checkpoint.parquet")
    rows = pq.read_table(path)
    place = rows.schema.get_field_index("add")
    kept = [field for field in rows.schema.field("add").type.fields if field.name != "stats"]
    add = rows.column("add").combine_chunks()
    add = pa.StructArray.from_arrays([add.field(f.name) for f in kept], fields=kept, mask=pc.is_null(add))
    pq.write_table(rows.set_column(place, "add", add), path)
    assert read_log(lake.table_root(TABLE)) is None


def test_queries_answer_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    world: World = made_in(tmp_path)
    questions = (
        "select count(*), sum(n), min(tp_timestamp) from hits",
        "select tp_id from hits where tp_date = (select min(tp_date) from hits) order by 1",
        "select tp_id from hits where n >= 2 and tp_partition = 'web' order by 1",
    )
    with monkeypatch.context() as patch:
        patch.setattr(stored, "MANY", 10**9)
        before = [answer(Engine(world.lake), question) for question in questions]
    opened_table = DeltaTable(world.lake.table_root("hits").delta_uri)
    opened_table.create_checkpoint()
    (tmp_path / "cache").rename(tmp_path / "cache-before")
    assert isinstance(kept_snapshot(world.lake, "hits").files.source, LoggedSource)
    assert [answer(Engine(world.lake), question) for question in questions] == before
