"""Which files are merged: a rule that comes to an end, whatever sizes files have."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import date, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core import TimeRange
from tailrace.lake.compaction import (
    EVERYTHING,
    LARGEST_MERGE,
    PAYING,
    SMALL,
    TARGET,
    CompactionPlan,
    Merge,
    Rule,
    columns_of,
    plan_compaction,
)
from tailrace.lake.place import LocalPlace
from tailrace.lake.snapshot import Snapshot

DAY = date(2024, 5, 1)
File = tuple[str, str, int, int]
"Partition, index, number of the day, bytes."
MB = 1 << 20


def table(files: list[File]) -> Snapshot:
    rows = {
        "path": [f"f{n}" for n in range(len(files))],
        "size": [f[3] for f in files],
        "modified": list(range(len(files))),
        "rows": [f[3] // 100 for f in files],
        "null_count.absent": [f[3] // 100 for f in files],
        "null_count.often": [f[3] // 100 - (n == 0) for n, f in enumerate(files)],
        "null_count.unknown": [None] * len(files),
        "min.tp_timestamp": [datetime(2024, 5, 1) - timedelta(seconds=n) for n in range(len(files))],
        "tp_partition": [f[0] for f in files],
        "tp_index": [f[1] for f in files],
        "tp_date": [DAY + timedelta(days=f[2]) for f in files],
    }
    types = {"null_count.unknown": pa.int64(), "tp_date": pa.date32(), "min.tp_timestamp": pa.timestamp("us")}
    columns = {name: pa.array(values, types.get(name)) for name, values in rows.items()}
    schema = pa.schema([(name, pa.string()) for name in ("absent", "often", "unknown", "unseen")])
    return Snapshot("t", LocalPlace("/nowhere"), 1, schema, pa.table(columns))


def merged(files: list[File], plan: CompactionPlan, growth: float) -> list[File]:
    """As the writer does it: files of the target's size or more, and at most one small one at the end of a merge."""
    gone = Counter(int(file.path[1:]) for merge in plan.merges for file in merge.files)
    assert set(gone.values()) <= {1}, "a file in two merges"
    left = [file for number, file in enumerate(files) if number not in gone]
    for merge in plan.merges:
        size = round(merge.bytes * growth)
        place = (merge.partition, merge.index, (merge.day - DAY).days)
        while size >= TARGET + SMALL * 1.5:
            left.append((*place, TARGET))
            size -= TARGET
        left.append((*place, size))
    return left


sizes = st.one_of(st.integers(1, 2 * MB), st.integers(1, SMALL + 2), st.integers(SMALL - 2, 300 * MB))
lakes = st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from(["default", "b"]), st.integers(0, 2), sizes))


@given(lakes, st.floats(0.7, 1.4), st.sampled_from([EVERYTHING, PAYING]))
def test_a_second_time_there_is_nothing_to_do(files: list[File], growth: float, rule: Rule) -> None:
    plan = plan_compaction(table(files), rule=rule)
    after = merged(files, plan, growth)
    assert len(after) <= len(files) - len(plan.merges), "a merge that leaves as many files"
    assert not plan_compaction(table(after), rule=rule).merges


@given(lakes)
def test_what_is_merged_lies_in_one_place_and_is_small(files: list[File]) -> None:
    groups: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for partition, index, day, size in files:
        if size < SMALL:
            groups[partition, index, day].append(size)
    found: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for merge in plan_compaction(table(files)).merges:
        assert {(f.partition, f.index, f.day) for f in merge.files} == {(merge.partition, merge.index, merge.day)}
        found[merge.partition, merge.index, (merge.day - DAY).days] += [f.size for f in merge.files]
        assert merge.rows == sum(f.size // 100 for f in merge.files)
    assert {place: sorted(sizes) for place, sizes in found.items()} == {
        place: sorted(sizes) for place, sizes in groups.items() if len(sizes) > 1
    }


@given(lakes)
def test_what_pays_is_part_of_what_can_be_done(files: list[File]) -> None:
    paying = set(plan_compaction(table(files), rule=PAYING).merges)
    assert paying <= set(plan_compaction(table(files)).merges)


def one(merges: tuple[Merge, ...]) -> Merge:
    (merge,) = merges
    return merge


def test_files_stand_in_order_of_time_and_the_newest_says_when() -> None:
    merge = one(plan_compaction(table([("p", "default", 0, MB)] * 3)).merges)
    assert [file.path for file in merge.files] == ["f2", "f1", "f0"]
    assert merge.modified == 2


@pytest.mark.parametrize("sizes", [[], [MB], [SMALL, SMALL], [MB, SMALL], [400 * MB] * 5])
def test_nothing_to_merge(sizes: list[int]) -> None:
    assert not plan_compaction(table([("p", "default", 0, size) for size in sizes])).merges


def test_partitions_and_days_that_are_asked_for() -> None:
    files = [(p, "default", day, MB) for p in "pq" for day in range(3) for _ in range(2)]
    plan = plan_compaction(table(files), ["q"], TimeRange(datetime(2024, 5, 2, 12), datetime(2024, 5, 3)))
    assert [(merge.partition, merge.day) for merge in plan.merges] == [("q", date(2024, 5, 2))]
    newest_first = [merge.day.day for merge in plan_compaction(table(files), ["p"]).merges]
    assert newest_first == [3, 2, 1]


def test_a_huge_day_is_merged_in_parts_of_its_time() -> None:
    plan = plan_compaction(table([("p", "default", 0, 40 * MB)] * 60))
    assert len(plan.merges) == -(-60 * 40 * MB // LARGEST_MERGE)
    assert all(merge.bytes >= LARGEST_MERGE // 2 for merge in plan.merges)
    paths = [file.path for merge in plan.merges for file in merge.files]
    assert paths == [f"f{n}" for n in reversed(range(60))]


@pytest.mark.parametrize(
    ("sizes", "pays"),
    [
        ([MB] * 7, False),
        ([MB] * 8, True),
        ([60 * MB] + [MB] * 10, False),
        ([60 * MB] + [MB] * 15, True),
        ([3 * MB] + [1000] * 7, True),
    ],
)
def test_what_pays(sizes: list[int], pays: bool) -> None:
    assert PAYING.takes(sizes) is pays


def test_columns_that_are_null_in_all_files_need_not_be_read() -> None:
    files = [("p", "default", 0, MB), ("p", "default", 0, MB)]
    assert columns_of(table(files), "p").names == ["often", "unknown", "unseen"]


def test_a_file_whose_rows_nobody_counted_is_left_alone() -> None:
    found = table([("p", "default", 0, MB)] * 3)
    rows = pa.array([None, 5, 5], pa.int64())
    files = found.files.set_column(found.files.column_names.index("rows"), "rows", rows)
    assert [f.path for f in one(plan_compaction(replace(found, files=files)).merges).files] == ["f2", "f1"]
