"""Rows that are taken away, and partitions that are brought back."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lakecheck import check, stored
from world import World

from tailrace.core import LakeError, TimeRange, UsageError
from tailrace.lake.intents import read_ledger
from tailrace.lake.table import open_table
from tailrace.lake.undo import erase, history, restore

START = datetime(2024, 3, 1)
HOURS = 96
CONFIG = 'table "t" {{\n column "ts" {{ type = "timestamp" }}\n}}\n{partitions}'
PARTITION = 'partition "t" "{name}" {{ source "file" {{ paths = ["{logs}/*.jsonl"] }} }}\n'


def hour(number: float) -> datetime:
    return START + timedelta(hours=number)


def fill(root: Path) -> World:
    """Two files whose rows interleave over four days, and two partitions that hold both."""
    logs = root / "logs"
    logs.mkdir()
    for parity, name in enumerate(("even", "odd")):
        lines = [f'{{"ts": "{hour(n).isoformat()}Z", "n": {n}}}\n' for n in range(parity, HOURS, 2)]
        (logs / f"{name}.jsonl").write_text("".join(lines))
    world = World(root / "home")
    partitions = "".join(PARTITION.format(name=name, logs=logs) for name in ("p", "other"))
    world.write_config(CONFIG.format(partitions=partitions))
    assert all(report.counts.stored == HOURS for report in world.collect())
    return world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return fill(tmp_path)


def erase_range(world: World, first: float | None, last: float | None) -> None:
    window = TimeRange(None if first is None else hour(first), None if last is None else hour(last))
    before = open_table(world.lake.table_root("t")).version()
    assert erase(world.lake, "t", "p", window) == before


def hours(world: World) -> set[int]:
    rows = world.query("select n, tp_partition from t")
    assert len([n for n, p in rows if p == "other"]) == HOURS
    mine = [int(n) for n, p in rows if p == "p"]
    assert len(mine) == len(set(mine))
    return set(mine)


def collected_again(world: World) -> int:
    (report,) = world.collect("t.p")
    assert report.clean
    return report.counts.stored


@pytest.mark.parametrize(
    ("first", "last"), [(None, 24), (24, 48), (10, 30.5), (70, None), (95, 96), (200, None), (None, 1)]
)
def test_a_range_goes_and_stays_away(world: World, first: float | None, last: float | None) -> None:
    erase_range(world, first, last)
    low, high = first or 0, HOURS if last is None else last
    left = {n for n in range(HOURS) if not low <= n < high}
    assert hours(world) == left
    check(world.home, "t", "p")
    assert collected_again(world) == 0
    assert hours(world) == left


@given(st.lists(st.tuples(st.integers(0, HOURS), st.integers(1, 60)), min_size=1, max_size=4))
@settings(max_examples=8)
def test_ranges_one_after_another(tmp_path_factory: pytest.TempPathFactory, cuts: list[tuple[int, int]]) -> None:
    world = fill(tmp_path_factory.mktemp("cuts"))
    left = set(range(HOURS))
    for first, length in cuts:
        erase_range(world, first, first + length)
        left -= set(range(first, first + length))
        assert hours(world) == left
        check(world.home, "t", "p")
    ledger = read_ledger(world.lake, "t", "p").entries
    assert sum(ledger.column("rows").to_pylist()) == len(left)


def test_without_a_range_all_is_forgotten(world: World) -> None:
    erase_range(world, None, None)
    assert hours(world) == set()
    assert read_ledger(world.lake, "t", "p").entries.num_rows == 0
    assert collected_again(world) == HOURS
    check(world.home, "t", "p")


def versions(world: World) -> list[tuple[int, str]]:
    return [(commit.version, commit.kind) for commit in history(world.lake, "t", "p")]


@pytest.mark.parametrize("cut", [(None, None), (10, 30)])
def test_a_deletion_is_undone(world: World, cut: tuple[float | None, float | None]) -> None:
    before = stored(world.home)
    ((version, kind),) = versions(world)
    erase_range(world, *cut)
    assert stored(world.home) != before
    assert restore(world.lake, "t", "p", version) == version
    assert stored(world.home) == before
    check(world.home, "t", "p")
    assert collected_again(world) == 0
    assert [k for _, k in versions(world)] == ["restore", "reset" if cut == (None, None) else "delete", kind]


def test_history_tells_the_rows_that_came_and_went(world: World) -> None:
    """Those of files that were only written anew did neither."""

    def told() -> list[tuple[str, int | None, int | None]]:
        return [(commit.kind, commit.added, commit.removed) for commit in history(world.lake, "t", "p")]

    assert told() == [("collect", HOURS, 0)]
    version = history(world.lake, "t", "p")[0].version
    erase_range(world, 10, 30)
    assert told()[0] == ("delete", 0, 20)
    (report,) = world.collect("t.p", window=TimeRange(hour(20), hour(40)), overwrite=True)
    assert report.clean
    assert told()[0] == ("collect", 20, 10)
    restore(world.lake, "t", "p", version)
    assert told()[0] == ("restore", 10, 0)
    erase_range(world, None, None)
    assert told()[0] == ("reset", 0, HOURS)
    odd = world.home.parent / "logs" / "odd.jsonl"
    odd.write_text("".join(odd.read_text().splitlines(keepends=True)[:-1]))
    collected_again(world)
    assert told()[0] == ("collect", HOURS - 1, 0)
    odd.write_text("x\n" + odd.read_text())
    collected_again(world)
    assert told()[0] == ("collect", HOURS // 2 - 1, HOURS // 2 - 1)


def test_a_restoration_is_undone_too(world: World) -> None:
    erase_range(world, 0, 48)
    erased = stored(world.home)
    (deleted, _), (collected, _) = versions(world)
    restore(world.lake, "t", "p", collected)
    restore(world.lake, "t", "p", deleted)
    assert stored(world.home) == erased
    check(world.home, "t", "p")
    erase_range(world, None, None)
    restore(world.lake, "t", "p", history(world.lake, "t", "p")[1].version)
    assert stored(world.home) == erased


def test_back_to_a_moment(world: World) -> None:
    before = stored(world.home)
    (commit,) = history(world.lake, "t", "p")
    erase_range(world, 5, 6)
    restore(world.lake, "t", "p", commit.at)
    assert stored(world.home) == before
    with pytest.raises(UsageError, match="no version as old as"):
        restore(world.lake, "t", "p", datetime(2000, 1, 1))
    with pytest.raises(UsageError, match="has no version 99"):
        restore(world.lake, "t", "p", 99)


def test_what_was_deleted_for_good_cannot_come_back(world: World) -> None:
    ((version, _),) = versions(world)
    erase_range(world, None, None)
    for path in (world.lake.table_root("t").path / "tp_partition=p").rglob("*.parquet"):
        path.unlink()
    with pytest.raises(LakeError, match="deleted for good"):
        restore(world.lake, "t", "p", version)
    assert hours(world) == set()
