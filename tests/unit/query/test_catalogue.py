"""Which tables a statement opens: those that it names, or all when it asks what there is."""

from __future__ import annotations

import pytest
from logfiles import access_lines, today, write
from world import World

from tailrace.query.engine import Engine


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("catalogue")
    world = World(root / "home")
    write(root / "access.log", access_lines(today(), 3))
    tables = ("nginx_access_log", "apache_access_log")
    world.write_config("\n".join(f'partition "{t}" "web" {{ source "file" {{ paths = ["{root}"] }} }}' for t in tables))
    assert all(report.clean for report in world.collect())
    return world


def opened(world: World, sql: str) -> set[str]:
    made = Engine(world.lake)
    assert [row for result in made.run(sql) for row in result.rows]
    return set(made.tables.opened)


@pytest.mark.parametrize(
    "sql",
    [
        "select * from nginx_access_log order by status desc",
        "select status, row_number() over (order by status desc) from nginx_access_log;",
        "describe nginx_access_log",
        "desc nginx_access_log",
        "from (show nginx_access_log)",
        "summarize nginx_access_log",
        "pragma table_info('nginx_access_log')",
        "select '(describe)', 'information_schema' from nginx_access_log -- show tables",
    ],
)
def test_only_tables_that_are_named_are_opened(filled: World, sql: str) -> None:
    assert opened(filled, sql) == {"nginx_access_log"}


@pytest.mark.parametrize(
    "sql",
    [
        "show tables",
        "/* all */ show all tables",
        "describe;",
        "from (show tables) where name = 'nginx_access_log'",
        "create table kept as show tables",
        "pragma show_tables",
        "select view_name from duckdb_views() where view_name like '%log'",
        "select table_name from information_schema.tables",
        "select name from sqlite_master",
        "select relname from pg_catalog.pg_class",
    ],
)
def test_a_question_about_all_tables_opens_all(filled: World, sql: str) -> None:
    assert opened(filled, sql) >= {"nginx_access_log", "apache_access_log"}
