"""What DuckDB answers inside of Spark's tasks, batch by batch."""

from __future__ import annotations

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
