"""What the shell offers where the cursor is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from smalllake import engine as engine_over
from smalllake import made_in
from world import World

from tailrace.core.registry import find_table
from tailrace.query.engine import Engine
from tailrace.query.filters import Schema
from tailrace.query.shell.completing import complete
from tailrace.query.shell.names import LakeNames

FIELDS = {
    ("trail",): ["user_identity", "event_name", "tp_date"],
    ("trail", "user_identity"): ["user_name", "session"],
    ("trail", "user_identity", "session"): ["mfa"],
    ("my-orders",): ["Id", "total price"],
}


class Few:
    """A catalogue of two tables."""

    def schemas(self) -> list[str]:
        return ["recent", "tailrace"]

    def tables(self, schema: str | None = None) -> list[str]:
        return ["trail"] if schema == "recent" else ["my-orders", "trail"]

    def fields(self, table: str, path: Sequence[str] = ()) -> list[tuple[str, str]]:
        return [(name, "VARCHAR") for name in FIELDS.get((table, *path), [])]

    def functions(self) -> list[str]:
        return ["count", "date_trunc"]

    def keywords(self) -> list[str]:
        return ["select", "from", "where", "group"]


def offered(text: str) -> list[str]:
    """At the place of the bar."""
    before, _, after = text.partition("^")
    return [candidate.text for candidate in complete(before, after, Few())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sel^", ["select"]),
        ("SEL^", ["SELECT"]),
        ("select * from ^", ['"my-orders"', "trail", "recent", "tailrace"]),
        ("select * from tr^", ["trail"]),
        ('select * from "my^', ['"my-orders"']),
        ("select * from recent.^", ["trail"]),
        ("select * from trail, ^", ['"my-orders"', "trail", "recent", "tailrace"]),
        ("select * from trail t join ^", ['"my-orders"', "trail", "recent", "tailrace"]),
        ("select ev^ from trail", ["event_name"]),
        ("select e^, 1 from trail where 1", ["event_name"]),
        ("select * from trail where user_identity.^", ["user_name", "session"]),
        ("select * from trail where user_identity.s^", ["session"]),
        ("select t.user_identity.session.^ from trail t", ["mfa"]),
        ("select t.^ from trail as t", ["user_identity", "event_name", "tp_date"]),
        ('select o.^ from "my-orders" o', ["Id", '"total price"']),
        ("select trail.ev^ from trail", ["event_name"]),
        ("select 1; select ev^ from trail; select 2", ["event_name"]),
        ("select * from trail where event_name = 'sel^", []),
        ("select 1 -- sel^", []),
        ("describe tr^", ["trail"]),
        ("with x as (select 1) select * from x^", ["x"]),
        ("select cou^ from trail", ["count"]),
        (".ins^", [".inspect"]),
        (".inspect tr^", ["trail"]),
        (".output js^", ["json", "jsonl"]),
        (".timing o^", ["on", "off"]),
    ],
)
def test_candidates(text: str, expected: list[str]) -> None:
    assert offered(text) == expected


@given(st.text(alphabet="select from .,()'\";-/*trail é日\n", max_size=40), st.integers(0, 40))
def test_no_text_is_too_odd(text: str, at: int) -> None:
    for candidate in complete(text[:at], text[at:], Few()):
        assert candidate.replaced <= at


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made_in(tmp_path_factory.mktemp("completing"))


def test_names_of_a_lake(filled: World) -> None:
    names = LakeNames(engine_over(filled, Schema("q1", tables=("h*",))))
    assert names.tables() == ["calls", "hits", "tp_quarantine"]
    assert names.tables("q1") == ["hits"]
    assert names.schemas() == ["q1", "tailpipe", "tailrace"]
    assert ("n", "INTEGER") in names.fields("hits")
    assert ("reason", "VARCHAR") in names.fields("tp_quarantine")
    assert names.fields("absent") == []
    assert "date_trunc" in names.functions()
    assert "select" in names.keywords()


def test_structs_of_a_table_without_rows(tmp_path: Path) -> None:
    from tailrace.lake.paths import Lake

    table = find_table("aws_cloudtrail_log")
    assert table is not None
    names = LakeNames(Engine(Lake(tmp_path), lambda: {"aws_cloudtrail_log": table}))
    assert "session_context" in [name for name, _ in names.fields("aws_cloudtrail", ["user_identity"])]
    found = complete("select user_identity.session_context.se", " from aws_cloudtrail_log", names)
    assert "session_issuer" in [candidate.text for candidate in found]


def test_own_tables_are_offered(filled: World) -> None:
    made = engine_over(filled)
    list(made.run("create table mine as select 1"))
    assert "mine" in LakeNames(made).tables()
