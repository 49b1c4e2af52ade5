"""Answers that cannot be what their columns say are told by column and window, whatever is written of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from otaptables import START, simple, write
from windowruns import results, run, told

from tailrace.core.errors import DataError, QueryError

WHOLE = "_part_id, parent_id, key, type, str, int, double, bool, bytes, ser"
SELECTING = {
    "_part_id": "[_part_id] AS _part_id",
    "parent_id": "'log ' || parent_id AS parent_id",
    "key": "[key] AS key",
    "type": "300 AS type",
    "int": "10::HUGEINT ** 20 AS int",
    "double": "'much' AS double",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "in", simple("shop", ["a", "b"], time=START))
    return tmp_path


@pytest.mark.parametrize("form", ["otlp_json", "otap_parquet"])
@pytest.mark.parametrize("name", SELECTING)
def test_a_column_that_is_not_of_its_type(name: str, form: str, root: Path) -> None:
    query = f"SELECT {WHOLE.replace(name, SELECTING[name], 1)} FROM log_attributes"
    with pytest.raises(QueryError, match=f"'{name}' of the answer is not of type") as failure:
        run(root, query=query, form=form)
    assert (failure.value.code, failure.value.where) == ("query.answer", "window=20260921T141400Z")
    assert results(root) == {}


def test_a_type_that_there_is_not(root: Path) -> None:
    with pytest.raises(QueryError, match="from 0 to 7"):
        run(root, query="SELECT _part_id, parent_id, 'k' AS key, 9 AS type, 'x' AS str FROM log_attributes")


def test_a_name_that_is_there_twice(root: Path) -> None:
    query = "SELECT la.*, l.* FROM log_attributes la JOIN logs l ON l.id = la.parent_id AND l._part_id = la._part_id"
    with pytest.raises(QueryError, match="2 columns called '_part_id'") as failure:
        run(root, query=query)
    assert "la.*" in str(failure.value.hint)


def test_keys_that_are_numbers_are_texts(root: Path) -> None:
    run(root, query="SELECT _part_id, parent_id, 5 AS key, 'five' AS str FROM log_attributes")
    assert all("five" in str(record) for record in told(root))
    assert sum(told(root).values()) == 2


@pytest.mark.parametrize("value", ["INTERVAL 1 DAY", "{}", "union_value(a := 1)"])
def test_a_report_that_parquet_cannot_hold(value: str, root: Path) -> None:
    with pytest.raises(QueryError, match="cannot be written as Parquet") as failure:
        run(root, query=f"SELECT {value} AS v FROM logs")
    assert (failure.value.code, failure.value.where) == ("query.answer", "window=20260921T141400Z")


@pytest.mark.parametrize("form", ["otlp_json", "otlp_proto"])
def test_a_list_that_is_no_list(form: str, root: Path) -> None:
    query = r"SELECT _part_id, parent_id, 'k' AS key, '\xFF\x00'::BLOB AS ser FROM log_attributes"
    with pytest.raises(DataError, match="a map or list is no CBOR") as failure:
        run(root, query=query, form=form)
    assert (failure.value.code, failure.value.where) == ("window.damaged-value", "window=20260921T141400Z")
