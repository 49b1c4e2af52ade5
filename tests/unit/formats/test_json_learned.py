"""Fields that many records send in another type become columns together, with the values they have one by one."""

from __future__ import annotations

import json
import struct as binary
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonread import Bytes, table

from tailrace.core import Json, Table, col, struct
from tailrace.formats.base import Batch
from tailrace.formats.json_decode import DocumentDecoder, json_decoder

TYPES = ("tinyint", "integer", "bigint", "uinteger", "double", "float", "boolean", "varchar", "uuid", "date", "inet")
ODD = {"varchar": 7, "uuid": 7, "date": 7, "inet": 7, "boolean": "true"}
T = table(
    *(col(name, name) for name in TYPES),
    col("marked", "bigint", null_if="-1"),
    col("who", struct(col("age", "integer"), col("size", "double"))),
    col("far", "integer", src="/a/b"),
)


def lesson(name: str) -> Any:
    return ODD.get(name, "1")


def taught() -> DocumentDecoder:
    decoder = json_decoder(T, Json())
    record = {name: lesson(name) for name in (*TYPES, "marked")} | {"who": {"age": "1", "size": "1"}, "a": {"b": "1"}}
    list(decoder.decode(Bytes(json.dumps([record] * 100).encode())))
    assert isinstance(decoder, DocumentDecoder)
    learned = decoder._cascade.shape._learned
    assert {(name,) for name in TYPES} < learned
    assert ("a", "b") in learned
    return decoder


TAUGHT = taught()


def told(batch: Batch) -> list[Any]:
    """Every value so that it equals itself only: 0.0 is not -0.0."""
    rows = pa.table(batch.columns).to_pylist()
    extra = batch.extra.to_pylist() if batch.extra is not None else [None] * len(rows)
    return [
        ({k: binary.pack("d", v) if isinstance(v, float) else v for k, v in row.items()}, e and json.loads(e))
        for row, e in zip(rows, extra, strict=True)
    ]


def assert_same(text: str) -> None:
    (learned,) = TAUGHT.decode(Bytes(text.encode()))
    (fresh,) = json_decoder(T, Json()).decode(Bytes(text.encode()))
    assert told(learned) == told(fresh)
    assert learned.flagged == fresh.flagged


numbers = st.integers(-(2**66), 2**66) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=4) | st.sampled_from(
    [
        "",
        "-1",
        "+1",
        "01",
        "1.",
        ".5",
        "1e3",
        "1E-7",
        "1.0",
        "-0",
        "-0.0",
        "0x1",
        " 1",
        "1 ",
        "nan",
        "inf",
        "1e999",
        "TRUE",
    ]
)
values = st.none() | st.booleans() | numbers | numbers.map(repr) | texts | st.just([1]) | st.just({"a": 1})


@settings(deadline=None, max_examples=150)
@given(st.lists(st.dictionaries(st.sampled_from([*TYPES, "marked"]), values, max_size=6), min_size=1, max_size=4))
def test_any_value(records: list[dict[str, Any]]) -> None:
    assert_same(json.dumps(records))


@settings(deadline=None, max_examples=50)
@given(values, values, values)
def test_values_inside_of_objects(age: Any, size: Any, far: Any) -> None:
    assert_same(json.dumps([{"who": {"age": age, "size": size}}, {"a": {"b": far}}, {"a": {"b": 1}, "who": None}]))


@pytest.mark.parametrize("number", ["0.1", "-0.0", "-0", "1e22", "1e23", "1.7976931348623157e308", "5e-324", "1e400"])
@pytest.mark.parametrize("name", ["double", "float", "bigint"])
def test_numbers_as_they_are_written(number: str, name: str) -> None:
    assert_same(f'[{{"{name}":{number}}},{{"{name}":"{number}"}}]')


@settings(deadline=None, max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 30))
def test_floats_are_read_to_the_last_bit(value: float, digits: int) -> None:
    text = format(value, f".{digits}f")
    if len(text) < 40 and text != "-0":  # which msgspec takes for the integer
        (batch,) = TAUGHT.decode(Bytes(f'[{{"double":"{text}"}},{{"double":{text}}}]'.encode()))
        assert [binary.pack("d", v) for v in batch.columns["double"].to_pylist()] == [binary.pack("d", float(text))] * 2


def test_texts_as_they_were_sent() -> None:
    assert_same(
        r'[{"varchar":"a\"b\\c\u00e9"},{"varchar":1.10},{"varchar":{"a": [1, 2]}},{"varchar":true},{"varchar":null}]'
    )


def test_a_table_of_one_kind() -> None:
    narrow: Table = table(col("n", "bigint"))
    decoder = json_decoder(narrow, Json())
    for _ in range(3):
        (batch,) = decoder.decode(Bytes(json.dumps([{"n": str(n)} for n in range(500)]).encode()))
        assert batch.columns["n"].to_pylist() == list(range(500))
        assert batch.extra is None


def test_lists_that_fit_are_not_learned() -> None:
    """Records that are fitted field by field for something else do not make all lists dearer."""
    decoder = json_decoder(table(col("tags", "varchar[]"), col("numbers", "bigint[]")), Json())
    assert isinstance(decoder, DocumentDecoder)
    record = {"tags": ["a", None], "numbers": [1], "new": 1}
    list(decoder.decode(Bytes(json.dumps([record] * 100).encode())))
    assert decoder._cascade.shape._learned == {("new",)}
