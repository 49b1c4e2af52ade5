"""`compact --reindex`: stored rows get the `tp_index` that a collection would give them now."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from lakecheck import check, stored
from logfiles import CLOUDTRAIL_LAYOUT, access_lines, cloudtrail, today, write
from world import World

from tailrace.cli.compact_plans import index_column
from tailrace.core import ConfigError, TimeRange
from tailrace.lake.intents import read_ledger
from tailrace.lake.lock import partition_lock
from tailrace.lake.snapshot import snapshot
from tailrace.lake.undo import erase, history, last_change, restore
from tailrace.pipeline import merge_reading, merging

TRAIL = ("aws_cloudtrail_log", "trail")
DAYS = [today() - timedelta(days=n) for n in (3, 2)]
ACCOUNTS = ("111122223333", "444455556666")
CONFIG = """
partition "aws_cloudtrail_log" "trail" {{
  {}
  source "file" {{
    paths       = ["{}"]
    file_layout = `{}`
  }}
}}
"""
Places = Counter[tuple[str, date]]


def configure(world: World, logs: Path, index: str | None) -> None:
    layout = CLOUDTRAIL_LAYOUT.replace("account_id", "org")
    world.write_config(CONFIG.format(f'tp_index = "{index}"' if index else "", logs, layout))


@pytest.fixture
def logs(world: World, tmp_path: Path) -> Path:
    """Two days of two accounts, each day in two files, all of them `default`."""
    logs = tmp_path / "logs"
    configure(world, logs, None)
    for name in "ab":
        for day in DAYS:
            for account in ACCOUNTS:
                cloudtrail(logs, day, 10, name, account)
        assert all(report.clean for report in world.collect())
    return logs


def places(world: World, table: str = TRAIL[0]) -> Places:
    """Files by index and day, as the log has them; each says the same of itself."""
    seen = snapshot(world.lake, table)
    found: Places = Counter()
    for row in seen.files.to_pylist():
        path = seen.root.path / row["path"]  # type: ignore[attr-defined]
        inside = pq.ParquetFile(path).read(columns=["tp_index", "tp_timestamp"])
        assert set(inside.column("tp_index").to_pylist()) == {row["tp_index"]}
        times = inside.column("tp_timestamp").to_pylist()
        assert times == sorted(times)
        found[row["tp_index"], row["tp_date"]] += 1
    return found


def rows(world: World) -> list[tuple[Any, ...]]:
    return sorted(world.query("select * exclude (tp_index) from aws_cloudtrail_log"), key=repr)


@pytest.mark.parametrize("together", [merging.TOGETHER, 0], ids=["in memory", "on disk"])
def test_rows_go_where_they_belong_and_stay_as_they_are(
    world: World, logs: Path, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr(merging, "TOGETHER", together)
    monkeypatch.setattr(merge_reading, "BATCH", 7)
    before, ids, ledger = rows(world), stored(world.home), read_ledger(world.lake, *TRAIL)
    configure(world, logs, "recipient_account_id")
    (report,) = world.reindex()
    assert (report.clean, report.files_before, report.files_after, report.rows) == (True, 4, 4, 80)
    assert places(world) == {(account, day): 1 for account in ACCOUNTS for day in DAYS}
    assert rows(world) == before
    assert stored(world.home) == ids
    assert read_ledger(world.lake, *TRAIL).entries.equals(ledger.entries)
    assert world.query("select count(*) from aws_cloudtrail_log where tp_index <> recipient_account_id") == [(0,)]
    check(world.home, *TRAIL)
    assert world.reindex() == [], "the log knows that all is well"
    assert [r.counts.stored for r in world.collect()] == [0]


def test_the_log_says_that_rows_have_changed_and_it_can_be_undone(world: World, logs: Path) -> None:
    version = snapshot(world.lake, TRAIL[0]).version
    before = places(world)
    configure(world, logs, "event_name")
    world.reindex()
    log = sorted((world.lake.table_root(TRAIL[0]).path / "_delta_log").glob("*.json"))[-1]  # type: ignore[attr-defined]
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    changed = [next(iter(action.values())) for action in actions if "add" in action or "remove" in action]
    assert {action["dataChange"] for action in changed} == {True}
    assert last_change(world.lake, *TRAIL).kind == "reindex"
    assert [(c.kind, c.added, c.removed) for c in history(world.lake, *TRAIL)][:1] == [("reindex", 0, 0)]
    with partition_lock(world.lake, *TRAIL, "test"):
        restore(world.lake, *TRAIL, version)
    assert places(world) == before
    check(world.home, *TRAIL)


@pytest.mark.parametrize("index", ["event_name", "user_identity.user_name", "read_only", "tp_source_ip"])
def test_as_a_collection_would_do_it(world: World, logs: Path, tmp_path: Path, index: str) -> None:
    """Columns, fields of structs, numbers and shared columns: beside a lake that was collected so."""
    configure(world, logs, index)
    assert all(report.clean for report in world.reindex())
    other = World(tmp_path / "other")
    configure(other, logs, index)
    other.collect()
    ask = "select tp_id, tp_index from aws_cloudtrail_log order by all"
    assert world.query(ask) == other.query(ask)
    check(world.home, *TRAIL)
    assert not any(report.files_before for report in world.reindex()), "a second time each row is where it belongs"


def test_back_to_one_index_and_new_files_are_merged_with_it(world: World, logs: Path) -> None:
    configure(world, logs, "recipient_account_id")
    world.reindex()
    cloudtrail(logs, DAYS[0], 5, "c")
    world.collect()
    configure(world, logs, None)
    (report,) = world.reindex()
    assert (report.files_before, report.files_after) == (5, 2)
    assert places(world) == {("default", day): 1 for day in DAYS}
    check(world.home, *TRAIL)


def test_what_cannot_be_told_from_stored_rows_is_refused(world: World, logs: Path) -> None:
    configure(world, logs, "org")
    (spec,) = world.config().partitions
    with pytest.raises(ConfigError, match="is a part of paths") as caught:
        index_column(spec, snapshot(world.lake, TRAIL[0]).schema)
    assert caught.value.code == "config.unknown-column"
    assert "test.tpc" in str(caught.value.where)


def test_a_value_that_names_no_directory_leaves_its_day(world: World, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    table = """
    table "app" {{
      column "tp_timestamp" {{ source = "at" }}
      column "name" {{ type = "varchar" }}
    }}
    partition "app" "p" {{
      {}
      source "file" {{ paths = ["{}"] }}
    }}"""
    world.write_config(table.format("", logs))
    for day, name in (("01", "a\0b"), ("02", "a/b %"), ("03", "")):
        write(logs / f"{day}.jsonl", json.dumps({"at": f"2024-05-{day}T10:00:00Z", "name": name}) + "\n")
    world.collect()
    world.write_config(table.format('tp_index = "name"', logs))
    (report,) = world.reindex()
    assert [(trouble.code, "2024-05-01" in trouble.message) for trouble in report.troubles] == [
        ("lake.bad-directory-value", True)
    ]
    assert world.query("select tp_index, name from app order by tp_date") == [
        ("default", "a\0b"),
        ("a/b %", "a/b %"),
        ("default", ""),
    ]


def test_a_day_that_others_change_under_way_is_left(world: World, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrote, noon = merging.run_merges, datetime.combine(DAYS[0], time(12))

    def meanwhile(unit: merging.MergeUnit) -> merging.MergedUnit:
        done = wrote(unit)
        with partition_lock(world.lake, *TRAIL, "test"):
            erase(world.lake, *TRAIL, TimeRange(noon, noon + timedelta(hours=1)))
        return done

    configure(world, logs, "recipient_account_id")
    monkeypatch.setattr("tailrace.pipeline.compact.run_here", meanwhile)
    (report,) = world.reindex()
    assert (report.clean, report.files_before, report.left_files) == (True, 2, 2)
    check(world.home, *TRAIL)
    monkeypatch.undo()
    world.reindex()
    assert places(world) == {(account, day): 1 for account in ACCOUNTS for day in DAYS}
    check(world.home, *TRAIL)


def test_plain_lines(world: World, tmp_path: Path) -> None:
    """Whole numbers as text."""
    config = 'partition "nginx_access_log" "web" {{\n {}\n source "file" {{ paths = ["{}"] }}\n}}'
    world.write_config(config.format("", tmp_path / "logs"))
    write(tmp_path / "logs" / "a.log", access_lines(date(2024, 5, 1), 20))
    world.collect()
    world.write_config(config.format('tp_index = "status"', tmp_path / "logs"))
    world.reindex()
    assert places(world, "nginx_access_log") == {("200", date(2024, 5, 1)): 1, ("500", date(2024, 5, 1)): 1}
    assert world.reindex() == []
