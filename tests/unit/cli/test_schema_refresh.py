"""`tailrace schema refresh`, and what `list` and `show` tell of snapshots, in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from smalllake import expected, made_in
from typed import rows, run
from world import World

from tailrace.core import QueryError, UsageError

SCHEMAS = """
schema "aws_q1_materialized" {
    types        = ["hits"]
    start_date   = "2024-01-01"
    end_date     = "2024-03-31"
    materialized = true   // what does this mean for a schema?
}
schema "calls_kept" {
    tables       = ["calls"]
    materialized = true
}
schema "live" {}
"""
ROWS = sum(row.table == "hits" and str(row.time) < "2024-04-01" for row in expected())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return made_in(tmp_path, SCHEMAS)


def test_refresh_list_and_show(world: World) -> None:
    with pytest.raises(QueryError, match="schema aws_q1_materialized has never been refreshed"):
        run(world, "query", "select count(*) from aws_q1_materialized.hits")
    listed = {row["name"]: row for row in rows(world, "schema", "list")}
    assert listed["aws_q1_materialized"]["refreshed"] is None
    patterns = {name: row["tables"] for name, row in listed.items()}
    assert patterns["live"] == ["*"]
    assert patterns["aws_q1_materialized"] == rows(world, "schema", "show", "aws_q1_materialized")["tables"]
    assert [name for name, row in listed.items() if row["materialized"]] == ["aws_q1_materialized", "calls_kept"]
    (found,) = rows(world, "schema", "refresh", "aws_q1_materialized")
    assert (found["tables"], found["rows"], found["files"]) == (1, ROWS, 18)
    assert found["versions"][0]["table"] == "hits"
    assert rows(world, "query", "select count(*) as n from hits", "--schema", "aws_q1_materialized") == [{"n": ROWS}]
    listed = {row["name"]: row for row in rows(world, "schema", "list")}
    assert {name: row["tables"] for name, row in listed.items()} == patterns
    assert (listed["aws_q1_materialized"]["rows"], listed["calls_kept"]["rows"]) == (ROWS, None)
    shown = rows(world, "schema", "show", "aws_q1_materialized")
    assert shown["refreshed"] == found["refreshed"]
    assert shown["snapshot"] == found["versions"]
    assert shown["holds"] == ["hits.web", "hits.api-1"]
    assert "snapshot" not in rows(world, "schema", "show", "live")


def test_all_materialised_schemas_or_those_named(world: World) -> None:
    assert [row["name"] for row in rows(world, "schema", "refresh")] == ["aws_q1_materialized", "calls_kept"]
    assert [row["name"] for row in rows(world, "schema", "refresh", "*l*")] == ["aws_q1_materialized", "calls_kept"]
    assert [row["name"] for row in rows(world, "schema", "refresh", "calls_kept")] == ["calls_kept"]
    with pytest.raises(UsageError) as raised:
        run(world, "schema", "refresh", "live")
    assert raised.value.hint == "add materialized = true to its block, or leave it out here"
    with pytest.raises(UsageError, match="no schema is called 'calls_kep'"):
        run(world, "schema", "refresh", "calls_kep")


def test_for_people(world: World) -> None:
    done = run(world, "schema", "refresh")
    assert "calls_kept" in done.stdout
    assert done.stderr == ""
    assert "REFRESHED" in run(world, "schema", "list").stdout


def test_nothing_to_refresh(world: World) -> None:
    world.write_config('schema "live" {}')
    assert rows(world, "schema", "refresh") == []
