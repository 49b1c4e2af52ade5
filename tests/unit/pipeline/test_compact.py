"""Small files become large ones: the same rows, sorted, in one commit, while others go on."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from lakecheck import check, stored
from logfiles import CLOUDTRAIL_LAYOUT, access_lines, cloudtrail, today, write
from world import World

from tailrace.core import TimeRange
from tailrace.lake.compacting import APART, Compacting
from tailrace.lake.extents import partition_extents
from tailrace.lake.intents import read_ledger
from tailrace.lake.lock import partition_lock
from tailrace.lake.snapshot import snapshot
from tailrace.lake.undo import erase, history, last_change, restore
from tailrace.pipeline import merge_reading, merged_files, merging
from tailrace.pipeline.compact import Compaction
from tailrace.pipeline.partition_compaction import PartitionCompaction

DAY = today() - timedelta(days=3)
WEB, TRAIL = ("nginx_access_log", "web"), ("aws_cloudtrail_log", "trail")
CONFIG = """
partition "nginx_access_log" "web" {
  source "file" { paths = ["LOGS/web"] }
}
partition "aws_cloudtrail_log" "trail" {
  source "file" {
    paths       = ["LOGS/aws"]
    file_layout = `LAYOUT`
  }
}
"""


APP = """
table "app" {{
  map_fields = []
  column "tp_timestamp" {{ source = "at" }}
  {}
}}
partition "app" "p" {{
  source "file" {{ paths = ["{}"] }}
}}
"""


def collect_bit_by_bit(world: World, logs: Path, rounds: int = 4) -> None:
    """Each round adds a file to each of two days."""
    world.write_config(CONFIG.replace("LOGS", str(logs)).replace("LAYOUT", CLOUDTRAIL_LAYOUT))
    for number in range(rounds):
        for day in (DAY, DAY + timedelta(days=1)):
            write(logs / "web" / f"{day}-{number}.log", access_lines(day, 24 + number))
            cloudtrail(logs / "aws", day, 20, f"n{number}")
        for name in ("web", "trail"):
            (report,) = world.collect(name)
            assert (report.error, report.troubles) == (None, [])


@pytest.fixture
def logs(world: World, tmp_path: Path) -> Path:
    collect_bit_by_bit(world, tmp_path / "logs")
    return tmp_path / "logs"


def all_rows(world: World, table: str) -> list[tuple[Any, ...]]:
    """Every column of every row, as DuckDB has them."""
    return sorted(world.query(f"select * from {table}"), key=repr)


def files(world: World, table: str) -> pa.Table:
    return snapshot(world.lake, table).files


def opened(world: World, table: str, path: str) -> pq.ParquetFile:
    return pq.ParquetFile(world.lake.table_root(table).path / path)  # type: ignore[attr-defined]


def chunks(file: pq.ParquetFile) -> dict[str, pq.ColumnChunkMetaData]:
    group = file.metadata.row_group(0)
    return {column.path_in_schema: column for column in (group.column(n) for n in range(group.num_columns))}


def footer(file: pq.ParquetFile) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in file.metadata.metadata.items()}


@pytest.mark.parametrize("together", [merging.TOGETHER, 0], ids=["in memory", "on disk"])
def test_the_same_rows_in_one_sorted_file_a_day(
    world: World, logs: Path, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr(merging, "TOGETHER", together)
    before = {table: all_rows(world, table) for table, _ in (WEB, TRAIL)}
    ids, ledger = stored(world.home), read_ledger(world.lake, *WEB)
    reports = {report.name: report for report in world.compact()}
    assert {(r.files_before, r.files_after, len(r.days), r.left_files) for r in reports.values()} == {(8, 2, 2, 0)}
    assert all(r.commits == 1 and 0 < r.commit_seconds <= r.seconds for r in reports.values())
    assert all(report.clean for report in reports.values())
    for (table, partition), rows in zip((WEB, TRAIL), before.values(), strict=True):
        assert all_rows(world, table) == rows
        assert files(world, table).num_rows == 2
        for path in files(world, table).column("path").to_pylist():
            times = opened(world, table, path).read(columns=["tp_timestamp"]).column(0)
            assert pc.sort_indices(times).to_pylist() == list(range(len(times)))
        check(world.home, table, partition)
    assert stored(world.home) == ids
    assert read_ledger(world.lake, *WEB).entries.equals(ledger.entries)
    assert world.compact() == [], "a second time there is nothing to do"


def test_a_collection_goes_on_afterwards(world: World, logs: Path) -> None:
    world.compact()
    assert all(report.counts.stored == 0 for report in world.collect()), "all is known"
    write(logs / "web" / f"{DAY}-0.log", access_lines(DAY, 24) + access_lines(DAY, 30, 24))
    world.collect()
    check(world.home, *WEB)
    assert world.query("select count(*) from nginx_access_log")[0][0] == 2 * (24 + 25 + 26 + 27) + 6


def test_a_file_says_what_a_collected_one_says(world: World, tmp_path: Path) -> None:
    """Beside one collection of the same logs: columns, encodings, statistics, filters."""
    collect_bit_by_bit(world, tmp_path / "logs")
    world.compact()
    whole = World(tmp_path / "whole")
    whole.write_config(CONFIG.replace("LOGS", str(tmp_path / "logs")).replace("LAYOUT", CLOUDTRAIL_LAYOUT))
    whole.collect()
    for table, _ in (WEB, TRAIL):
        told = [{row["tp_date"]: row["path"] for row in files(w, table).to_pylist()} for w in (world, whole)]
        for day in (DAY, DAY + timedelta(days=1)):
            ours, theirs = (opened(w, table, paths[day]) for w, paths in zip((world, whole), told, strict=True))
            assert ours.schema_arrow.equals(theirs.schema_arrow)
            mine, other = chunks(ours), chunks(theirs)
            for name, column in other.items():
                assert set(mine[name].encodings) == set(column.encodings), name
                assert mine[name].compression == column.compression
                assert (mine[name].bloom_filter_offset is None) == (column.bloom_filter_offset is None), name
                assert mine[name].is_stats_set or not column.is_stats_set, name
            kept, collected = footer(ours), footer(theirs)
            assert {**kept, "tailrace.run": ""} == {**kept, **collected, "tailrace.run": ""}
            assert (kept["tailrace.first"][:10], kept["tailrace.last"][:10]) == (str(day), str(day))


def test_the_log_says_that_no_row_has_changed(world: World, logs: Path) -> None:
    collected = [extent.changed for extent in partition_extents(snapshot(world.lake, WEB[0]))]
    world.compact("web")
    log = sorted((world.lake.table_root(WEB[0]).path / "_delta_log").glob("*.json"))[-1]  # type: ignore[attr-defined]
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    changed = [next(iter(a.values())) for a in actions if "add" in a or "remove" in a]
    assert [action["dataChange"] for action in changed] == [False] * 10
    assert [extent.changed for extent in partition_extents(snapshot(world.lake, WEB[0]))] == collected


def test_history_restore_and_undo(world: World, logs: Path) -> None:
    versions = snapshot(world.lake, WEB[0]).version
    before = all_rows(world, WEB[0])
    world.compact("web")
    assert [c.kind for c in history(world.lake, *WEB)][:2] == ["compact", "collect"]
    assert last_change(world.lake, *WEB).kind == "collect", "what holds the same rows is not what somebody wants undone"
    with partition_lock(world.lake, *WEB, "test"):
        restore(world.lake, *WEB, versions)
    assert files(world, WEB[0]).num_rows == 8
    assert all_rows(world, WEB[0]) == before
    check(world.home, *WEB)
    assert [report.files_before for report in world.compact("web")] == [8]
    assert all_rows(world, WEB[0]) == before


def test_columns_that_join_structs_that_grow_and_json_as_it_was_sent(world: World, tmp_path: Path) -> None:
    logs, records = tmp_path / "logs", []
    types = {"raw": "json", "n": "integer", "d": "decimal(20,4)", "tags": "varchar[]", "x": "double"}
    columns = [f'column "{name}" {{ type = "{kind}" }}' for name, kind in types.items()]
    for number in range(len(columns)):
        world.write_config(APP.format("\n".join(columns[: number + 1]), logs))
        record: dict[str, Any] = {"at": f"2024-05-01T10:00:0{9 - number}Z", "raw": {"b": 1, "a": [number, None]}}
        record |= {"n": number, "d": "12345678901234.5678", "tags": ["", "é", None], "x": -0.0, "late": {"é": number}}
        records.append(record)
        text = json.dumps(record, ensure_ascii=number % 2 == 0).replace('"b": 1', '"b":  1.0')
        write(logs / f"{number}.jsonl", text + "\n")
        assert [report.counts.stored for report in world.collect()] == [1]
    before = all_rows(world, "app")
    text = [row[0] for row in world.query("select raw::varchar from app order by n nulls first")]
    (report,) = world.compact()
    assert (report.files_before, report.files_after, report.clean) == (5, 1, True)
    assert all_rows(world, "app") == before
    assert [row[0] for row in world.query("select raw::varchar from app order by n nulls first")] == text
    path = files(world, "app").column("path")[0].as_py()
    assert "tp_akas" not in opened(world, "app", path).schema_arrow.names, "a column that no row has is in no file"


@pytest.mark.parametrize("begins", ["whole", "spoiled"])
@pytest.mark.parametrize("day", [DAY, DAY + timedelta(days=1)])
def test_a_damaged_file_holds_up_its_own_day_alone(world: World, logs: Path, day: date, begins: str) -> None:
    seen = snapshot(world.lake, WEB[0])
    bad = max(row["path"] for row in seen.files.to_pylist() if row["tp_date"] == day)
    target = world.lake.table_root(WEB[0]).path / bad  # type: ignore[attr-defined]
    content = target.read_bytes()
    half = len(content) // 2
    target.write_bytes(content[:half] if begins == "whole" else content[:4] + bytes(half) + content[half + 4 :])
    (report,) = world.compact("web")
    assert (report.files_before, report.files_after, report.left_files) == (4, 1, 4)
    (trouble,) = report.troubles
    assert str(day) in trouble.message
    assert trouble.code == "lake.damaged-file"
    assert str(target) in trouble.message
    assert "restore the file from a backup" in str(trouble.hint)
    target.write_bytes(content)
    check(world.home, *WEB)
    assert [(r.files_before, r.clean) for r in world.compact("web")] == [(4, True)]


def test_a_day_that_others_change_under_way_is_left(world: World, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the first day are deleted after its files were read: that day is dropped, the other is done."""
    wrote, noon = merging.run_merges, datetime.combine(DAY, time(12))

    def meanwhile(unit: merging.MergeUnit) -> merging.MergedUnit:
        done = wrote(unit)
        with partition_lock(world.lake, *WEB, "test"):
            erase(world.lake, *WEB, TimeRange(noon, noon + timedelta(hours=1)))
        return done

    monkeypatch.setattr("tailrace.pipeline.compact.run_here", meanwhile)
    (report,) = world.compact("web")
    assert (report.files_before, report.files_after, report.left_files) == (4, 1, 4)
    assert report.clean
    monkeypatch.undo()
    check(world.home, *WEB)
    assert world.compact("web")[0].clean
    assert files(world, WEB[0]).num_rows == 2
    check(world.home, *WEB)


