"""Duplicates by key, on files alone: many row groups, odd values, bounds of time and of memory."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.lake import unique
from tailrace.lake.files import DataFile
from tailrace.lake.identity import artifact_prefix, tp_ids
from tailrace.lake.place import LocalPlace
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.unique import Key, vanished_days, without_duplicates

START = datetime(2026, 10, 1)
KEY = Key(("k",))


def file(root: Path, name: str, columns: dict[str, Any], seconds: Sequence[int], groups: int = 100_000) -> DataFile:
    """Rows of one artifact that is called like the file."""
    ids = tp_ids([artifact_prefix(name)], np.zeros(len(seconds), np.int32), np.arange(len(seconds)))
    times = pa.array([START + timedelta(seconds=s) for s in seconds], pa.timestamp("us"))
    path = f"day/{name}.parquet"
    (root / "day").mkdir(exist_ok=True)
    pq.write_table(pa.table({**columns, "tp_timestamp": times, "tp_id": ids}), root / path, row_group_size=groups)
    return DataFile(path, (root / path).stat().st_size, "p", "default", START.date(), len(seconds), "{}", "x")


def keys(root: Path, files: Sequence[DataFile]) -> list[str]:
    return sorted(key for f in files for key in pq.read_table(root / f.path)["k"].to_pylist())


def numbers(first: int, last: int) -> dict[str, Any]:
    return {"k": [f"{n:03}" for n in range(first, last)]}


def test_row_groups_and_files_that_vanish(tmp_path: Path) -> None:
    stored = file(tmp_path, "stored", numbers(0, 50), range(50))
    mixed = file(tmp_path, "mixed", numbers(25, 75), range(50), groups=7)
    known = file(tmp_path, "known", numbers(0, 40), range(40))
    fresh = file(tmp_path, "fresh", numbers(100, 110), range(10))
    found = without_duplicates(LocalPlace(str(tmp_path)), [mixed, known, fresh], [stored], KEY, "r-1")
    assert [(f.path, f.rows) for f in found.files] == [("day/r-1-unique-0.parquet", 25), ("day/fresh.parquet", 10)]
    assert keys(tmp_path, found.files) == numbers(50, 75)["k"] + numbers(100, 110)["k"]
    assert found.dropped == {artifact_prefix("mixed"): 25, artifact_prefix("known"): 40}
    written = pq.read_metadata(tmp_path / found.files[0].path)
    assert [written.row_group(n).num_rows for n in range(written.num_row_groups)] == [3, 7, 7, 7, 1]


def test_nothing_is_written_where_nothing_comes_twice(tmp_path: Path) -> None:
    files = [file(tmp_path, f"f{n}", numbers(10 * n, 10 * n + 10), range(10)) for n in range(3)]
    found = without_duplicates(LocalPlace(str(tmp_path)), files[:2], files[2:], KEY, "r-1")
    assert (found.files, found.dropped) == (files[:2], {})
    assert len(list((tmp_path / "day").iterdir())) == 3


def test_a_key_that_is_the_same_in_all_rows(tmp_path: Path) -> None:
    """Neither time nor memory explode: one row a window stays."""
    stored = file(tmp_path, "stored", {"k": ["x"] * 50_000}, range(50_000))
    fresh = file(tmp_path, "fresh", {"k": ["x"] * 100_000}, range(0, 200_000, 2))
    key = Key(("k",), timedelta(seconds=10_000))
    found = without_duplicates(LocalPlace(str(tmp_path)), [fresh], [stored], key, "r-1")
    times = pq.read_table(tmp_path / found.files[0].path)["tp_timestamp"].to_pylist()
    # After the last one stored and the window after it, every ten thousand seconds and a bit.
    first = 60_000
    assert [(t - START) // timedelta(seconds=1) for t in times] == list(range(first, 200_000, 10_002))


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 1, None, None]),
        pa.array(["", "ü\0", "", None, None]),
        pa.array([b"a", b"b", b"a", None, None]),
        pa.array([True, False, True, None, None]),
        pa.array([["a"], ["b"], ["a"], None, None]),
        pa.array([{"a": 1}, {"a": None}, {"a": 1}, None, None]),
        pa.array(["a", "b", "a", None, None]).dictionary_encode(),
    ],
)
def test_keys_of_all_types(tmp_path: Path, values: pa.Array) -> None:
    fresh = file(tmp_path, "fresh", {"k": values}, range(5))
    found = without_duplicates(LocalPlace(str(tmp_path)), [fresh], [], KEY, "r-1")
    assert [f.rows for f in found.files] == [4]
    again = without_duplicates(LocalPlace(str(tmp_path)), [fresh], found.files, KEY, "r-2")
    assert [f.rows for f in again.files] == [2], "those without a key"


def test_names_and_files_without_them(tmp_path: Path) -> None:
    name = 'it\'s a "key"'
    here = file(tmp_path, "here", {name: ["a", "a"]}, range(2))
    elsewhere = file(tmp_path, "elsewhere", {"other": ["a", "a"]}, range(2))
    found = without_duplicates(LocalPlace(str(tmp_path)), [elsewhere, here], [], Key((name,)), "r-1")
    assert sorted((Path(f.path).name, f.rows) for f in found.files) == [
        ("elsewhere.parquet", 2),
        ("r-1-unique-0.parquet", 1),
    ]


def test_more_keys_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unique, "MEMORY", "40MB")
    ids = [str(uuid.UUID(int=n * 2**64 + n)) for n in range(150_000)]
    one, two = (file(tmp_path, name, {"k": ids}, range(len(ids))) for name in ("one", "two"))
    found = without_duplicates(LocalPlace(str(tmp_path)), [one, two], [], KEY, "r-1")
    assert sum(f.rows for f in found.files) == len(ids)
    assert sum(found.dropped.values()) == len(ids)


def test_days_of_what_is_gone_for_good(tmp_path: Path) -> None:
    day = 86_400
    gone = file(tmp_path, "gone", numbers(0, 3), [0, day, 2 * day])
    kept = file(tmp_path, "kept", {"k": ["001", None, "000"]}, [day + 9, 0, 5 * day])
    active = ActiveFile(gone.path, gone.size, "p", "default", gone.day, gone.rows)
    place, first = LocalPlace(str(tmp_path)), START.date()
    dates = [first + timedelta(days=n) for n in (0, 2)]
    assert sorted(vanished_days(place, [active], [kept], KEY)) == dates
    assert vanished_days(place, [active], [gone], KEY) == []
    assert sorted(vanished_days(place, [active], [], KEY)) == [dates[0], first + timedelta(days=1), dates[1]]


def test_the_last_day_of_all_has_a_neighbour_on_one_side() -> None:
    assert Key(("account",)).reach([date.max]) == {date.max - timedelta(days=1), date.max}
    assert Key(("account",)).reach([date.min]) == {date.min, date.min + timedelta(days=1)}
