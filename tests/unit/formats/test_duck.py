"""Queries that are planned once and asked of many batches."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from tailrace.formats import duck
from tailrace.formats.duck import answers


def test_a_query_is_asked_of_one_batch_after_the_other() -> None:
    query = "SELECT upper(word) AS word FROM given"
    for words in (["a"], ["b", None], []):
        asked = pa.table({"word": pa.array(words, pa.string())})
        assert answers(query, asked)["word"].to_pylist() == [w and w.upper() for w in words]


def test_other_columns_are_another_plan() -> None:
    query = "SELECT typeof(value) AS kind FROM given"
    kinds = [answers(query, pa.table({"value": values}))["kind"][0].as_py() for values in ([1], ["a"], [{"a": 1}])]
    assert kinds == ["BIGINT", "VARCHAR", "STRUCT(a BIGINT)"]


def test_nothing_of_a_batch_is_kept() -> None:
    before = pa.total_allocated_bytes()
    answers("SELECT word FROM given", pa.table({"word": ["x" * 100] * 10_000}))
    assert pa.total_allocated_bytes() - before < 100_000


def test_what_fails_can_be_asked_again() -> None:
    query = "SELECT value::INTEGER AS value FROM given"
    for _ in range(2):
        with pytest.raises(duckdb.ConversionException):
            answers(query, pa.table({"value": ["x"]}))
        with pytest.raises(duckdb.BinderException):
            answers("SELECT nothing FROM given", pa.table({"value": ["x"]}))
    assert answers(query, pa.table({"value": ["7"]}))["value"].to_pylist() == [7]


def test_plans_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duck, "_MOST_PLANS", 4)
    asked = pa.table({"value": [1]})
    for round in range(2):
        for number in range(10):
            answer = answers(f"SELECT value + {number} AS sum FROM given", asked)["sum"].to_pylist()
            assert answer == [1 + number], round
    assert len(duck._plans(duck.con())) <= 4


def test_time_is_told_anew() -> None:
    query, asked = "SELECT epoch_us(now()) AS now FROM given", pa.table({"value": [1]})
    assert answers(query, asked)["now"][0].as_py() < answers(query, asked)["now"][0].as_py()
