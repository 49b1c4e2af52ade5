"""Rows that are wanted, and what becomes of the others."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.core import Common, Jsonl, Table, TimeRange, col
from tailrace.formats.base import RAW_LIMIT, Bad, Batch
from tailrace.lake.place import LocalPlace
from tailrace.pipeline import shape as shaping
from tailrace.pipeline.enrich import Enricher
from tailrace.pipeline.job import Job
from tailrace.pipeline.shape import Origin, Part, Shaped, Shaper

START = datetime(2024, 1, 1)
TABLE = Table(
    name="t",
    doc="",
    format=Jsonl(),
    columns=(col("at", "timestamp"), col("n", "integer"), col("host"), col("double", "integer", sql="raw_n::int * 2")),
    common=Common(time=("at",), source_ip="host", ips=("host",)),
)
REQUIRED = Table("t", "", Jsonl(), (col("at", "timestamp"), col("n", "integer", required=True)), Common(time=("at",)))


def job(table: Table = TABLE, **more: Any) -> Job:
    return Job(table, "p", (table.format,), "run", START, LocalPlace("/lake"), LocalPlace("/quarantine"), **more)


def shaper(table: Table = TABLE, **more: Any) -> Shaper:
    return Shaper(job(table, **more), Enricher(table))


def origin(number: int = 0) -> Origin:
    return Origin(number, f"prefix{number}", "file", None, f"/logs/{number}", f"file:///logs/{number}")


def batch(rows: list[dict[str, Any]], bad: int = 0) -> Batch:
    hours = [None if r.get("hour") is None else START + timedelta(hours=r["hour"]) for r in rows]
    columns = {
        "at": pa.array(hours, pa.timestamp("us")),
        "n": pa.array([r.get("n") for r in rows], pa.int32()),
        "host": pa.array([r.get("host") for r in rows], pa.string()),
        "raw_n": pa.array([r.get("raw_n") for r in rows], pa.string()),
    }
    positions = np.arange(len(rows), dtype=np.int64) * 10
    refused = [Bad(1000 + i, b"?", 1, "json: invalid") for i in range(bad)]
    return Batch(columns, positions, lambda i: f"raw {int(positions[i])}".encode(), bad=refused)


def together(made: Shaper, parts: list[Part]) -> Shaped:
    (shaped,) = made.shape(parts)
    return shaped


def adds_up(shaped: Shaped) -> None:
    for c in shaped.counts.values():
        assert c.received == c.stored + c.filtered + c.out_of_range + c.quarantined
    assert sum(c.stored for c in shaped.counts.values()) == len(shaped.timestamps) == len(shaped.positions)
    assert sum(c.quarantined for c in shaped.counts.values()) == len(shaped.bad)


hours = st.none() | st.integers(-30, 60)
rows_of = st.lists(
    st.fixed_dictionaries(
        {"hour": hours, "n": st.none() | st.integers(-3, 3), "raw_n": st.sampled_from([None, "1", "x"])}
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(rows_of, st.integers(0, 2)), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_counts_add_up(parts: list[tuple[list[dict[str, Any]], int]], window: bool, filtered: bool) -> None:
    asked = TimeRange(START, START + timedelta(hours=24)) if window else TimeRange()
    made = shaper(window=asked, filter="n > 0" if filtered else None)
    shaped = together(made, [(origin(i), batch(rows, bad)) for i, (rows, bad) in enumerate(parts)])
    adds_up(shaped)
    for number, (rows, bad) in enumerate(parts):
        broken = [r for r in rows if r["hour"] is None or r["raw_n"] == "x"]
        rest = [r for r in rows if r not in broken]
        inside = [r for r in rest if not window or 0 <= r["hour"] < 24]
        stored = [r for r in inside if not filtered or (r["n"] or 0) > 0]
        counts = shaped.counts[number]
        assert counts.received == len(rows) + bad
        assert counts.quarantined == len(broken) + bad
        assert counts.out_of_range == len(rest) - len(inside)
        assert counts.filtered == len(inside) - len(stored)
        assert counts.stored == len(stored)
    days = list(shaped.days(made.origins))
    assert sum(rows for _, _, rows in days) == len(shaped.timestamps)


def test_rows_keep_their_values_and_places() -> None:
    rows = [{"hour": 1, "n": 1, "raw_n": "4"}, {"hour": None}, {"hour": 30, "n": 2, "raw_n": None}]
    shaped = together(shaper(), [(origin(0), batch(rows)), (origin(1), batch(rows[:1]))])
    assert shaped.columns["n"].to_pylist() == [1, 2, 1]
    assert shaped.columns["double"].to_pylist() == [8, None, 8]
    assert shaped.positions.to_pylist() == [0, 20, 0]
    assert shaped.owner.tolist() == [0, 0, 1]
    assert "raw_n" not in shaped.columns
    assert sorted(shaped.days([origin(0), origin(1)])) == [
        (0, "2024-01-01", 1),
        (0, "2024-01-02", 1),
        (1, "2024-01-01", 1),
    ]


def test_quarantine_holds_the_bytes_of_the_row() -> None:
    rows = [{"hour": 1, "raw_n": "x"}, {"hour": 2}, {"hour": None}]
    shaped = together(shaper(), [(origin(0), batch([{"hour": 1}])), (origin(1), batch(rows, bad=1))])
    found = [(o.artifact, b.position, b.raw, b.reason) for o, b in shaped.bad]
    assert found[0] == (1, 1000, b"?", "json: invalid")
    assert [f[:3] for f in found[1:]] == [(1, 0, b"raw 0"), (1, 20, b"raw 20")]
    assert found[1][3].startswith("transform of double: Conversion Error")
    assert found[2][3] == "row: no timestamp (no time in at)"


def test_quarantine_keeps_so_much_of_a_row_and_says_how_long_it_was() -> None:
    long = batch([{"hour": None}])
    long.raw = lambda _: b"x" * (RAW_LIMIT + 5)
    ((_, bad),) = together(shaper(), [(origin(), long)]).bad
    assert (len(bad.raw), bad.length) == (RAW_LIMIT, RAW_LIMIT + 5)


def test_required_columns() -> None:
    shaped = together(shaper(REQUIRED), [(origin(), batch([{"hour": 1, "n": 1}, {"hour": 1}]))])
    assert [b.reason for _, b in shaped.bad] == ["row: required column n is null"]
    adds_up(shaped)


@pytest.mark.parametrize(
    ("filter", "kept"),
    [
        ("n >= 2", [2, 3]),
        ("n > 1 or n is null", [2, 3, None]),
        ("tp_source_ip = '192.0.2.1'", [1, 3]),
        ("list_contains(tp_ips, '192.0.2.2')", [2]),
        ("tp_timestamp < '2024-01-01 02:00:00'", [1]),
        ("\"at\" >= TIMESTAMP '2024-01-01 03:00:00' and tp_source_ip is null", [None]),
        ("double = 4", [2]),
        ("tp_extra is not null", []),
        ("tp_emails is null", [1, 2, 3, None]),
    ],
)
def test_filters_see_own_computed_and_shared_columns(filter: str, kept: list[int | None]) -> None:
    rows = [{"hour": n, "n": n, "host": f"192.0.2.{1 + (n == 2)}", "raw_n": str(n)} for n in (1, 2, 3)]
    shaped = together(shaper(filter=filter), [(origin(), batch([*rows, {"hour": 4, "host": "name"}]))])
    assert (shaped.columns["n"].to_pylist() if "n" in shaped.columns else [None] * len(shaped.timestamps)) == kept
    adds_up(shaped)


def test_rows_on_which_the_filter_fails_are_quarantined() -> None:
    rows = [{"hour": 1, "n": 1, "host": "5"}, {"hour": 2, "n": 2, "host": "five"}, {"hour": 3, "n": 3, "host": "1"}]
    shaped = together(shaper(filter="host::int > 2"), [(origin(), batch(rows))])
    assert shaped.columns["n"].to_pylist() == [1]
    assert [b.raw for _, b in shaped.bad] == [b"raw 10"]
    assert shaped.counts[0].filtered == 1
    adds_up(shaped)


@pytest.mark.parametrize(
    ("index", "values"),
    [(None, None), ("n", ["1", None]), ("host", ["192.0.2.1", "name"]), ("tp_source_ip", ["192.0.2.1", None])],
)
def test_index(index: str | None, values: list[str | None] | None) -> None:
    rows = [{"hour": 1, "n": 1, "host": "192.0.2.1"}, {"hour": 2, "host": "name"}]
    found = together(shaper(index=index), [(origin(), batch(rows))]).index
    assert (None if found is None else found.to_pylist()) == values


def test_parts_may_lack_columns_and_have_other_encodings() -> None:
    one, two, three = batch([{"hour": 1, "host": "a"}]), batch([{"hour": 2, "host": "b"}]), batch([{"hour": 3}])
    two.columns["host"] = two.columns["host"].dictionary_encode()
    del three.columns["host"]
    three.extra = pa.array(['{"k": 1}'])
    shaped = together(shaper(), [(origin(0), one), (origin(1), two), (origin(2), three)])
    assert shaped.columns["host"].to_pylist() == ["a", "b", None]
    assert shaped.columns["tp_extra"].to_pylist() == [None, None, '{"k": 1}']


def test_nothing_but_bad_records() -> None:
    shaped = together(shaper(), [(origin(), batch([], bad=2))])
    adds_up(shaped)
    assert list(shaped.days([origin()])) == []


def test_large_parts_that_no_sql_looks_at_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shaping, "SMALL", 3)
    made = shaper(REQUIRED)
    rows = [2, 2, 3, 4, 1]
    parts = [(origin(i), batch([{"hour": i, "n": i}] * (n - 1) + [{"hour": i}])) for i, n in enumerate(rows)]
    shaped = list(made.shape(parts))
    assert [s.columns["n"].to_pylist() if s.columns else [] for s in shaped] == [[0, 1], [2, 2], [3, 3, 3], []]
    assert [[made.origins[n].artifact for n in s.owner] for s in shaped] == [[0, 1], [2, 2], [3, 3, 3], []]
    assert [[(o.artifact, bad.position) for o, bad in s.bad] for s in shaped] == [
        [(i, parts[i][1].positions[-1]) for i in some] for some in ([0, 1], [2], [3], [4])
    ]
    for part in shaped:
        adds_up(part)


def test_an_index_that_cannot_be_a_directory_is_refused() -> None:
    shaped = together(shaper(index="host"), [(origin(), batch([{"hour": 1, "host": "a\0"}, {"hour": 1, "host": "b"}]))])
    assert shaped.index is not None
    assert shaped.index.to_pylist() == ["b"]
    adds_up(shaped)
