"""Which files hold rows with a wrong `tp_index`: as far as the log knows, before anything is opened."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core import TimeRange
from tailrace.lake.compaction import SMALL
from tailrace.lake.files import STATS_TEXT, round_up
from tailrace.lake.ledger import COMPACT, REINDEX
from tailrace.lake.paths import stored_value
from tailrace.lake.place import LocalPlace
from tailrace.lake.reindexing import plan_reindex, standing
from tailrace.lake.snapshot import Snapshot

DAY = date(2024, 5, 1)
LONG = "x" * 40


@pytest.mark.parametrize(
    ("index", "least", "greatest", "nulls", "told"),
    [
        ("a", "a", "a", 0, True),
        ("b", "a", "a", 0, False),
        ("a", "a", "b", 0, False),
        ("a", "a", "a", 1, False),
        ("default", None, None, 10, True),
        ("a", None, None, 10, False),
        ("default", "", "", 3, True),
        ("default", "", "default", 0, None),
        ("7", 7, 7, 0, True),
        ("7", 7, 8, 0, False),
        ("true", True, True, 0, None),
        ("1.5", 1.5, None, 0, None),
        (LONG, LONG[:32], LONG[:31] + "y", 0, None),
        ("a", "a", "a", None, None),
        ("2024-05-01", date(2024, 5, 1), date(2024, 5, 1), 0, None),
    ],
)
def test_what_statistics_tell(index: str, least: Any, greatest: Any, nulls: int | None, told: bool | None) -> None:
    assert standing(index, 10, least, greatest, nulls) is told


values = st.none() | st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=40)


@given(st.lists(values, min_size=1, max_size=5), values)
def test_statistics_never_tell_what_is_not_so(rows: list[str | None], other: str | None) -> None:
    """As they are written: cut to 32 characters, the greatest rounded up."""
    texts = [text for text in rows if text is not None]
    least = min(texts)[:STATS_TEXT] if texts else None
    greatest = round_up(max(texts)) if texts else None
    indexes = {stored_value(text) for text in rows}
    for index in {*indexes, stored_value(other)}:
        told = standing(index, len(rows), least, greatest, rows.count(None))
        assert told is None or told is (indexes == {index})


def table(files: list[tuple[str, str, int, str | None, int]]) -> Snapshot:
    """Partition, index, number of the day, value of the column in all rows, bytes."""
    columns = {
        "path": [f"f{n}" for n in range(len(files))],
        "size": [f[4] for f in files],
        "modified": list(range(len(files))),
        "rows": [10] * len(files),
        "min.account": [f[3] for f in files],
        "max.account": [f[3] for f in files],
        "null_count.account": [0 if f[3] else 10 for f in files],
        "min.tp_timestamp": [datetime(2024, 5, 1) + timedelta(seconds=n) for n in range(len(files))],
        "tp_partition": [f[0] for f in files],
        "tp_index": [f[1] for f in files],
        "tp_date": [DAY + timedelta(days=f[2]) for f in files],
    }
    types = {"tp_date": pa.date32(), "min.account": pa.string(), "max.account": pa.string()}
    arrays = {name: pa.array(column, types.get(name)) for name, column in columns.items()}
    return Snapshot("t", LocalPlace("/nowhere"), 1, pa.schema([("account", pa.string())]), pa.table(arrays))


def test_only_days_with_wrong_rows_are_sorted_anew() -> None:
    seen = table(
        [
            ("p", "default", 0, "a", 10),
            ("p", "a", 0, "a", 10),
            ("p", "a", 0, "a", SMALL),
            ("p", "b", 1, "b", 10),
            ("p", "b", 2, "b", 10),
            ("p", "b", 2, "b", 10),
            ("q", "default", 0, "a", 10),
        ]
    )
    plan = plan_reindex(seen, {"p": "account"})
    found = [(m.kind, m.index, m.day, [f.path for f in m.files], m.is_certain) for m in plan.merges]
    assert found == [
        (COMPACT, "b", date(2024, 5, 3), ["f4", "f5"], True),
        (REINDEX, None, DAY, ["f0", "f1"], True),
    ]
    assert plan.indexes == {"p": "account"}
    later = TimeRange(datetime(2024, 5, 2), None)
    assert [merge.kind for merge in plan_reindex(seen, {"p": "account"}, later).merges] == [COMPACT]


def test_without_a_column_all_rows_are_default() -> None:
    seen = table([("p", "a", 0, "a", SMALL), ("p", "default", 0, "a", SMALL), ("p", "default", 1, "b", 10)])
    (merge,) = plan_reindex(seen, {"p": None}).merges
    assert [file.path for file in merge.files] == ["f0"]


def test_what_the_log_leaves_open_is_not_certain() -> None:
    seen = table([("p", "a", 0, "a", 10)])
    (merge,) = plan_reindex(seen, {"p": "city"}).merges
    assert not merge.is_certain
    (merge,) = plan_reindex(table([("p", "a", 0, "a", 10)] * 2), {"p": "city"}).merges
    assert merge.is_certain, "they are merged anyway"
