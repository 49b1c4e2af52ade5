from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.core import Column, Common, Layout, Table, col
from tailrace.formats.fit import Fitter, null_where


def table(*columns: Column, null: str | None = "-", keep: tuple[str, ...] = ("*",)) -> Table:
    return Table("t", "", Layout("a"), columns, Common(time=("a",)), null=null, keep=keep)


def fit(columns: list[Column], fields: dict[str, list[str | None]], **options: Any) -> tuple[Any, Any, int]:
    rows = len(next(iter(fields.values())))
    arrays = {name: pa.array(values, pa.string()) for name, values in fields.items()}
    made, extra, flagged = Fitter(table(*columns, **options), fields).fit(arrays, rows)
    told = None if extra is None else [json.loads(e) if e else None for e in extra.to_pylist()]
    return {name: array.to_pylist() for name, array in made.items()}, told, flagged


UTC_2020 = datetime.datetime(2020, 1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("column", "texts", "values"),
    [
        (col("a"), ["x", "", "-"], ["x", "", None]),
        (col("a", "integer"), ["1", "-", ""], [1, None, None]),
        (col("a", "integer"), ["1", "+5", " 7", "1e3", "2.0"], [1, 5, 7, 1000, 2]),
        (col("a", "bigint"), ["9223372036854775807"], [9223372036854775807]),
        (col("a", "utinyint"), ["255"], [255]),
        (col("a", "uinteger"), ["4294967295", "+1"], [4294967295, 1]),
        (col("a", "ubigint"), ["18446744073709551615"], [decimal.Decimal(18446744073709551615)]),
        (col("a", "double"), ["1.5", "1e3"], [1.5, 1000.0]),
        (col("a", "decimal(10,2)"), ["1.50"], [decimal.Decimal("1.50")]),
        (col("a", "boolean"), ["true", "0", "t"], [True, False, True]),
        (col("a", "date"), ["2020-01-02"], [datetime.date(2020, 1, 2)]),
        (col("a", "timestamp"), ["2020-01-02T03:04:05Z", "2020-01-02 05:04:05+02"], [UTC_2020, UTC_2020]),
        (col("a", "datetime", time="epoch_s"), ["1577934245"], [UTC_2020]),
        (col("a", "timestamp", time="%d/%b/%Y:%H:%M:%S %z"), ["02/Jan/2020:03:04:05 +0000"], [UTC_2020]),
        (col("a", "json"), ['{"b": 1 }', "3"], ['{"b": 1 }', "3"]),
        (col("a", "inet"), ["10.0.0.1", "::1"], ["10.0.0.1", "::1"]),
        (col("a", "cidr"), ["10.0.0.0/8"], ["10.0.0.0/8"]),
        (
            col("a", "uuid"),
            ["123e4567-e89b-12d3-a456-426614174000"],
            ["123e4567-e89b-12d3-a456-426614174000"],
        ),
        (col("a", "varchar[]"), ["x", "-"], [["x"], None]),
        (col("a", "varchar[]", list_separator=","), ["x, y", "z", "-"], [["x", "y"], ["z"], None]),
        (col("a", "integer[]", list_separator=","), ["1,2", "3"], [[1, 2], [3]]),
        (col("a", "blob"), ["x"], [b"x"]),
        (col("a", null_if="none"), ["none", "-", "b"], [None, None, "b"]),
    ],
)
def test_values_that_fit(column: Column, texts: list[str | None], values: list[Any]) -> None:
    assert fit([column], {"a": texts}) == ({"a": values}, None, 0)


