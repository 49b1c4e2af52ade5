"""Columns that stand deeper in the record than in the table: `src="/a/b"`."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonread import decode, extra, table

from tailrace.core import col, struct

T = table(
    col("id"),
    col("method", src="/payload/method"),
    col("code", "integer", src="/payload/status/code"),
    col("who", struct(col("mail", src="/contact/mail"), col("name")), src="/payload/who"),
    col("odd", src="/a~1b/c~0d"),
    col("size", sql="json_array_length(rest -> '$.list')"),
)


def row(record: Any) -> dict[str, Any]:
    columns = decode(T, json.dumps(record)).columns
    return {name: array[0].as_py() for name, array in columns.items()}


FULL = {
    "id": "1",
    "payload": {"method": "get", "status": {"code": 7}, "who": {"contact": {"mail": "a@b.example"}, "name": "Ann"}},
    "a/b": {"c~d": "x"},
    "rest": {"list": [1]},
}


def test_values_are_found_where_the_pointer_leads() -> None:
    found = row(FULL)
    assert found == {
        "id": "1",
        "method": "get",
        "code": 7,
        "who": {"mail": "a@b.example", "name": "Ann"},
        "odd": "x",
        "rest": '{"list": [1]}',
    }


def test_what_is_absent_on_the_way_is_null() -> None:
    for payload in ({}, None, {"status": None}, {"status": {}}):
        found = row({"id": "1", "payload": payload})
        assert found["method"] is None
        assert found["code"] is None
        assert found["who"] is None
        assert row({"id": "1", "payload": {"who": {}}})["who"] == {"mail": None, "name": None}


def test_what_has_no_column_stays_at_its_place() -> None:
    batch = decode(T, json.dumps({"id": "1", "payload": {"method": "get", "status": {"text": "ok"}, "new": [1]}}))
    assert extra(batch) == {"payload": {"status": {"text": "ok"}, "new": [1]}}


def test_an_object_that_is_none_is_a_misfit() -> None:
    batch = decode(T, json.dumps({"id": "1", "payload": {"method": "get", "status": "fine"}}))
    assert extra(batch) == {"tp_misfit": {"payload.status": "fine"}}
    assert batch.columns["method"].to_pylist() == ["get"]
    batch = decode(T, json.dumps({"id": "1", "payload": {"status": {"code": "many"}}}))
    assert extra(batch) == {"tp_misfit": {"code": "many"}}


def test_a_pointer_and_an_expression_may_share_a_key() -> None:
    shared = table(col("a", "integer", src="/x/a"), col("n", sql="x ->> 'b'"), col("whole", "json", src="x"))
    batch = decode(shared, '{"x":{"a":1,"b":2}}')
    assert batch.columns["a"].to_pylist() == [1]
    assert batch.columns["x"].to_pylist() == batch.columns["whole"].to_pylist() == ['{"a":1,"b":2}']


names = st.text(st.characters(codec="utf-8", exclude_characters="/~"), min_size=1, max_size=3)


@given(st.lists(names, min_size=1, max_size=4), st.integers(-9, 9))
def test_any_place_can_be_pointed_at(place: list[str], value: int) -> None:
    record: Any = value
    for key in reversed(place):
        record = {key: record}
    pointed = table(col("v", "integer", src="/" + "/".join(place)))
    batch = decode(pointed, json.dumps(record))
    assert batch.columns["v"].to_pylist() == [value]
    assert batch.extra is None
