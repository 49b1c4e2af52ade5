"""Materialised schemas: what was there when they were refreshed, whatever becomes of the lake."""

from __future__ import annotations

import os
import shutil
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from logfiles import write
from refreshonce import QUARTER, refreshed
from smalllake import ACCOUNTS, answer, engine, expected, files_opened, made_in
from world import World

from tailrace.core import LakeError, LockedError, QueryError, TimeRange, UsageError
from tailrace.lake import materialized
from tailrace.lake.lock import local_lock, partition_lock
from tailrace.lake.undo import erase
from tailrace.query.engine import Engine
from tailrace.query.filters import Schema, Scope

COUNT = "select count(*) from"
ALL = "select * from q1.hits order by n"
HITS = sum(row.table == "hits" for row in expected())


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made_in(tmp_path_factory.mktemp("materialized"))


@pytest.fixture
def world(base: World, tmp_path: Path) -> World:
    """A lake of its own."""
    shutil.copytree(base.home, tmp_path / "home")
    return World(tmp_path / "home")


def place(world: World) -> Path:
    return world.home / "snapshots" / "default" / "q1"


def files(world: World) -> set[Path]:
    return set(place(world).rglob("*.parquet"))


def emptied(world: World) -> None:
    for partition in ("web", "api-1"):
        with partition_lock(world.lake, "hits", partition, "test"):
            erase(world.lake, "hits", partition, TimeRange())


def test_a_snapshot_does_not_follow_the_lake(world: World) -> None:
    before = answer(engine(world), "select * from hits order by n")
    refreshed(world)
    emptied(world)
    assert answer(engine(world, QUARTER), ALL) == before
    assert answer(engine(world, QUARTER), f"{COUNT} hits") == [(0,)]
    assert answer(engine(world, QUARTER, scope=Scope("q1")), f"{COUNT} hits") == [(HITS,)]
    refreshed(world)
    assert answer(engine(world, QUARTER), f"{COUNT} q1.hits") == [(0,)]


def test_a_snapshot_needs_neither_lake_nor_configuration(world: World) -> None:
    before = answer(engine(world), "select * from hits order by n")
    refreshed(world)
    shutil.rmtree(world.home / "data")
    shutil.rmtree(world.home / "meta")
    made = Engine(world.lake, schemas=lambda: [QUARTER])
    assert answer(made, ALL) == before
    names = [row[1:3] for row in answer(made, "show all tables")]
    assert names == [("q1", "hits"), ("tailrace", "tp_quarantine")]


def test_filters_hold_when_it_is_refreshed(world: World) -> None:
    schema = Schema("q1", ("*",), ("web",), ("123456789012",), first=date(2024, 3, 30), last=date(2024, 3, 31),
        materialized=True)  # fmt: skip
    found = refreshed(world, schema)
    assert [(kept.table, kept.rows, kept.files) for kept in found.tables] == [("calls", 6, 2), ("hits", 6, 2)]
    assert len(files(world)) == 4
    assert answer(engine(world, schema), f"{COUNT} q1.hits") == [(6,)]
    # Widened since, but not refreshed.
    assert answer(engine(world, Schema("q1", materialized=True)), f"{COUNT} q1.hits") == [(6,)]


def test_only_files_of_the_snapshot_that_are_needed_are_opened(world: World) -> None:
    refreshed(world)
    made = engine(world, QUARTER)
    opened = files_opened(made, "select * from q1.hits where tp_date = '2024-03-30' and tp_partition = 'web'")
    assert len(opened) == len(ACCOUNTS)
    assert all(path.startswith(str(place(world))) for path in opened)
    window = TimeRange(datetime(2024, 4, 1, 12), None)
    made = engine(world, QUARTER, scope=Scope(window=window, indexes=("dev*",), partitions=("api-1",)))
    assert len(files_opened(made, "select * from q1.hits")) == 1
    assert answer(made, f"{COUNT} q1.hits") == [(1,)]


def test_a_schema_that_was_never_refreshed_says_so(world: World) -> None:
    made = engine(world, QUARTER, Schema("n", materialized=True))
    with pytest.raises(QueryError) as raised:
        answer(made, f"{COUNT} q1.hits")
    assert raised.value.code == "lake.never-refreshed"
    assert raised.value.hint == "`tailrace schema refresh q1` writes what it shows"
    with pytest.raises(QueryError, match="never been refreshed"):
        answer(engine(world, QUARTER, scope=Scope("q1")), f"{COUNT} hits")
    assert answer(made, f"{COUNT} hits where n < 5") == [(5,)]
    assert answer(made, "select 1 as q1 from hits limit 1") == [(1,)]
    assert [row for row in answer(made, "show all tables") if row[1] in ("q1", "n")] == []
    assert [warning.partition(":")[0] for warning in made.warnings] == ["schema q1 is left out", "schema n is left out"]


