"""Objects that repeat are decoded once; the rows come out as if each record stood alone."""

from __future__ import annotations

import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from jsonread import decode, table

from tailrace.core import Column, Jsonl, Table, col, struct
from tailrace.formats.base import Batch
from tailrace.formats.feed import Once
from tailrace.formats.json_decode import json_decoder

WHO = struct(
    col("name"),
    col("age", "integer"),
    col("since", "timestamp"),
    col("home", struct(col("city"), col("zip", "bigint"), col("more", "json"))),
)
COLUMNS = (col("id", "bigint"), col("who", WHO))
POINTED = (
    col("id", "bigint"),
    col("name", src="/who/name"),
    col("age", "integer", src="/who/age"),
    col("since", "timestamp", src="/who/since"),
    col("city", src="/who/home/city"),
    col("zip", "bigint", src="/who/home/zip"),
    col("more", "json", src="/who/home/more"),
)


def rows(batch: Batch) -> list[tuple[dict[str, Any], Any]]:
    """Per row its columns and what is told beside them."""
    extras = [None] * batch.rows if batch.extra is None else batch.extra.to_pylist()
    columns = {name: array.to_pylist() for name, array in batch.columns.items()}
    return [
        ({name: values[row] for name, values in columns.items()}, extras[row] and json.loads(extras[row]))
        for row in range(batch.rows)
    ]


def check(told: Table, records: list[Any]) -> Batch:
    """Records together are the records one by one."""
    together = decode(told, json.dumps(records))
    alone = [decode(told, json.dumps([record])) for record in records]
    assert rows(together) == [row for batch in alone for row in rows(batch)]
    assert together.flagged == sum(batch.flagged for batch in alone)
    return together


CITY = {"city": "Oslo", "zip": 150, "more": {"a": [1]}}
ODD = [
    {"name": "ann", "age": 30, "since": "2024-01-01T00:00:00Z", "home": CITY},
    {"name": "bob", "unknown": 1, "home": {"city": "Bonn", "street": "x", "zip": "?"}},
    {"name": 7, "age": "31", "since": "never"},
    {"age": 2**40, "home": "nowhere"},
    {"home": None},
    {},
    None,
    "nobody",
    [1],
]


@pytest.mark.parametrize("columns", [COLUMNS, POINTED], ids=["a column", "on the way to columns"])
def test_misfits_and_unknown_fields_are_told_of_every_row(columns: tuple[Column, ...]) -> None:
    records = [{"id": n, "who": who} for n, who in enumerate([*ODD, *ODD, *reversed(ODD)])]
    batch = check(table(*columns), [*records, {"id": 99}, {"id": "x", "who": ODD[1], "other": 2}])
    assert batch.flagged == 3 * 5 + 1


def test_the_same_key_in_two_columns() -> None:
    told = table(*COLUMNS, col("whole", "json", "who"))
    check(told, [{"id": n, "who": who} for n, who in enumerate(ODD * 2)])


def test_objects_inside_strings() -> None:
    told = table(col("id", "bigint"), col("who", WHO, decode="json"))
    check(told, [{"id": n, "who": json.dumps(who) if n % 2 else who} for n, who in enumerate(ODD * 2)])


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["2024-01-01T00:00:00Z"])
OBJECTS = st.dictionaries(
    st.sampled_from(["name", "age", "since", "x"]) | st.text(max_size=2),
    VALUES,
    max_size=4,
)
PEOPLE = st.builds(lambda who, home: who | ({"home": home} if home is not None else {}), OBJECTS, st.none() | OBJECTS)


@settings(max_examples=150, deadline=None)
@given(st.lists(PEOPLE | VALUES, min_size=1, max_size=4), st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_any_objects(people: list[Any], order: list[int]) -> None:
    for columns in (COLUMNS, POINTED):
        check(table(*columns), [{"id": n, "who": people[which % len(people)]} for n, which in enumerate(order)])


@pytest.mark.parametrize("cities", [3, 5_000])
def test_objects_that_do_not_repeat_are_found_out(cities: int) -> None:
    """An object that is another one in each record; the one inside of it repeats, or does not."""
    told = table(*COLUMNS)
    records = [{"id": n, "who": {"name": str(n), "home": {"zip": n % cities, "x": n % 2}}} for n in range(3_000)]
    text = "".join(json.dumps(record) + "\n" for record in records).encode()
    engine = json_decoder(told, Jsonl())
    for _ in range(2):
        found = [row for batch in engine.decode(Once(text)) for row in rows(batch)]
        assert [columns["id"] for columns, _ in found] == list(range(3_000))
        for n, (columns, extra) in enumerate(found):
            home = {"city": None, "zip": n % cities, "more": None}
            assert columns["who"] == {"name": str(n), "age": None, "since": None, "home": home}
            assert extra == {"who": {"home": {"x": n % 2}}}


def test_two_objects_that_repeat_inside_of_one_that_does_not() -> None:
    """What each of them tells, and what their holder tells, stands beside the other, row by row."""
    inner = struct(col("a"), col("b"), col("c"))
    told = table(col("id", "bigint"), col("who", struct(col("name"), col("left", inner), col("right", inner))))

    def of(n: int) -> dict[str, Any]:
        left, right = {"a": "l", "x": n % 2}, {"a": "r", "y": n % 3}
        return {"id": n, "who": {"name": str(n), "left": left, "right": right, "own": n}}

    text = "".join(json.dumps(of(n)) + "\n" for n in range(3_000)).encode()
    engine = json_decoder(told, Jsonl())
    for _ in range(2):
        extras = [extra for batch in engine.decode(Once(text)) for _, extra in rows(batch)]
        assert extras == [{"who": {"left": {"x": n % 2}, "right": {"y": n % 3}, "own": n}} for n in range(3_000)]


def test_fields_without_a_column_that_many_records_have() -> None:
    """They are learned and put together by Arrow; rows with something else to tell say both."""
    told = table(col("id", "bigint"))
    records: list[dict[str, Any]] = [{"id": n, "b": {"x": [n]}, 'a"ü': None, "c": "é\n"} for n in range(3_000)]
    records[2_000] = {"id": "?", "b": 1}
    records[2_001] = {"id": 1, "z": 2, "b": None}
    records[2_002] = {"id": 2}
    records[2_003] = {"id": 3, "b": {"tp_misfit": 1}, "tp_misfit": {"id": 0}}
    text = "".join(json.dumps(record) + "\n" for record in records).encode()
    engine = json_decoder(told, Jsonl())
    for _ in range(2):
        found = [row for batch in engine.decode(Once(text)) for row in rows(batch)]
        assert len(found) == 3_000
        for record, (columns, extra) in zip(records, found, strict=True):
            other = {key: value for key, value in record.items() if key not in ("id", "tp_misfit")}
            misfit = {"id": "?"} if record["id"] == "?" else {}
            misfit |= {"tp_misfit": record["tp_misfit"]} if "tp_misfit" in record else {}
            assert columns["id"] == (None if record["id"] == "?" else record["id"])
            assert (extra or {}) == other | ({"tp_misfit": misfit} if misfit else {})