def test_whoever_holds_the_partition_is_waited_for_and_not_for_ever(world: World, logs: Path) -> None:
    with partition_lock(world.lake, *WEB, "tailrace collect"):
        (report,) = world.compact("web", patience=0.5)
    assert (report.files_before, report.left_files) == (0, 8)
    assert [trouble.code for trouble in report.troubles] == ["lake.locked"]
    (report,) = world.compact("web")
    assert report.files_after == 2
    check(world.home, *WEB)


def test_two_at_once_do_not_do_the_same_work(world: World, logs: Path) -> None:
    with partition_lock(world.lake, *WEB, "tailrace compact", of=APART):
        (report,) = world.compact("web")
    assert report.error is not None
    assert report.error.exit_code == 6
    check(world.home, *WEB)


def test_a_collection_that_comes_during_a_commit_waits(
    world: World, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is held briefly: a collect that meets it there goes on after it, and does not fail."""
    held, going = threading.Event(), threading.Event()
    commit = Compacting.commit

    def slowly(self: Compacting, *args: Any) -> Any:
        with partition_lock(*self._place, brief=True):
            held.set()
            going.wait(10)
            threading.Event().wait(0.3)
        return commit(self, *args)

    monkeypatch.setattr(Compacting, "commit", slowly)
    compaction = threading.Thread(target=world.compact, args=("web",))
    compaction.start()
    held.wait(30)
    going.set()
    write(logs / "web" / f"{DAY}-new.log", access_lines(DAY, 7))
    (report,) = world.collect("web")
    assert report.error is None
    assert report.counts.stored == 7
    compaction.join()
    check(world.home, *WEB)


def test_a_large_day_becomes_files_of_about_one_size(world: World, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes in miniature: a file is full at 8 kB, and nothing below 4 kB is left at the end."""
    monkeypatch.setattr(merging, "TOGETHER", 0)
    monkeypatch.setattr(merging, "ROW_GROUP", 10)
    for module in (merging, merge_reading):
        monkeypatch.setattr(module, "BATCH", 10)
    monkeypatch.setattr(merged_files, "TARGET", 8_000)
    monkeypatch.setattr(merged_files, "SMALL", 4_000)
    before = all_rows(world, WEB[0])
    (report,) = world.compact("web")
    assert report.files_after > 2
    assert all_rows(world, WEB[0]) == before
    for day in (DAY, DAY + timedelta(days=1)):
        rows = [row for row in files(world, WEB[0]).to_pylist() if row["tp_date"] == day]
        spans = sorted((row["min.tp_timestamp"], row["max.tp_timestamp"]) for row in rows)
        assert all(first[1] <= second[0] for first, second in pairwise(spans)), "one after the other"
    check(world.home, *WEB)


def test_more_than_memory_should_hold_is_sorted_on_disk(
    world: World, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "MOST_HELD", 1)
    for module in (merging, merge_reading):
        monkeypatch.setattr(module, "BATCH", 16)
    before = all_rows(world, TRAIL[0])
    (report,) = world.compact("trail")
    assert (report.files_after, report.troubles) == (2, [])
    assert all_rows(world, TRAIL[0]) == before


def test_rows_that_the_log_does_not_know_stop_it(world: World, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = PartitionCompaction.unit

    def miscounted(self: PartitionCompaction, merges: Any) -> merging.MergeUnit:
        return real(self, [replace(merge, rows=merge.rows + 1) for merge in merges])

    monkeypatch.setattr(PartitionCompaction, "unit", miscounted)
    (report,) = world.compact("web")
    assert report.files_before == 0
    assert ["the log says" in trouble.message for trouble in report.troubles] == [True, True], report.troubles
    check(world.home, *WEB)


def test_interrupted_it_leaves_nothing_behind(world: World, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Compaction, ended: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Compaction, "_take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        world.compact()
    monkeypatch.undo()
    for place in (WEB, TRAIL):
        check(world.home, *place)
    assert [report.files_after for report in world.compact()] == [2, 2]
