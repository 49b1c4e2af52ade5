"""JSON values and their columns: what fits, and what is kept beside."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from jsonread import decode, extra, table

from tailrace.core import Json, col, struct
from tailrace.formats.json_struct import source_keys

NOON = datetime(2024, 2, 29, 12)


def one(type: str, value: str, **column: Any) -> tuple[Any, Any]:
    """The stored value of one column, and what is under `tp_misfit`."""
    batch = decode(table(col("v", type, **column)), f'[{{"v":{value}}},{{}}]')
    assert batch.columns["v"][1].as_py() is None
    kept = extra(batch)
    assert batch.flagged == (kept is not None)
    return batch.columns["v"][0].as_py(), None if kept is None else kept["tp_misfit"]["v"]


@pytest.mark.parametrize(
    ("type", "value", "stored"),
    [
        ("boolean", '"true"', True),
        ("boolean", "false", False),
        ("bigint", '"12"', 12),
        ("bigint", "1.0", 1),
        ("bigint", "1e3", 1000),
        ("bigint", str(2**63 - 1), 2**63 - 1),
        ("ubigint", str(2**64 - 1), 2**64 - 1),
        ("utinyint", "255", 255),
        ("double", "3", 3.0),
        ("double", '"2.5"', 2.5),
        ("decimal(10,2)", "1.10", Decimal("1.10")),
        ("varchar", "1.10", "1.10"),
        ("varchar", "true", "true"),
        ("varchar", '{"a": [1]}', '{"a": [1]}'),
        ("varchar", '"\\u00fc\\n"', "ü\n"),
        ("json", ' {"a" : 1 } '.strip(), '{"a" : 1 }'),
        ("json", '"text"', '"text"'),
        ("json", "null", None),
        ("varchar[]", '"x"', ["x"]),
        ("varchar[]", '["x",1,null,{"y":2}]', ["x", "1", None, '{"y":2}']),
        ("bigint[]", "[1,2]", [1, 2]),
        ("bigint[]", '"7"', [7]),
        ("bigint[]", '["7",8]', [7, 8]),
        ("json[]", '[{"a":1},"b"]', ['{"a":1}', '"b"']),
        ("timestamp", '"2024-02-29T12:00:00Z"', NOON),
        ("timestamp[]", '["2024-02-29T12:00:00Z",null]', [NOON, None]),
        ("date", '"2024-02-29"', date(2024, 2, 29)),
        ("inet", '"10.0.0.1"', "10.0.0.1"),
        ("blob", '"ü"', "ü".encode()),
    ],
)
def test_what_fits(type: str, value: str, stored: object) -> None:
    assert one(type, value) == (stored, None)


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("boolean", '"maybe"'),
        ("boolean", "{}"),
        ("bigint", str(2**63)),
        ("bigint", "1.5"),
        ("bigint", '"x"'),
        ("tinyint", "128"),
        ("utinyint", "-1"),
        ("ubigint", "-1"),
        ("double", '"nan"'),
        ("decimal(4,2)", "12345"),
        ("timestamp", '"yesterday"'),
        ("timestamp", "1709208000"),
        ("timestamp", '{"at":1}'),
        ("date", '"2024-02-30"'),
        ("date", '"infinity"'),
        ("date", '"10000-01-01"'),
        ("inet", '"nowhere"'),
        ("varchar[]", '{"a":1}'),
        ("bigint[]", '[1,"x"]'),
    ],
)
def test_what_does_not(type: str, value: str) -> None:
    assert one(type, value) == (None, json.loads(value))


@pytest.mark.parametrize(
    ("time", "value"),
    [
        ("epoch", "1709208000"),
        ("epoch", "1709208000000"),
        ("epoch_ms", '"1709208000000"'),
        ("epoch_s", "1709208000.0"),
        ("%d.%m.%Y %H:%M", '"29.02.2024 12:00"'),
        ("iso", '"2024-02-29T12:00:00Z"'),
    ],
)
def test_times(time: str, value: str) -> None:
    assert one("timestamp", value, time=time) == (NOON, None)


def test_epochs_of_all_kinds_in_one_column() -> None:
    values = '1709208000, 1709208000.0, "1709208000", null, "x", 1e300, ' + "1" * 400
    text = "[" + ",".join(f'{{"v":{v}}}' for v in values.split(", ")) + "]"
    batch = decode(table(col("v", "timestamp", time="epoch")), text)
    assert batch.columns["v"].to_pylist() == [NOON] * 3 + [None] * 4
    assert batch.flagged == 3


def test_integer_columns_take_times_as_milliseconds() -> None:
    batch = decode(table(col("v", "bigint", time="iso")), '[{"v":"2024-02-29T12:00:00Z"},{"v":5},{"v":"x"}]')
    assert batch.columns["v"].to_pylist() == [1_709_208_000_000, 5, None]
    assert extra(batch, 2) == {"tp_misfit": {"v": "x"}}


def test_structs_keep_unknown_keys_at_their_place() -> None:
    people = table(col("who", struct(col("id", "integer"), col("home", struct(col("city"))))))
    batch = decode(
        people,
        '[{"who":{"id":1,"new":[1],"home":{"city":"Bonn","x":null}},"top":"t"},{"who":"me"},{"who":{"id":"a"}}]',
    )
    assert batch.columns["who"].to_pylist() == [
        {"id": 1, "home": {"city": "Bonn"}},
        None,
        {"id": None, "home": None},
    ]
    assert extra(batch, 0) == {"who": {"new": [1], "home": {"x": None}}, "top": "t"}
    assert extra(batch, 1) == {"tp_misfit": {"who": "me"}}
    assert extra(batch, 2) == {"tp_misfit": {"who.id": "a"}}
    assert batch.flagged == 2


def test_keys_come_from_the_map_the_column_or_the_rule() -> None:
    columns = (col("event_time"), col("id", src="ID"), col("who", struct(col("user_name"))), col("other"))
    fmt = Json(keys="camel", field_map=(("other", "Another Key"),))
    batch = decode(table(*columns), '{"eventTime":"a","ID":"b","who":{"userName":"c"},"Another Key":"d"}', fmt)
    assert [batch.columns[c.name][0].as_py() for c in columns] == ["a", "b", {"user_name": "c"}, "d"]


def test_two_columns_of_one_key() -> None:
    columns = (col("tp_timestamp", "timestamp", src="time"), col("time"), col("n", "integer", src="time"))
    batch = decode(table(*columns), '[{"time":"2024-02-29T12:00:00Z"},{"time":5}]')
    assert batch.columns["tp_timestamp"].to_pylist() == [NOON, None]
    assert batch.columns["time"].to_pylist() == ["2024-02-29T12:00:00Z", "5"]
    assert batch.columns["n"].to_pylist() == [None, 5]
    assert extra(batch, 0) == {"tp_misfit": {"n": "2024-02-29T12:00:00Z"}}


def test_null_markers() -> None:
    columns = (
        col("a"),
        col("b", "integer", null_if="none"),
        col("c", "json"),
        col("d", "timestamp"),
        col("e", "varchar[]"),
    )
    batch = decode(table(*columns, null="-"), '{"a":"-","b":"none","c":"-","d":"-","e":"-"}')
    assert [batch.columns[c.name][0].as_py() for c in columns] == [None] * 5
    assert batch.flagged == 0


def test_json_within_strings() -> None:
    columns = (
        col("a", "json", decode="json"),
        col("b", struct(col("x", "integer")), decode="json"),
    )
    batch = decode(
        table(*columns),
        r'[{"a":"{\"x\": 1}","b":"{\"x\":1,\"y\":2}"},{"a":"no","b":{"x":2}},{"a":[1],"b":"?"}]',
    )
    assert batch.columns["a"].to_pylist() == ['{"x": 1}', '"no"', "[1]"]
    assert batch.columns["b"].to_pylist() == [{"x": 1}, {"x": 2}, None]
    assert [extra(batch, row) for row in range(3)] == [{"b": {"y": 2}}, None, {"tp_misfit": {"b": "?"}}]


def test_lists_in_one_text() -> None:
    assert one("varchar[]", '"a, b"', list_separator=",") == (["a", "b"], None)
    assert one("integer[]", '"1,2"', list_separator=",") == ([1, 2], None)


def test_keys_that_sql_columns_read_come_as_text() -> None:
    columns = (
        col("kept"),
        col("host", sql="split_part(\"the url\", '/', 3) || kept || coalesce(size, 'end')"),
        col("url", sql="lower(url)"),
    )
    assert source_keys(table(*columns)) == ("the url", "size", "url")
    batch = decode(
        table(*columns), '[{"the url":"http://a/b","size":12,"url":null,"kept":"k","end":1},{"size":{"a":1}}]'
    )
    assert batch.columns["the url"].to_pylist() == ["http://a/b", None]
    assert batch.columns["size"].to_pylist() == ["12", '{"a":1}']
    assert batch.columns["url"].to_pylist() == [None, None]
    assert extra(batch) == {"end": 1}


def test_only_kept_fields_are_kept() -> None:
    text = '{"a":"x","b1":1,"c":{"d":1},"b2":2}'
    assert extra(decode(table(col("a"), keep=("b*",)), text)) == {"b1": 1, "b2": 2}
    assert decode(table(col("a"), keep=()), text).extra is None


def test_duplicate_keys_the_last_wins() -> None:
    assert decode(table(col("a")), '[{"a":"x","a":"y"},{"a":"x","z":1,"a":"y"}]').columns["a"].to_pylist() == ["y", "y"]
