"""Options that DuckDB's reader of CSV has: the same files read with the same meaning."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layoutread import Chunks

from tailrace.core import Column, Common, Delimited, Table, col
from tailrace.formats import decoder
from tailrace.formats.base import Bad

ABC = (col("a"), col("b"), col("c"))


def read(data: str, *columns: Column, **options: Any) -> tuple[list[dict[str, Any]], list[Bad]]:
    fmt = Delimited(**options)
    table = Table("t", "", fmt, columns or ABC, Common(time=()))
    rows: list[tuple[int, dict[str, Any]]] = []
    bad: list[Bad] = []
    for batch in decoder(table, fmt).decode(Chunks([data.encode()])):
        for row, at in enumerate(batch.positions.tolist()):
            values = {name: array[row].as_py() for name, array in batch.columns.items()}
            extra = batch.extra[row].as_py() if batch.extra is not None else None
            rows.append((at, values | ({"extra": json.loads(extra)} if extra else {})))
        bad += batch.bad
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])], bad


def test_missing_fields_are_null() -> None:
    rows, bad = read("a,b,c\n1,2,3\n1,2\n1\n1,2,3,4\n7,8,9\n", null_padding=True)
    assert [(row["a"], row["b"], row["c"]) for row in rows] == [
        ("1", "2", "3"),
        ("1", "2", None),
        ("1", None, None),
        ("7", "8", "9"),
    ]
    assert [b.reason for b in bad] == ["delimited: 4 fields instead of 3"]


def test_without_padding_they_are_refused() -> None:
    rows, bad = read("a,b,c\n1,2\n1\n", header=True)
    assert rows == []
    assert [b.reason for b in bad] == ["delimited: 2 fields instead of 3", "delimited: 1 field instead of 3"]


def test_quoted_nulls() -> None:
    data = 'a,b,c\nNULL,"NULL",x\n'
    assert read(data, null_str="NULL")[0] == [{"a": None, "b": None, "c": "x"}]
    assert read(data, null_str="NULL", allow_quoted_nulls=False)[0] == [{"a": None, "b": "NULL", "c": "x"}]


def test_fields_in_which_nothing_means_null() -> None:
    assert read("a,b,c\n-,-,\n", null_str="-", force_not_null=("b",))[0] == [{"a": None, "b": "-", "c": ""}]
    assert read("a,b,c\n,,x\n", force_not_null=("a",))[0] == [{"a": "", "b": None, "c": "x"}]


def test_fractions_behind_a_comma() -> None:
    columns = (col("a", "double"), col("b", "decimal(10,2)"), col("c"))
    rows, _ = read("a;b;c\n1,5;12,34;1,5\n2;3;x\nmany;1,2,3;y\n", *columns, delimiter=";", decimal_separator=",")
    assert [(row["a"], row["b"], row["c"]) for row in rows] == [
        (1.5, Decimal("12.34"), "1,5"),
        (2.0, Decimal("3.00"), "x"),
        (None, None, "y"),
    ]
    assert "tp_misfit" in rows[2]["extra"]


def test_times_in_a_format_of_their_own() -> None:
    columns = (col("a", "timestamp"), col("b", "timestamp", time="epoch_s"), col("c"))
    rows, _ = read("a,b,c\n31/12/2024 23:59,0,x\n2024-12-31,0,y\n", *columns, timestamp_format="%d/%m/%Y %H:%M")
    assert [row["a"] for row in rows] == [datetime(2024, 12, 31, 23, 59), None]
    assert [row["b"] for row in rows] == [datetime(1970, 1, 1)] * 2


def test_names_are_normalized() -> None:
    rows, _ = read("A,B-B,C c!\n1,2,3\n", col("a"), col("b_b"), normalize_names=True, header=True)
    assert rows == [{"a": "1", "b_b": "2", "extra": {"c_c": "3"}}]


def test_lines_that_end_with_a_return() -> None:
    assert len(read("a,b,c\r1,2,3\r4,5,6\r", new_line="\r")[0]) == 2


def test_long_lines_are_refused() -> None:
    rows, bad = read(f"a,b,c\n1,2,{'x' * 100}\n4,5,6\n", max_line_size=50)
    assert [row["a"] for row in rows] == ["4"]
    assert [b.reason for b in bad] == ["line: longer than 50 bytes"]


FIELD = st.text('ab 1,"\n-', max_size=6)


@settings(max_examples=15, deadline=None)
@given(rows=st.lists(st.lists(FIELD, min_size=1, max_size=3), min_size=1, max_size=6), quoted=st.booleans())
def test_padding_agrees_with_duckdb(
    rows: list[list[str]], quoted: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = ["a,b,c", *(",".join('"' + field.replace('"', '""') + '"' for field in row) for row in rows)]
    data = "\n".join(lines) + "\n"
    found, bad = read(data, null_padding=True, allow_quoted_nulls=quoted, header=True)
    path: Path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text(data)
    query = (
        "select * from read_csv(?, header=true, all_varchar=true, null_padding=true, parallel=false, delim=',', "
        f"quote='\"', escape='\"', auto_detect=false, allow_quoted_nulls={str(quoted).lower()}, "
        "columns={'a': 'varchar', 'b': 'varchar', 'c': 'varchar'})"
    )
    expected = duckdb.connect().execute(query, [str(path)]).fetchall()
    assert bad == []
    assert [(row["a"], row["b"], row["c"]) for row in found] == expected
