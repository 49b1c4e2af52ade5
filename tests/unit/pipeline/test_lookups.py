"""Lookups in JSON that are made at once give what they give one by one."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.core import col
from tailrace.core.registry import find_table, table_names
from tailrace.pipeline.compute import Computer
from tailrace.pipeline.lookups import at_once
from tailrace.pipeline.questions import Question
from tailrace.testing.golden import Pair

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
COMPUTED = [
    name
    for name in table_names()
    if (table := find_table(name)) and any(c.sql and "->>" in c.sql for c in table.columns)
]


def one_by_one(columns: tuple[object, ...]) -> Computer:
    computer = Computer(columns, None, ())  # type: ignore[arg-type]
    computer.computed._at_once = False
    return computer


@pytest.mark.parametrize("name", COMPUTED)
def test_the_columns_of_a_table(name: str) -> None:
    pair = Pair(name, GOLDEN / name)
    for batch in pair.batches():
        together, apart = dict(batch.columns), dict(batch.columns)
        Computer(pair.table.columns, None, ()).compute(together, batch.rows)
        one_by_one(pair.table.columns).compute(apart, batch.rows)
        assert together == apart


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | st.sampled_from(["", "x", '"', "\\", "é", "{"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "a.b", "*"]), inner),
    max_leaves=6,
)
PATHS = ["a", "b", "$.a.b", "$.a.a", "/a/b", "$[0]", "$", '$."a.b"', "a.b"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | values, min_size=1, max_size=8))
def test_any_document(documents: list[object]) -> None:
    texts = pa.array([None if d is None else json.dumps(d) for d in documents], pa.string())
    columns = (
        col("document", "json"),
        *(col(f"c{n}", sql=f"document ->> '{path}'") for n, path in enumerate(PATHS)),
        col("nested", sql="coalesce(document ->> 'b', (document -> 'a') ->> 'b', (document -> 'a') ->> 'a')"),
        col("own", sql="list_transform([1], lambda document: document)[1]::varchar"),
    )
    together, apart = {"document": texts}, {"document": texts}
    assert Computer(columns, None, ()).compute(together, len(texts)) == ({}, {})
    assert one_by_one(columns).compute(apart, len(texts)) == ({}, {})
    assert together == apart


def test_only_what_is_looked_into_twice_is_read_at_once() -> None:
    select, lookups = at_once("SELECT a ->> 'x' AS p, a ->> 'y' AS q, b ->> 'x' AS r, a ->> 'x' AS s")
    assert lookups == """, json_extract_string(a, ['x', 'y']) AS "tailrace looked up 0\""""
    assert select.count("tailrace looked up 0") == 3
    assert "b ->> 'x'" in select


@pytest.mark.parametrize(
    "expression",
    [
        "a ->> 'x', b ->> 'y'",
        "a ->> '$[*].x', a ->> '$[*].y'",
        "a ->> x, a ->> y",
        "a ->> 0, a ->> 1",
        "list_filter(b, lambda a: (a ->> 'x') = (a ->> 'y'))",
        "(SELECT (a ->> 'x') || (a ->> 'y') FROM (SELECT 1 AS a))",
    ],
)
def test_what_cannot_be_is_left_alone(expression: str) -> None:
    assert at_once(f"SELECT {expression}") == (f"SELECT {expression}", "")


def test_a_text_that_is_no_json_is_looked_into_only_where_that_is_asked_for() -> None:
    texts = pa.array(['{"a":"1","b":"2"}', "not JSON", None], pa.string())
    guarded = [f"case when given_text like '{{%' then given_text ->> '{name}' end" for name in "ab"]
    computer = Computer((col("a", sql=guarded[0]), col("b", sql=guarded[1])), None, ())
    for _ in range(2):
        columns = {"given_text": texts}
        assert computer.compute(columns, 3) == ({}, {})
        assert columns["a"].to_pylist() == ["1", None, None]
        assert columns["b"].to_pylist() == ["2", None, None]


def test_a_row_that_raises_is_refused_alone() -> None:
    texts = pa.array(['{"a":"1","b":"2"}', "not JSON", '{"b":"3"}'], pa.string())
    computer = Computer((col("a", sql="t ->> 'a'"), col("b", sql="t ->> 'b'")), None, ())
    columns = {"t": texts}
    refused, _ = computer.compute(columns, 3)
    assert list(refused) == [1]
    assert refused[1].startswith("transform of a: ")
    assert columns["b"].to_pylist() == ["2", None, "3"]


def test_fields_that_come_later_are_seen() -> None:
    computer = Computer((col("both", sql="coalesce(one, two)"),), None, ())
    nothing = pa.nulls(1, pa.string())
    for one, two in ((None, None), ("a", None), (None, "b"), (None, None)):
        columns = {
            "one": nothing if one is None else pa.array([one]),
            "two": nothing if two is None else pa.array([two]),
        }
        assert computer.compute(columns, 1) == ({}, {})
        assert columns["both"].to_pylist() == [one or two]


def test_nothing_is_asked_twice_of_a_filter() -> None:
    kept = Question({"keep": "(d ->> 'a' = 'x' OR d ->> 'b' = 'y')::BOOLEAN"}, "filter")
    computer = Computer((col("d", "json"),), "d ->> 'a' = 'x' OR d ->> 'b' = 'y'", ())
    rows = pa.array(['{"a":"x"}', '{"b":"y"}', "{}", None], pa.string())
    assert computer.wanted({"d": rows}, 4)[0].tolist() == [True, True, False, False]
    assert "tailrace looked up 0" in at_once(kept._select)[0]
