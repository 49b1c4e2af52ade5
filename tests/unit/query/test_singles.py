"""Numbers of 32 bits are written as DuckDB writes them, in every form of text."""

from __future__ import annotations

import io
import math
import struct
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tailrace
from tailrace.lake.paths import Lake
from tailrace.query.engine import Engine
from tailrace.query.render import RENDERERS, render
from tailrace.query.singles import shortest

singles = st.floats(width=32, allow_nan=False, allow_infinity=False)
SAID = duckdb.connect()
QUERY = """
select 0.15::float as f, 0.15::double as d, 0.15::float::double as wide, [0.1::float, null] as l,
       {'f': 0.3::float, 'd': 0.3::double, 'l': [0.7::float]} as s, map {'k': 0.2::float} as m, null::float as none,
       array_value(0.9::float) as a, row(1, 0.6::float) as r, 'FLOAT'::enum('FLOAT') as e
"""


@given(singles)
def test_as_duckdb_writes_them(value: float) -> None:
    near = shortest(value)
    assert near is not None
    assert struct.pack("f", near) == struct.pack("f", value)
    ((text,),) = SAID.execute("select $value::float::varchar", {"value": value}).fetchall()
    assert float(text) == near
    digits = [repr(number).partition("e")[0].strip("-").replace(".", "").strip("0") for number in (near, float(text))]
    assert digits[0] == digits[1]


def test_what_is_no_number_stays() -> None:
    assert shortest(None) is None
    assert shortest(math.inf) == math.inf
    assert math.isnan(shortest(math.nan) or 0)
    assert shortest(struct.unpack("f", b"\xff\xff\x7f\x7f")[0]) == 3.4028235e38


@pytest.mark.parametrize("form", sorted(RENDERERS))
def test_every_form(tmp_path: Path, form: str) -> None:
    (result,) = Engine(Lake(tmp_path)).run(QUERY)
    out = io.StringIO()
    render(result, form, out)
    text = out.getvalue()
    assert text.count("0.15000000596046448") == 1, "it is a double now"
    for number in ("0.15", "0.1", "0.3", "0.7", "0.2", "0.9", "0.6"):
        assert number in text
    assert text.count("000000") == 1


def test_in_a_notebook(tmp_path: Path) -> None:
    answer = tailrace.open(tmp_path).sql(QUERY)
    for text in (repr(answer), answer._repr_html_()):
        assert text.count("000000") == 1
    assert answer.rows()[0][0] == pytest.approx(0.15)
