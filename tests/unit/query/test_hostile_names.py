"""Names and values full of quotes and SQL are names and values."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import duckdb
import pytest
from logfiles import write
from smalllake import answer, engine
from world import World

from tailrace.lake.quoting import literal, quoted
from tailrace.query.connect import connect
from tailrace.query.filters import Schema, Scope
from tailrace.query.limits import Limits
from tailrace.query.shell.completing import complete
from tailrace.query.shell.names import LakeNames
from tailrace.query.shell.session import Session

COLUMN = """a"b'c; drop table x; --"""
INDEX = """o'hara"; drop table x; --"""
SCHEMA = """it's "q1"; drop schema main; --"""
CONFIG = """
table "odd-names" {{
  column "tp_timestamp" {{ source = "at" }}
  column {column} {{ source = "odd" }}
  column "who" {{}}
}}
partition "odd-names" "main part" {{
  tp_index = "who"
  source "file" {{ paths = [{paths}] }}
}}
"""


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("odd") / """it's; drop table "x" --"""
    lines = [{"at": f"2024-01-{day:02}T00:00:00Z", "odd": f"v{day}", "who": INDEX} for day in range(1, 13)]
    write(root / "logs" / "a.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    world = World(root / "home")
    world.write_config(CONFIG.format(column=json.dumps(COLUMN), paths=json.dumps(str(root / "logs"))))
    assert all(report.clean for report in world.collect())
    return world


@pytest.mark.parametrize("limits", [Limits(), Limits(sandboxed=True)])
def test_queries(odd: World, limits: Limits) -> None:
    made = engine(odd, Schema(SCHEMA), scope=Scope(indexes=(INDEX,)), limits=limits)
    sql = f'select {quoted(COLUMN)} from {quoted(SCHEMA)}."odd-names" where tp_index = $who and tp_date = $day'
    (result,) = made.run(sql, {"who": INDEX, "day": "2024-01-07"})
    assert (result.columns, list(result.rows)) == ((COLUMN,), [("v7",)])
    assert answer(made, f'select count(*) from "odd-names" where tp_index <> {literal(INDEX)}') == [(0,)]


def test_the_shell(odd: World) -> None:
    out = io.StringIO()

    @contextmanager
    def shown() -> Iterator[TextIO]:
        yield out

    made = engine(odd, Schema(SCHEMA))
    session = Session(made, shown, lambda _: None, "csv")
    session.enter(".inspect odd-names")
    assert COLUMN.replace('"', '""') in out.getvalue()
    (found,) = complete("select a", ' from "odd-names"', LakeNames(made))[:1]
    assert found.text == quoted(COLUMN)


def test_other_programs(odd: World, tmp_path: Path) -> None:
    made = connect(engine(odd, Schema(SCHEMA)), tmp_path / "it's")
    script = duckdb.connect()
    script.execute(made.script.read_text())
    for connection in (script, duckdb.connect(str(made.database), read_only=True)):
        sql = f'select max({quoted(COLUMN)}) from {quoted(SCHEMA)}."odd-names"'
        assert connection.execute(sql).fetchall() == [("v9",)]
