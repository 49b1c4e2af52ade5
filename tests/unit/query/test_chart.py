"""Charts of characters."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core import UsageError
from tailrace.lake.paths import Lake
from tailrace.query.chart import BARS, Bar, draw, lines, over_time
from tailrace.query.engine import Engine, Result
from tailrace.query.render import width

HOUR = timedelta(hours=1)


def drawn(rows: list[tuple[Any, ...]], types: tuple[str, ...], columns: int = 40) -> list[str]:
    out = io.StringIO()
    draw(Result(("a", "b", "c")[: len(types)], types, iter(rows)), out, columns)
    return out.getvalue().splitlines()


def test_bars() -> None:
    rows = [("GET", 100), ("POST", 50), (None, 1), ("\x1b[2J", 0), ("日本", 25.5)]
    assert drawn(rows, ("VARCHAR", "BIGINT")) == [
        "GET       │██████████████████████ 100",
        "POST      │███████████ 50",
        "null      │▎ 1",
        "\\u001b[2J │ 0",
        "日本      │█████▋ 25.50",
    ]


def test_a_histogram_has_hours_without_rows() -> None:
    start = datetime(2024, 3, 29, 22)
    rows = [(start, 4), (start + HOUR, 8), (start + 3 * HOUR, 2)]
    assert drawn(rows, ("TIMESTAMP", "BIGINT")) == [
        "2024-03-29 22:00 │█████████▌ 4",
        "2024-03-29 23:00 │███████████████████ 8",
        "2024-03-30 00:00 │ 0",
        "2024-03-30 01:00 │████▊ 2",
    ]


def test_days() -> None:
    rows = [(date(2024, 3, 31), 1), (date(2024, 3, 29), 2)]
    assert [line.partition(" ")[0] for line in drawn(rows, ("DATE", "BIGINT"))] == ["2024-03-29", "2024-03-31"]


def test_the_number_may_stand_first() -> None:
    assert drawn([(3, "x")], ("BIGINT", "VARCHAR"))[0].startswith("x │")


@pytest.mark.parametrize("types", [("BIGINT",), ("VARCHAR", "VARCHAR"), ("VARCHAR", "BIGINT", "BIGINT")])
def test_what_cannot_be_drawn(types: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as raised:
        drawn([], types)
    assert "date_trunc" in (raised.value.hint or "")


def test_what_does_not_fit_is_one_bar() -> None:
    found = drawn([(f"k{i:03}", 1) for i in range(100)], ("VARCHAR", "BIGINT"))
    assert len(found) == BARS
    assert found[-1].startswith("(61 more) │")
    assert found[-1].endswith(" 61")


def test_no_rows() -> None:
    assert drawn([], ("VARCHAR", "BIGINT")) == ["no rows"]
    assert drawn([(None, 3)], ("DATE", "BIGINT")) == ["no rows"]


def test_times_with_a_zone() -> None:
    assert over_time([(datetime(2024, 1, 1, 5, tzinfo=UTC), 1.0)]) == [Bar("2024-01-01 05:00", 1.0)]


@given(
    st.lists(
        st.tuples(
            st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)),
            st.integers(0, 1000).map(float),
        ),
        min_size=1,
        max_size=200,
    )
)
def test_a_histogram_loses_nothing(points: list[tuple[datetime, float]]) -> None:
    bars = over_time(points)
    assert sum(bar.value for bar in bars) == sum(value for _, value in points)
    assert len(bars) <= BARS
    assert [bar.label for bar in bars] == sorted(bar.label for bar in bars)
    assert all(width(line) <= 81 for line in lines(bars, 80))


def test_an_answer_as_a_chart(tmp_path: Path) -> None:
    from tailrace.query.answering import answer
    from tailrace.query.files import Destination

    out = io.StringIO()
    sql = "select date '2024-01-01' + i::int as day, i from range(1, 4) t(i)"
    answer(Engine(Lake(tmp_path)), sql, Destination("chart", None, out), lambda _: None)
    assert out.getvalue().splitlines()[2].startswith("2024-01-04 │████")