@pytest.mark.parametrize(
    ("column", "good", "wrong"),
    [
        (col("a", "integer"), "1", "1.5"),
        (col("a", "integer"), "1", "2147483648"),
        (col("a", "utinyint"), "1", "256"),
        (col("a", "utinyint"), "1", "-1"),
        (col("a", "double"), "1", "x"),
        (col("a", "boolean"), "true", "maybe"),
        (col("a", "date"), "2020-01-01", "2020-02-31"),
        (col("a", "timestamp"), "2020-01-01", "yesterday"),
        (col("a", "timestamp", time="epoch_s"), "1", "x"),
        (col("a", "json"), "{}", '{"a": NaN}'),
        (col("a", "json"), "{}", "{} x"),
        (col("a", "inet"), "::1", "10.0.0.256"),
        (col("a", "uuid"), "123e4567-e89b-12d3-a456-426614174000", "x"),
        (col("a", "integer[]", list_separator=","), "1", "1,x"),
    ],
)
def test_misfits_are_null_and_kept(column: Column, good: str, wrong: str) -> None:
    made, extra, flagged = fit([column], {"a": [good, wrong, "-"]})
    assert made["a"][0] is not None
    assert made["a"][1:] == [None, None]
    assert extra == [None, {"tp_misfit": {"a": wrong}}, None]
    assert flagged == 1


def test_fields_without_a_column_are_kept_where_they_have_a_value() -> None:
    fields: dict[str, list[str | None]] = {
        "a": ["1", "x", "3"],
        "b": ["-", 'q"\n', None],
        "c": ["1", "1", "1"],
    }
    made, extra, flagged = fit([col("a", "integer")], fields, keep=("b",))
    assert made == {"a": [1, None, 3]}
    assert extra == [None, {"b": 'q"\n', "tp_misfit": {"a": "x"}}, None]
    assert flagged == 1


def test_a_row_may_have_fields_without_a_column_while_another_has_a_misfit() -> None:
    made, extra, flagged = fit([col("a", "integer")], {"a": ["1", "x"], "b": ["kept", "-"]}, keep=("b",))
    assert made == {"a": [1, None]}
    assert extra == [{"b": "kept"}, {"tp_misfit": {"a": "x"}}]
    assert flagged == 1


def test_fields_that_sql_columns_need_are_passed_as_text() -> None:
    columns = [col("ip", sql="split_part(client, ':', 1)"), col("port", "integer", sql='"Port-No"::int')]
    made, extra, _ = fit(columns, {"client": ["a:1", "-"], "Port-No": ["5", "6"], "other": ["-", "-"]})
    assert made == {"client": ["a:1", None], "Port-No": ["5", "6"]}
    assert extra is None


def test_one_field_may_feed_several_columns() -> None:
    made, _, _ = fit([col("a", "integer", "x"), col("b", "varchar", "x")], {"x": ["1", "2"]})
    assert made == {"a": [1, 2], "b": ["1", "2"]}


def test_lines_that_were_not_utf8_are_flagged() -> None:
    arrays = {"a": pa.array(["x", "y"])}
    _, extra, flagged = Fitter(table(col("a")), ["a"]).fit(arrays, 2, invalid=[1])
    assert extra.to_pylist() == [None, '{"tp_misfit":{"tp_line":"invalid utf-8"}}']
    assert flagged == 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=6), min_size=1, max_size=8), st.sampled_from(["integer", "double", "json"]))
def test_every_text_is_a_value_or_a_misfit(texts: list[str], kind: str) -> None:
    made, extra, flagged = fit([col("a", kind)], {"a": list(texts)}, null=None)
    wrong = [e["tp_misfit"]["a"] if e else None for e in extra or [None] * len(texts)]
    for text, value, misfit in zip(texts, made["a"], wrong, strict=True):
        assert (value is not None) + (misfit == text) == (text != "")
    assert flagged == sum(w is not None for w in wrong)


@given(
    texts=st.lists(st.sampled_from(["-", "", "a", "--", "b-", "é", None]), max_size=20),
    first=st.integers(0, 20),
    markers=st.lists(st.sampled_from(["-", "", "--", "é", None]), max_size=2),
)
def test_texts_that_mean_null_are_null(texts: list[str | None], first: int, markers: list[str | None]) -> None:
    found = null_where(pa.array(texts, pa.string()).slice(first), *markers)
    found.validate(full=True)
    assert found.to_pylist() == [None if text in markers else text for text in texts[first:]]