def test_tables_that_come_later_are_empty_until_the_next_refresh(world: World, tmp_path: Path) -> None:
    refreshed(world)
    config = (world.home / "config" / "test.tpc").read_text()
    write(tmp_path / "new" / "a.jsonl", '{"at": "2024-03-30T00:00:00Z", "n": 1}\n')
    world.write_config(
        config
        + 'table "heads" { column "tp_timestamp" { source = "at" } }\n'
        + f'partition "heads" "p" {{ source "file" {{ paths = ["{tmp_path}/new"] }} }}\n'
    )
    assert all(report.clean for report in world.collect("heads"))
    assert answer(engine(world, QUARTER), f"{COUNT} q1.heads") == [(0,)]
    refreshed(world)
    assert answer(engine(world, QUARTER), f"{COUNT} q1.heads") == [(1,)]


def test_a_snapshot_has_no_versions(world: World) -> None:
    refreshed(world)
    for scope in (Scope(at=1), Scope(at=datetime(2030, 1, 1)), Scope(at_of=(("hits", 1),))):
        with pytest.raises(UsageError) as raised:
            answer(engine(world, QUARTER, scope=scope), f"{COUNT} q1.hits")
        assert raised.value.hint == "ask for tailrace.hits"
    assert answer(engine(world, QUARTER, scope=Scope(at=datetime(2030, 1, 1))), f"{COUNT} hits") == [(HITS,)]


def test_files_are_kept_once_and_only_as_long_as_somebody_may_read_them(world: World) -> None:
    refreshed(world)
    first = {path: path.stat().st_ino for path in files(world)}
    refreshed(world)
    assert {path: path.stat().st_ino for path in files(world)} == first
    reading = engine(world, QUARTER)
    (results,) = (result.rows for result in reading.run(ALL))
    emptied(world)
    refreshed(world)
    assert len(list(results)) == HITS
    assert files(world) == set(first), "who began before may still read them"
    refreshed(world)
    assert files(world) == set()
    assert sorted(path.name for path in place(world).iterdir())[-2:] == ["lock", "snapshot.json"]
    assert len(list(place(world).iterdir())) == 4, "two runs, the pointer and the lock"


def test_links_where_they_can_be_made_and_copies_elsewhere(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    refreshed(world)
    before = answer(engine(world, QUARTER), ALL)
    assert {path.stat().st_nlink for path in files(world)} == {2}
    shutil.rmtree(place(world))

    def refused(*_: Any) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refused)
    refreshed(world)
    assert {path.stat().st_nlink for path in files(world)} == {1}
    assert answer(engine(world, QUARTER), ALL) == before


def test_a_file_that_is_gone_leaves_the_snapshot_as_it_was(world: World) -> None:
    refreshed(world)
    before = answer(engine(world, QUARTER), ALL)
    kept = files(world).pop()
    lost = Path(world.lake.data_root.uri) / kept.relative_to(place(world))
    shutil.rmtree(place(world) / "tp_table=hits" / "tp_partition=web")
    (place(world) / "snapshot.json").rename(place(world) / "aside.json")
    lost.unlink()
    if "web" not in str(kept):
        kept.unlink()
    with pytest.raises(LakeError) as raised:
        refreshed(world)
    assert (raised.value.code, raised.value.where) == ("lake.vacuumed", str(lost))
    assert len(before) == HITS
    assert not (place(world) / "snapshot.json").exists(), "nothing was published"


@pytest.mark.parametrize("damage", ["cut", "emptied", "gone"])
@pytest.mark.parametrize("which", ["snapshot.json", "*.arrow"])
def test_a_damaged_snapshot_is_named_and_written_anew(world: World, which: str, damage: str) -> None:
    refreshed(world)
    (path,) = place(world).rglob(which)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: 20 if damage == "cut" else 0])
    with pytest.raises(QueryError) as raised:
        answer(engine(world, QUARTER), f"{COUNT} q1.hits")
    if (which, damage) != ("snapshot.json", "gone"):
        assert (raised.value.code, raised.value.where) == ("lake.damaged-snapshot", str(path))
    refreshed(world)
    assert answer(engine(world, QUARTER), f"{COUNT} q1.hits") == [(HITS,)]


def test_one_refresh_at_a_time(world: World) -> None:
    held = local_lock(place(world) / "lock", "schema q1", "other")
    with held, pytest.raises(LockedError, match="schema q1 is held by process"):
        refreshed(world)
    refreshed(world)


def test_names_of_schemas_are_directories_of_their_own(world: World) -> None:
    for name in ("a b", "ä", "Q1"):
        schema = Schema(name, ("hits",), materialized=True)
        assert refreshed(world, schema).rows == HITS
        assert answer(engine(world, schema), f'{COUNT} "{name}".hits') == [(HITS,)]
    assert sorted(path.name for path in place(world).parent.iterdir()) == ["a%20b", "q1", "ä"]


def test_what_is_told_of_a_snapshot(world: World) -> None:
    assert materialized.refreshed(world.lake, "q1") is None
    told: list[int] = []
    found = materialized.refresh(world.lake, "q1", [], "test", told.append)
    assert (found.tables, found.rows, found.size, told) == ((), 0, 0, [])
    found = refreshed(world)
    assert materialized.refreshed(world.lake, "q1") == found
    assert [(kept.table, kept.rows, kept.files) for kept in found.tables] == [("hits", HITS, 24)]
    assert found.size == sum(path.stat().st_size for path in files(world))
