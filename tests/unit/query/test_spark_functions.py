"""What DuckDB answers inside of Spark's tasks, batch by batch."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

from tailrace.query.spark import functions

CASES: dict[str, tuple[list[list[Any]], list[Any]]] = {
    "tailrace_json_contains": ([['{"a":[1,{"b":2}]}', "[1]", None], ['{"b":2}', "2", "1"]], [True, False, None]),
    "tailrace_json_extract": ([['{"a":"x"}', '{"a":null}', "{}"], ["$.a", "a", "a"]], ['"x"', "null", None]),
    "tailrace_json_extract_string": ([['{"a":"x"}', '[1,"y"]'], ["$.a", "$[#-1]"]], ["x", "y"]),
    "tailrace_json_extract_all": ([['{"a":[1,{"b":"c"}]}', "{}"], ["$.a[*]"] * 2], [["1", '{"b":"c"}'], []]),
    "tailrace_json_list": ([['[1,"z",{"a": 2}]', "[]", None]], [["1", '"z"', '{"a":2}'], [], None]),
    "tailrace_json_valid": ([["{}", "{"]], [True, False]),
}


@pytest.mark.parametrize("name", CASES)
def test_json(name: str) -> None:
    given, expected = CASES[name]
    sql, kind, _ = functions._ANSWERED[name]
    answer = functions._answered(sql, kind)(*(pa.array(column, pa.string()) for column in given))
    assert answer.to_pylist() == expected


TEXTS = [".5", "0x10", "1e3", "1f", "2024", "2024/01/02", None]
TRIED: dict[str, list[Any]] = {
    "tailrace_try_integer": [1, 16, 1000, None, 2024, None, None],
    "tailrace_try_double": [0.5, None, 1000.0, None, 2024.0, None, None],
    "tailrace_try_date": [None, None, None, None, None, date(2024, 1, 2), None],
}


@pytest.mark.parametrize("name", TRIED)
def test_texts_that_spark_reads_otherwise(name: str) -> None:
    sql, kind, _ = functions._ANSWERED[name]
    assert functions._answered(sql, kind)(pa.array(TEXTS)).to_pylist() == TRIED[name]


def test_times_with_fewer_digits_than_their_pattern() -> None:
    sql, kind, _ = functions._ANSWERED["tailrace_try_strptime"]
    given = pa.array(["3/4/2024", "03/04/2024", "x", None])
    answer = functions._answered(sql, kind)(given, pa.array(["%d/%m/%Y"] * 4))
    assert answer.to_pylist() == [datetime(2024, 4, 3)] * 2 + [None] * 2
