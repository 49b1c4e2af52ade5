"""Rows of a deleted range stay away, whatever is read again, until exactly they are overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lakecheck import check
from world import World

from tailrace.core import TimeRange
from tailrace.lake import segments
from tailrace.lake.deleted import deleted
from tailrace.lake.intents import read_ledger
from tailrace.lake.undo import erase, history, restore
from tailrace.pipeline.report import PartitionReport

START = datetime(2024, 3, 1)
HOURS = 48
NAMES = ("even", "odd")
CONFIG = """
table "t" {{
  column "ts" {{ type = "timestamp" }}
  column "mark" {{ transform = "{mark}" }}
}}
partition "t" "p" {{
{options}
{sources}
}}
"""
SOURCE = 'source "file" "{name}" {{ paths = ["{logs}/{name}.jsonl"] }}\n'


def hour(number: float) -> datetime:
    return START + timedelta(hours=number)


def hours(first: float | None, last: float | None) -> TimeRange:
    return TimeRange(None if first is None else hour(first), None if last is None else hour(last))


def configure(world: World, mark: str = "'a'", options: str = "") -> None:
    sources = "".join(SOURCE.format(name=name, logs=world.home.parent / "logs") for name in NAMES)
    world.write_config(CONFIG.format(mark=mark, options=options, sources=sources))


def write(world: World, name: str, numbers: Iterable[int], *, bad: int = 0) -> None:
    """As if it had been edited: another time of change."""
    path = world.home.parent / "logs" / f"{name}.jsonl"
    before = path.stat().st_mtime_ns if path.exists() else 10**18
    lines = [f'{{"ts": "{hour(n).isoformat()}Z", "n": {n}}}\n' for n in numbers]
    path.write_text("x\n" * bad + "".join(lines))
    os.utime(path, ns=(before + 10**9, before + 10**9))


def fill(root: Path, *, bad: int = 0) -> World:
    """Two sources of a file each, whose rows interleave over two days."""
    (root / "logs").mkdir()
    world = World(root / "home")
    configure(world)
    for parity, name in enumerate(NAMES):
        write(world, name, range(parity, HOURS, 2), bad=bad)
    (report,) = world.collect()
    assert report.counts.stored == HOURS
    return world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return fill(tmp_path)


def held(world: World) -> set[int]:
    rows = [int(n) for (n,) in world.query("select n from t")]
    assert len(rows) == len(set(rows))
    check(world.home, "t", "p")
    return set(rows)


def delete(world: World, first: float | None, last: float | None) -> None:
    erase(world.lake, "t", "p", hours(first, last))


def overwrite(world: World, first: float, last: float, source: str | None = None) -> PartitionReport:
    (report,) = world.collect(window=hours(first, last), overwrite=True, source=source)
    assert report.clean, report.troubles
    return report


def collect(world: World) -> PartitionReport:
    (report,) = world.collect()
    assert report.clean, report.troubles
    return report


def read_again(world: World, *, upto: int = HOURS) -> PartitionReport:
    """Both files were edited: the first line is another one, so that nothing is read on."""
    for parity, name in enumerate(NAMES):
        write(world, name, range(parity, upto, 2), bad=1)
    return collect(world)


def ranges(world: World) -> tuple[TimeRange, ...]:
    return deleted(read_ledger(world.lake, "t", "p").notes)


def test_a_changed_file_does_not_bring_them_back(world: World) -> None:
    delete(world, 10, 30)
    left = set(range(HOURS)) - set(range(10, 30))
    report = read_again(world, upto=HOURS + 4)
    assert (report.counts.stored, report.counts.deleted, report.counts.out_of_range) == (len(left) + 4, 20, 0)
    assert report.counts.received == report.counts.stored + report.counts.deleted + report.counts.quarantined
    assert held(world) == left | set(range(HOURS, HOURS + 4))


def test_nor_does_another_recipe(tmp_path: Path) -> None:
    world = fill(tmp_path, bad=1)
    delete(world, 10, 30)
    configure(world, mark="'b'")
    report = collect(world)
    assert (report.done, report.counts.deleted, report.counts.quarantined) == (2, 20, 2)
    assert held(world) == set(range(HOURS)) - set(range(10, 30))
    assert world.query("select distinct mark from t") == [("b",)]


def test_nor_do_new_and_growing_files(world: World) -> None:
    delete(world, 10, None)
    assert ranges(world) == (hours(10, HOURS - 1 + 1e-6 / 3600),), "up to the last row that there was"
    with (world.home.parent / "logs" / "even.jsonl").open("a") as log:
        log.writelines(f'{{"ts": "{hour(n).isoformat()}Z", "n": {n}}}\n' for n in (46.5, 47.5))
    report = collect(world)
    assert (report.counts.stored, report.counts.deleted) == (1, 1)
    assert world.query(f"select ts from t where ts >= '{hour(10)}'") == [(hour(47.5),)]


def test_exactly_what_is_overwritten_comes_back(world: World) -> None:
    delete(world, 10, 30)
    assert overwrite(world, 5, 15).counts.stored == 10
    assert ranges(world) == (hours(15, 30),)
    left = set(range(HOURS)) - set(range(15, 30))
    assert held(world) == left
    assert read_again(world).counts.deleted == 15
    assert held(world) == left
    overwrite(world, 20, 21)
    assert ranges(world) == (hours(15, 20), hours(21, 30))
    assert held(world) == left | {20}
    # A changed file is read whole by an overwriting run; what it does not overwrite stays away.
    write(world, "even", range(0, HOURS, 2), bad=2)
    report = overwrite(world, 28, 40)
    assert report.counts.deleted == 5
    assert held(world) == left | {20, 28, 29}
    assert ranges(world) == (hours(15, 20), hours(21, 28))


def test_one_source_is_overwritten_alone(world: World) -> None:
    delete(world, 10, 30)
    assert overwrite(world, 0, 20, "odd").counts.stored == 10
    left = set(range(HOURS)) - set(range(20, 30)) - set(range(10, 20, 2))
    assert held(world) == left
    read_again(world)
    assert held(world) == left
    delete(world, 18, 20)
    read_again(world)
    assert held(world) == left - {19}
    overwrite(world, 0, HOURS)
    assert held(world) == set(range(HOURS))
    assert ranges(world) == ()


def test_overwriting_that_fails_lifts_nothing(world: World) -> None:
    delete(world, 10, 30)
    (world.home.parent / "logs" / "odd.jsonl").write_bytes(b"\x1f\x8b\x08\x00" + b"junk" * 10)
    (report,) = world.collect(window=hours(10, 30), overwrite=True)
    assert report.troubles[-1].code == "collect.not-overwritten"
    assert ranges(world) == (hours(10, 30),)
    assert held(world) == set(range(HOURS)) - set(range(10, 30))


def test_restoring_and_deleting_all_forget_it(world: World) -> None:
    version = erase(world.lake, "t", "p", hours(10, 30))
    deletion = history(world.lake, "t", "p")[0].version
    restore(world.lake, "t", "p", version)
    assert (ranges(world), read_again(world).counts.deleted) == ((), 0)
    assert held(world) == set(range(HOURS))
    restore(world.lake, "t", "p", deletion)
    assert read_again(world).counts.deleted == 20
    assert held(world) == set(range(HOURS)) - set(range(10, 30))
    delete(world, None, None)
    assert ranges(world) == ()
    assert collect(world).counts.deleted == 0
    assert held(world) == set(range(HOURS))


def test_a_row_of_a_key_does_not_bring_a_deleted_one_back(tmp_path: Path) -> None:
    """Of two files with the same events one was stored; it changes, and the other is read again."""
    (tmp_path / "logs").mkdir()
    world = World(tmp_path / "home")
    configure(world, options='dedupe = ["n"]')
    for name in NAMES:
        write(world, name, range(HOURS))
    assert collect(world).counts.duplicates == HOURS
    delete(world, 10, 30)
    ((kept,),) = world.query("select distinct tp_source_location from t")
    write(world, Path(kept).stem, [*range(30), *range(40, HOURS)])
    assert [a.code for a in collect(world).advice] == ["data.duplicates-return", "data.shrunk-artifact"]
    report = collect(world)
    assert (report.counts.deleted, report.counts.duplicates, report.counts.stored) == (20, 18, 10)
    rows = [int(n) for (n,) in world.query("select n from t")]
    assert sorted(rows) == [n for n in range(HOURS) if not 10 <= n < 30]


@pytest.mark.parametrize("delete_first", [True, False])
def test_overwriting_finds_them_in_artifacts_of_other_days(tmp_path: Path, delete_first: bool) -> None:
    """The file of a day ends in the next one; its name is all that tells where to look."""
    (tmp_path / "logs").mkdir()
    world = World(tmp_path / "home")
    layout = "file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.jsonl`"
    source = f'source "file" {{\n paths = ["{tmp_path}/logs"]\n {layout}\n}}'
    world.write_config(CONFIG.format(mark="'a'", options="", sources=source))
    write(world, "2024-03-02", range(26, 30))
    world.collect(window=TimeRange(START))
    if delete_first:
        delete(world, 24, 28)
    write(world, "2024-03-01", range(20, 26))
    world.collect(window=TimeRange(START))
    if not delete_first:
        delete(world, 24, 28)
    assert held(world) == {20, 21, 22, 23, 28, 29}
    overwrite(world, 27, 28)
    assert held(world) == {20, 21, 22, 23, 27, 28, 29}
    overwrite(world, 24, 26)
    assert held(world) == set(range(20, 30)) - {26}


steps = st.tuples(st.sampled_from(["delete", "overwrite", "read"]), st.integers(0, HOURS - 1), st.integers(1, 30))


@given(st.lists(steps, min_size=1, max_size=6))
@settings(max_examples=8)
def test_any_changes_one_after_another(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, int, int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "FOLD_EVERY", 2)
        world = fill(tmp_path_factory.mktemp("changes"))
        left = set(range(HOURS))
        for what, first, length in made:
            some = set(range(first, first + length)) & set(range(HOURS))
            if what == "delete":
                delete(world, first, first + length)
                left -= some
            elif what == "overwrite":
                overwrite(world, first, first + length)
                left |= some
            else:
                read_again(world)
            assert held(world) == left
        read_again(world)
        assert held(world) == left
