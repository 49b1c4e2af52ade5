"""A column that takes every field without one: `src="*"`."""

from __future__ import annotations

import json

from jsonread import decode, extra, table

from tailrace.core import Json, col, struct

T = table(col("id"), col("n", "integer"), col("who", struct(col("name"))), col("rest", "json", src="*"))


def test_fields_without_a_column_are_in_it_and_not_beside_it() -> None:
    batch = decode(T, '[{"id":"1","a":1,"who":{"name":"x","age":7}},{"id":"2"}]')
    assert [t and json.loads(t) for t in batch.columns["rest"].to_pylist()] == [{"a": 1, "who": {"age": 7}}, None]
    assert batch.extra is None


def test_misfits_and_envelopes_stay_beside_it() -> None:
    batch = decode(T, '{"source":"s","detail":{"id":"1","n":"many","a":1}}', Json(unwrap=("detail",)))
    assert batch.columns["rest"].to_pylist() == ['{"a":1}']
    assert extra(batch) == {"tp_misfit": {"n": "many"}, "tp_envelope": {"source": "s"}}


def test_many_records_give_what_few_do() -> None:
    batch = decode(T, json.dumps([{"id": str(n), "a": n} for n in range(500)]))
    assert batch.columns["rest"].to_pylist() == [f'{{"a":{n}}}' for n in range(500)]
    assert batch.extra is None


def test_an_object_may_have_one_of_its_own() -> None:
    inner = table(
        col("id"), col("who", struct(col("name"), col("others", "json", src="*"))), col("rest", "json", src="*")
    )
    records = [{"id": str(n), "a": n, "who": {"name": "x", "age": n}} for n in range(500)]
    batch = decode(inner, json.dumps(records))
    assert batch.columns["who"].to_pylist() == [{"name": "x", "others": f'{{"age":{n}}}'} for n in range(500)]
    assert batch.columns["rest"].to_pylist() == [f'{{"a":{n}}}' for n in range(500)]
    assert batch.extra is None
