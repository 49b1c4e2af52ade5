"""What did not fit a computed column is kept as it was sent, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logfiles import write
from world import World

from tailrace.core import Column, col, struct
from tailrace.core.registry import find_table, table_names
from tailrace.pipeline.compute import Computer
from tailrace.pipeline.misfits import Misfits, told
from tailrace.pipeline.questions import Question


def misfits(columns: tuple[Column, ...], **fields: list[str | None]) -> Misfits:
    rows = len(next(iter(fields.values())))
    given = {name: pa.array(values, pa.string()) for name, values in fields.items()}
    refused, found = Computer(columns, None, ()).compute(given, rows)
    assert not refused
    return found


@pytest.mark.parametrize(
    "sql",
    [
        "port",
        "try_cast(port as bigint)",
        "try(port::bigint)",
        "case when port is not null then try_cast(port as double) end",
        "coalesce(try_cast(port as bigint), try_cast(port as double))",
    ],
)
def test_a_number_that_is_none(sql: str) -> None:
    found = misfits((col("n", "bigint", sql=sql),), port=["1", "http", "", None])
    assert found == {1: {"n": "http"}}


def test_times_made_of_several_fields() -> None:
    at = "coalesce(try_cast(iso as timestamp), try_strptime(day || ' ' || hour, ['%d.%m.%Y %H', '%Y %H']))"
    found = misfits(
        (col("at", "timestamp", sql=at),),
        iso=["2024-01-01", "soon", None, "x", None],
        day=[None, "31.02.2024", "01.02.2024", "01.02.2024", None],
        hour=[None, "7", "8", "9", None],
    )
    assert found == {1: {"at": {"iso": "soon", "day": "31.02.2024", "hour": "7"}}}


def test_documents_and_objects() -> None:
    columns = (
        col("doc", "json", sql="try(body::json)"),
        col(
            "who", struct(col("id", "bigint"), col("ids", "bigint[]")), sql="{'id': try_cast(id as bigint), 'ids': []}"
        ),
        col("one", struct(col("id", "bigint")), sql="{'id': try_cast(id as bigint)}"),
    )
    found = misfits(columns, body=["{}", "{", None], id=["1", "many", None])
    assert found == {1: {"doc": "{", "one": "many"}}


def test_null_that_is_meant_is_no_misfit() -> None:
    columns = (
        col("port", "bigint", sql="nullif(regexp_extract(client, ':([0-9]+)$', 1), '')"),
        col("other", "bigint", sql="regexp_extract(client, ':([0-9]+)$', 1)"),
        col("items", "bigint", sql="json_array_length(try(client::json) -> '$.list')"),
        col("number", "double", sql="case when kind = 'number' then try_cast(client as double) end"),
        col("text", sql="nullif(client, 'here')"),
    )
    assert misfits(columns[:2], client=["here", "10.0.0.1:80"]) == {}
    assert misfits(columns[2:], client=['{"a":1}', None], kind=["text", "number"]) == {}


def test_what_a_column_holds_anyway_is_not_kept_twice() -> None:
    columns = (col("port"), col("sent", src="size"), col("n", "bigint", sql="port"), col("m", "bigint", sql="size"))
    assert misfits(columns, port=["http"], size=["large"]) == {}


def test_expressions_that_cannot_be_asked_so() -> None:
    columns = (
        col("n", "bigint", sql="list_sum(list_transform(string_split(port, ','), lambda p: try_cast(p as bigint)))"),
        col(
            "m", "bigint", sql="(select max(try_cast(p as bigint)) from (select unnest(string_split(port, ',')) as p))"
        ),
    )
    assert misfits(columns, port=["1,2", "1,x"]) == {}
    assert misfits(columns, port=["x", None]) == {0: {"n": "x", "m": "x"}}


def test_they_join_what_is_told_already() -> None:
    extra = pa.array([None, '{"a":1}', '{"a":1,"tp_misfit":{"b":"2"}}', '{"c":3}'])
    found: dict[int, dict[str, Any]] = {row: {"n": "é\n"} for row in range(3)}
    joined, fresh = told(extra, found, 4)
    assert [json.loads(text) for text in joined.to_pylist()] == [
        {"tp_misfit": {"n": "é\n"}},
        {"a": 1, "tp_misfit": {"n": "é\n"}},
        {"a": 1, "tp_misfit": {"b": "2", "n": "é\n"}},
        {"c": 3},
    ]
    assert fresh.tolist() == [True, True, False, False]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.none() | st.text(max_size=4) | st.sampled_from(["1", "-7", "1e3", "0x10", "1.5", " 2"]), min_size=1))
def test_a_text_is_in_the_column_or_kept(texts: list[str | None]) -> None:
    texts = [None if text is None else text.replace("\0", "") for text in texts]
    columns = {"port": pa.array(texts, pa.string())}
    _, found = Computer((col("n", "bigint", sql="try_cast(port as bigint)"),), None, ()).compute(columns, len(texts))
    for row, (text, number) in enumerate(zip(texts, columns["n"].to_pylist(), strict=True)):
        assert found.get(row) == ({"n": text} if text and number is None else None)


def test_rows_are_stored_flagged_and_say_what_was_sent(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.csv", "moment;port\n2024-05-01;80\n2024-05-01;http\nsoon;\n")
    world.write_config(
        f"""
        format "delimited" "semi" {{
          delimiter = ";"
          header    = true
        }}
        partition "calls" "p" {{
          source "file" {{ paths = ["{tmp_path / "logs"}"] }}
        }}
        table "calls" {{
          format     = format.delimited.semi
          map_fields = ["other"]
          column "tp_timestamp" {{ transform = "try_cast(moment as timestamp)" }}
          column "port_number" {{
            type      = "integer"
            transform = "try_cast(port as integer)"
          }}
        }}
        """
    )
    (report,) = world.collect()
    counts = report.counts
    assert (counts.received, counts.stored, counts.quarantined, counts.flagged) == (3, 2, 1, 1)
    found = world.query("select port_number, tp_extra ->> '$.tp_misfit.port_number' from calls order by all")
    assert found == [(80, None), (None, "http")]
    ((reason,),) = world.query("select reason from tp_quarantine")
    assert reason == "row: no timestamp ('soon' in tp_timestamp is no time that the column's SQL reads)"


def test_values_that_all_misfit_take_one_question_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stands twice in an expression: by halves it would be a question for every row."""
    monkeypatch.setattr(Question, "_fine_by_halves", lambda *_: pytest.fail("rows are asked about one by one"))
    twice = "case when try_cast(amount as double) > 1 then try_cast(amount as double) end"
    columns = (col("n", "double", sql=twice), col("at", "timestamp", sql="try_strptime(day, '%Y-%m-%d')"))
    found = misfits(columns, amount=[f"x{n}" for n in range(100)], day=["soon"] * 100)
    assert found == {n: {"n": f"x{n}", "at": "soon"} for n in range(100)}


def test_rows_of_built_in_tables_are_not_asked_about_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Question, "_fine_by_halves", lambda *_: pytest.fail("rows are asked about one by one"))
    tables = [found for name in table_names() if (found := find_table(name))]
    computers = [Computer(table.columns, None, ()) for table in tables]
    misfit = 0
    for computer in (c for c in computers if c.expressions):
        for text in ("garbage", "31.05.2024", '{"a": 1}', "12,5"):
            fields = {
                name: pa.array([text] * 3) if kind == pa.string() else pa.nulls(3, kind)
                for name, kind in computer.fields.items()
            }
            misfit += len(computer.compute(fields, 3).misfits)
    assert misfit
