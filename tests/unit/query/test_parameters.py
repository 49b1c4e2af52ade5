"""`$1` and `$name`: values are values, whatever they hold."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from smalllake import answer, engine, files_opened, made_in
from world import World

from tailrace.core import QueryError, UsageError
from tailrace.lake.paths import Lake
from tailrace.query.engine import Engine
from tailrace.query.parameters import parameters_of, with_values

texts = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"))


@pytest.fixture(scope="module")
def empty() -> Engine:
    return Engine(Lake(Path("/nowhere")))


def one(made: Engine, sql: str, values: dict[str, Any]) -> Any:
    (result,) = made.run(sql, values)
    ((found,),) = result.rows
    return found


@given(text=texts)
def test_any_text_comes_back(empty: Engine, text: str) -> None:
    assert one(empty, "select $1", {"1": text}) == text
    assert one(empty, "select length($name)", {"name": text}) == len(text)


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -7, 2**70, 1.5, -0.1, 1e300, Decimal("-12.50"), date(2024, 2, 29),
        datetime(2024, 1, 2, 3, 4, 5, 600), datetime(2024, 1, 2, tzinfo=UTC), b"\x00'\xff", [1, 2], ["a'b", None],
    ],
)  # fmt: skip
def test_values_of_python_come_back(empty: Engine, value: Any) -> None:
    assert one(empty, "select $v", {"v": value}) == value


def test_a_number_below_zero_is_one_value(empty: Engine) -> None:
    assert one(empty, "select 1-$v", {"v": -7}) == 8


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select $1, $2", {"1", "2"}),
        ("select $Name + $name", {"name"}),
        ("select '$a', \"$b\", $$ $c $$, $t$ $d $t$, E'\\'$e' -- $f\n /* $g */", set()),
        ("select 'é', $é", {"é"}),
        ("select 1", set()),
    ],
)
def test_where_parameters_stand(sql: str, names: set[str]) -> None:
    assert parameters_of(sql) == names
    bound = with_values(sql, dict.fromkeys(names, 5))
    assert parameters_of(bound) == set()
    assert bound.count("(5)") == sum(sql.lower().count(f"${name}") for name in names)


def test_a_value_that_is_missing(empty: Engine) -> None:
    with pytest.raises(QueryError) as raised:
        one(empty, "select $missing", {})
    assert "missing" in raised.value.message
    assert "--param NAME=VALUE" in (raised.value.hint or "")


@pytest.mark.parametrize("value", ["a\0b", object(), {"a": 1}])
def test_values_that_cannot_be_given(empty: Engine, value: Any) -> None:
    with pytest.raises(UsageError):
        one(empty, "select $v", {"v": value})


def test_files_are_left_out_by_a_parameter(tmp_path: Path) -> None:
    world: World = made_in(tmp_path)
    sql = "select count(*) from hits where tp_date = $day"
    (result,) = engine(world).run(sql, {"day": "2024-03-29"})
    assert list(result.rows) == [(18,)]
    all_files = files_opened(engine(world), "select sum(n) from hits")
    few = files_opened(engine(world), with_values(sql.replace("count(*)", "sum(n)"), {"day": "2024-03-29"}))
    assert len(few) == len(all_files) // 4
    assert answer(engine(world), with_values("select count(*) from hits where n < $1", {"1": "10"})) == [(10,)]
