"""Tables as they were: at a version, at a moment, each at its own."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from time import sleep

import pytest
from logfiles import write
from smalllake import answer, engine, files_opened
from world import World

from tailrace.core import QueryError, TimeRange, UsageError
from tailrace.lake.lock import partition_lock
from tailrace.lake.snapshot import snapshot
from tailrace.lake.undo import erase, history, restore
from tailrace.lake.versions import Moment
from tailrace.query.engine import Engine
from tailrace.query.filters import Schema, Scope

TABLES = ("first", "second")
COUNT = "select count(*) from"


def line(day: int, number: int) -> str:
    return f'{{"at": "2024-05-{day:02d}T12:00:00Z", "n": {number}}}\n'


@pytest.fixture
def moving(world: World, tmp_path: Path) -> World:
    """Two tables of three days each, the second of which comes later; then days are taken from the first."""
    config = [f'table "{t}" {{ column "tp_timestamp" {{ source = "at" }} }}\n' for t in TABLES]
    config += [f'partition "{t}" "p" {{ source "file" {{ paths = ["{tmp_path}/{t}"] }} }}\n' for t in TABLES]
    world.write_config("".join(config))
    for table in TABLES:
        write(tmp_path / table / "a.jsonl", "".join(line(day, day) for day in (1, 2, 3)))
        assert all(report.clean for report in world.collect(table))
        sleep(0.01)
    for day in (1, 2):
        cut(world, "first", day)
    return world


def cut(world: World, table: str, day: int) -> None:
    with partition_lock(world.lake, table, "p", "test"):
        erase(world.lake, table, "p", TimeRange(datetime(2024, 5, day), datetime(2024, 5, day + 1)))
    sleep(0.01)


def versions(world: World, table: str = "first") -> list[int]:
    """Oldest first."""
    return [commit.version for commit in reversed(history(world.lake, table, "p"))]


def at(world: World, moment: Moment | None = None, **tables: Moment) -> Engine:
    return engine(world, Schema("s"), scope=Scope(at=moment, at_of=tuple(tables.items())))


def test_a_version_is_what_the_table_was(moving: World) -> None:
    counts = [answer(at(moving, version), f"{COUNT} first") for version in versions(moving)]
    assert counts == [[(3,)], [(2,)], [(1,)]]
    assert answer(at(moving, 0), f"{COUNT} first") == [(0,)]
    assert answer(at(moving, versions(moving)[0]), f"{COUNT} s.first") == [(3,)]


def test_a_moment_is_that_of_all_tables(moving: World) -> None:
    collected, deleted, _ = reversed(history(moving.lake, "first", "p"))
    both = "select (select count(*) from first), (select count(*) from second)"
    assert answer(at(moving, deleted.at), both) == [(2, 3)]
    assert answer(at(moving, collected.at), both) == [(3, 0)]
    assert answer(at(moving, datetime(2000, 1, 1)), both) == [(0, 0)]
    assert answer(at(moving, deleted.at + timedelta(days=400)), both) == [(1, 3)]


def test_a_table_that_was_not_there_has_the_columns_of_today(moving: World) -> None:
    made = at(moving, datetime(2000, 1, 1))
    assert answer(made, "select max(n) from first") == [(None,)]
    assert answer(made, "describe second") == answer(at(moving), "describe second")


def test_columns_are_those_of_then(moving: World, tmp_path: Path) -> None:
    write(tmp_path / "second" / "b.jsonl", line(4, 4).replace("}", ', "later": 1}'))
    assert all(report.clean for report in moving.collect("second"))
    before, after = versions(moving, "second")
    assert "later" in [row[0] for row in answer(at(moving, after), "describe second")]
    assert "later" not in [row[0] for row in answer(at(moving, before), "describe second")]


def test_a_version_is_one_table_s(moving: World) -> None:
    version = versions(moving)[0]
    made = at(moving, version)
    with pytest.raises(UsageError) as raised:
        answer(made, f"{COUNT} first join second using (n)")
    assert raised.value.hint == f"write --at first={version}, once for each table, or --at with a time"
    assert answer(made, f"{COUNT} first") == [(3,)]
    with pytest.raises(UsageError, match="first, second"):
        answer(made, f"{COUNT} second")
    assert answer(made, f"{COUNT} first a join s.first b using (n)") == [(3,)]


def test_a_word_that_is_no_table_does_not_count(moving: World) -> None:
    made = at(moving, versions(moving)[0])
    assert answer(made, "select second from (select n as second from first) order by all") == [(1,), (2,), (3,)]
    with pytest.raises(UsageError):
        answer(at(moving, 1), "create view v as select * from first, second")


def test_tables_at_versions_of_their_own(moving: World) -> None:
    made = at(moving, first=versions(moving)[1], second=0)
    assert answer(made, "select (select count(*) from first), (select count(*) from second)") == [(2, 0)]
    made = at(moving, history(moving.lake, "second", "p")[0].at, first=versions(moving)[2])
    assert answer(made, "select (select count(*) from first), (select count(*) from second)") == [(1, 3)]


@pytest.mark.parametrize("version", [99, 10**12, 10**30])
def test_a_version_that_never_was(moving: World, version: int) -> None:
    with pytest.raises(UsageError, match=f"table first has no version {version}"):
        answer(at(moving, version), f"{COUNT} first")


def test_a_log_that_has_been_cut_off_says_so(moving: World) -> None:
    from deltalake import DeltaTable

    root = moving.lake.table_root("first")
    DeltaTable(root.uri).create_checkpoint()
    Path(root.uri, "_delta_log", f"{0:020d}.json").unlink()
    with pytest.raises(UsageError, match="no version as old as"):
        answer(at(moving, datetime(2000, 1, 1)), f"{COUNT} first")
    with pytest.raises(UsageError, match="has no version 0 any more") as refused:
        answer(at(moving, 0), f"{COUNT} first")
    assert "the last one" not in str(refused.value.hint)


def test_a_file_that_is_gone_for_good_is_named(moving: World) -> None:
    root = moving.lake.table_root("first")
    active = set(snapshot(moving.lake, "first").files["path"].to_pylist())
    gone = [
        path
        for path in Path(root.uri).glob("tp_partition=*/**/*.parquet")
        if str(path.relative_to(root.uri)) not in active
    ]
    assert len(gone) == 2
    for path in gone:
        path.unlink()
    with pytest.raises(QueryError) as raised:
        answer(at(moving, versions(moving)[0]), f"{COUNT} first")
    assert raised.value.code == "lake.vacuumed"
    assert raised.value.where in map(str, gone)
    assert answer(at(moving, versions(moving)[2]), f"{COUNT} first") == [(1,)]
    assert answer(at(moving), f"{COUNT} first") == [(1,)]


def test_filters_and_times_go_together(moving: World) -> None:
    version = versions(moving)[0]
    window = TimeRange(datetime(2024, 5, 2), datetime(2024, 5, 3))
    made = engine(moving, scope=Scope(at=version, window=window))
    assert answer(made, "select n from first") == [(2,)]
    assert len(files_opened(made, "select * from first")) == 1


def test_what_was_seen_is_what_restoring_brings_back(moving: World) -> None:
    for version in versions(moving):
        seen = answer(at(moving, version), "select * from first order by n")
        with partition_lock(moving.lake, "first", "p", "test"):
            restore(moving.lake, "first", "p", version)
        assert answer(at(moving), "select * from first order by n") == seen


def test_the_quarantine_has_no_versions(moving: World) -> None:
    made = at(moving, datetime(2000, 1, 1))
    assert answer(made, f"{COUNT} tp_quarantine") == [(0,)]
    assert made.warnings == ["tp_quarantine has no versions: it is shown as it is now"]
