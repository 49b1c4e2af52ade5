"""Headers in any spelling, and fields that are gathered by the beginning of their names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core import Common, Delimited, Table, col
from tailrace.formats.delimited import delimited_decoder
from tailrace.formats.feed import Once
from tailrace.formats.gathering import gather, snake

FORMAT = Delimited(header=True, loose=True)
TAGS = col("resource_tags", "json", src="resourceTags/*")
TABLE = Table("t", "", FORMAT, (col("line_item_id"), col("cost", "double"), TAGS), Common(time=()))


def read(text: str) -> list[tuple[str | None, float | None, str | None]]:
    (batch,) = [b for b in delimited_decoder(TABLE, FORMAT).decode(Once(text.encode())) if b.rows]
    columns = [batch.columns.get(name) for name in ("line_item_id", "cost", "resource_tags")]
    return [tuple(None if c is None else c[row].as_py() for c in columns) for row in range(batch.rows)]  # type: ignore[misc]


@pytest.mark.parametrize("header", ["lineItem/Id,Cost", "line_item_id,cost", "LineItemId,COST", "Line Item ID,cost"])
def test_names_are_the_same_in_any_spelling(header: str) -> None:
    assert read(f"{header}\na,1.5\n") == [("a", 1.5, None)]


def test_fields_are_gathered_and_nulls_are_left_out() -> None:
    text = 'lineItem/Id,resourceTags/user:Team,resourceTags/aws:createdBy\na,"w""e b",\nb,,\nc,x,y\n'
    assert [row[2] for row in read(text)] == [
        '{"user_team":"w\\"e b"}', None, '{"user_team":"x","aws_created_by":"y"}'
    ]  # fmt: skip


def test_a_field_that_holds_all_of_them_is_taken_as_it_is() -> None:
    assert read('line_item_id,resource_tags\na,"{""user_team"":""x""}"\n') == [("a", None, '{"user_team":"x"}')]


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("ProductName", "product_name"),
        ("user:CostCenter", "user_cost_center"),
        ("vcpu", "vcpu"),
        ("EBSOnly", "ebs_only"),
    ],
)
def test_keys_are_in_small_letters(name: str, spelled: str) -> None:
    assert snake(name) == spelled


def test_other_sources_gather_nothing() -> None:
    assert gather("product", ["product/a"]) == gather("*", ["a"]) == {}


@given(st.lists(st.text(max_size=5), min_size=1, max_size=5))
def test_whatever_is_written_is_gathered(values: list[str]) -> None:
    names = ",".join(f"resourceTags/k{n}" for n in range(len(values)))
    quoted = ",".join('"' + value.replace('"', '""') + '"' for value in values)
    ((_, _, tags),) = read(f"line_item_id,{names}\na,{quoted}\n")
    assert json.loads(tags or "{}") == {f"k{n}": value for n, value in enumerate(values) if value}
