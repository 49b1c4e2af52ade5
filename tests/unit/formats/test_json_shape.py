"""Fields that no record has are left out of the struct; what comes later is decoded as if they had never been."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonread import Bytes, decode, table

from tailrace.core import Json, Jsonl, Table, col, struct
from tailrace.formats.base import Batch
from tailrace.formats.json_decode import DocumentDecoder, LineDecoder, json_decoder

NAMES = [f"f{n}" for n in range(30)]
WIDE = table(
    col("id"),
    col("n", "bigint"),
    *(
        col(name, ("varchar", "integer", "json", "double", "boolean", "timestamp")[n % 6])
        for n, name in enumerate(NAMES)
    ),
    col("who", struct(col("name"), col("age", "integer"))),
    col("inside", src="/outer/inside"),
    col("made", sql="coalesce(left_one, right_one)"),
)
USUAL = [{"id": str(n), "n": n} for n in range(200)]


def written(records: Iterable[Any]) -> bytes:
    return json.dumps(list(records)).encode()


def accustomed(table: Table = WIDE, fmt: Json | Jsonl | None = None) -> DocumentDecoder:
    """A decoder that has seen records with few of the fields."""
    decoder = json_decoder(table, fmt or Json())
    list(decoder.decode(Bytes(written(USUAL))))
    assert isinstance(decoder, DocumentDecoder)
    return decoder


def same(one: list[Batch], other: list[Batch]) -> None:
    assert [pa.table(b.columns) for b in one] == [pa.table(b.columns) for b in other]
    assert [b.extra and b.extra.to_pylist() for b in one] == [b.extra and b.extra.to_pylist() for b in other]
    assert [b.positions.tolist() for b in one] == [b.positions.tolist() for b in other]
    assert [b.bad for b in one] == [b.bad for b in other]


def test_unused_fields_are_left_out() -> None:
    shape = accustomed()._cascade.shape
    assert set(shape.level.by_key) == {"id", "n", "outer"}
    assert set(shape.wide.by_key) > set(NAMES)


@pytest.mark.parametrize(
    "record",
    [
        {"id": "1", "n": 1},
        {"id": "1", "f3": 1.5},
        {"id": "1", "f3": "1.5", "f1": "many"},
        {"f4": None},
        {"who": {"name": "x", "age": 7, "size": 1}},
        {"who": None, "outer": {"inside": "y", "other": 1}},
        {"left_one": "a"},
        {"new": 1, "f0": "x"},
        {},
        7,
    ],
)
def test_what_comes_later_is_decoded_as_ever(record: Any) -> None:
    decoder = accustomed()
    for records in ([*USUAL[:5], record], USUAL[:3], [record]):
        data = written(records)
        same(list(decoder.decode(Bytes(data))), list(json_decoder(WIDE, Json()).decode(Bytes(data))))


values = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "12", "true", "2024-05-01"])
records = st.dictionaries(st.sampled_from([*NAMES, "id", "n", "who", "outer", "left_one", "odd"]), values, max_size=5)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(records, min_size=1, max_size=6), st.sampled_from([Json(), Json(records="at.it"), Json(unwrap=("it",))])
)
def test_any_records_that_come_later(documents: list[dict[str, Any]], fmt: Json) -> None:
    decoder = accustomed(fmt=fmt)
    whole = {"at": {"it": documents}} if fmt.records else {"it": documents} if fmt.unwrap else documents
    for data in (json.dumps(whole).encode(), b"\n".join(json.dumps(d).encode() for d in documents)):
        same(list(decoder.decode(Bytes(data))), list(json_decoder(WIDE, fmt).decode(Bytes(data))))


def test_a_record_that_is_not_utf8() -> None:
    data = b'[{"id":"1"},{"f0":"caf\xe9","f1":3}]'
    same(list(accustomed().decode(Bytes(data))), list(json_decoder(WIDE, Json()).decode(Bytes(data))))


def test_lines() -> None:
    decoder = LineDecoder(WIDE, Jsonl())
    usual = b"".join(json.dumps(record).encode() + b"\n" for record in USUAL)
    later = b'{"id":"1","f0":"x"}\n{"f1":3,"left_one":"a"}\n'
    (first, second) = (list(decoder.decode(Bytes(data))) for data in (usual, usual + later))
    same(first, list(LineDecoder(WIDE, Jsonl()).decode(Bytes(usual))))
    same(second, list(LineDecoder(WIDE, Jsonl()).decode(Bytes(usual + later))))
    assert second[-1].columns["f1"].to_pylist()[-2:] == [None, 3]
    assert second[-1].columns["left_one"].to_pylist()[-2:] == [None, "a"]


def test_fields_sent_as_null_stay_in_the_struct() -> None:
    decoder = json_decoder(WIDE, Json())
    list(decoder.decode(Bytes(written({"id": "1", "f0": None, "f1": None} for _ in range(200)))))
    assert isinstance(decoder, DocumentDecoder)
    assert {"f0", "f1"} < set(decoder._cascade.shape.level.by_key)


def test_records_that_are_all_unlike_end_it() -> None:
    decoder = accustomed()
    for name in NAMES:
        (batch,) = decoder.decode(Bytes(written([{"id": "1", name: None}] * 50)))
        assert batch.rows == 50
    shape = decoder._cascade.shape
    assert shape.level is shape.wide


def test_fields_that_may_be_ignored_are_never_left_out() -> None:
    ignoring = Table(**{**{f: getattr(WIDE, f) for f in WIDE.__slots__}, "keep": ()})
    decoder = accustomed(ignoring)
    (batch,) = decoder.decode(Bytes(b'[{"f0":"x","new":1}]'))
    assert batch.columns["f0"].to_pylist() == ["x"]
    assert batch.extra is None


def test_one_document_is_enough_to_tell() -> None:
    data = written([*USUAL, {"id": "1", "f0": "x"}])
    assert decode(WIDE, data.decode()).columns["f0"].to_pylist()[-1] == "x"
