"""SQL over a small lake."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from logfiles import CLOUDTRAIL_LAYOUT, access_lines, cloudtrail, today, write
from world import World

from tailrace.config.tables import tables_for
from tailrace.core import QueryError
from tailrace.core.registry import find_table
from tailrace.query import views as views_module
from tailrace.query.engine import Engine, Result
from tailrace.query.failures import refused
from tailrace.query.limits import Limits

DAYS = 10
ROWS = 20
"Per day."


def engine(world: World) -> Engine:
    config = world.config()
    names = {"nginx_access_log", "apache_access_log", "aws_cloudtrail_log", *(t.name for t in config.tables)}
    return Engine(world.lake, lambda: {name: tables_for(config, name) for name in names})


def answers(made: Engine, sql: str) -> list[tuple[Result, list[tuple[Any, ...]]]]:
    return [(result, list(result.rows)) for result in made.run(sql)]


def rows(made: Engine, sql: str) -> list[tuple[Any, ...]]:
    return answers(made, sql)[-1][1]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ten days of requests and of API calls, a file each."""
    root = tmp_path_factory.mktemp("filled")
    for number in range(DAYS):
        day = today() - timedelta(days=number)
        write(root / "logs" / "web" / f"{day}.log", access_lines(day, ROWS))
        cloudtrail(root / "logs" / "trail", day, ROWS)
    world = World(root / "home")
    world.write_config(f"""
        partition "nginx_access_log" "web" {{ source "file" {{ paths = ["{root}/logs/web"] }} }}
        partition "aws_cloudtrail_log" "trail" {{
          source "file" {{
            paths = ["{root}/logs/trail"]
            file_layout = `{CLOUDTRAIL_LAYOUT}`
          }}
        }}
    """)
    assert all(report.clean for report in world.collect())
    return world


@pytest.fixture
def empty(world: World) -> World:
    world.write_config('table "my-orders" { column "tp_timestamp" { source = "at" } }')
    return world


def test_tables_exist_before_anything_is_collected(empty: World) -> None:
    made = engine(empty)
    ((result, found),) = answers(made, "select * from aws_cloudtrail_log")
    table = find_table("aws_cloudtrail_log")
    assert table is not None
    assert found == []
    assert result.columns[: len(table.columns)] == tuple(c.name for c in table.columns)
    assert result.columns[-1] == "tp_extra"
    assert rows(made, "select count(*) from tp_quarantine") == [(0,)]


def test_columns_have_the_same_types_empty_and_filled(empty: World, filled: World) -> None:
    sql = "select * from aws_cloudtrail_log limit 1"
    ((before, _),), ((after, _),) = answers(engine(empty), sql), answers(engine(filled), sql)
    assert (before.columns, before.types) == (after.columns, after.types)
    assert dict(zip(after.columns, after.types, strict=True))["request_parameters"] == "JSON"


def test_json_columns_answer_json_operators(filled: World) -> None:
    sql = """select request_parameters ->> 'bucketName', request_parameters.number::int
             from aws_cloudtrail_log order by 2 desc"""
    assert rows(engine(filled), sql)[0] == ("logs", ROWS - 1)


@pytest.mark.parametrize(
    "name", ["nginx_access_log", "NGINX_Access_Log", '"nginx_access_log"', "aws_cloudtrail", "aws_cloudtrail_log"]
)
def test_names(filled: World, name: str) -> None:
    assert rows(engine(filled), f"select count(*) from {name}") == [(DAYS * ROWS,)]


def test_names_that_are_no_single_word(empty: World) -> None:
    assert rows(engine(empty), 'select * from "my-orders"') == []


def test_catalogue_lists_all_tables(filled: World) -> None:
    names = {name for (name, *_) in rows(engine(filled), "show tables")}
    assert {"nginx_access_log", "apache_access_log", "tp_quarantine"} <= names
    described = rows(engine(filled), "describe nginx_access_log")
    assert ("status", "INTEGER") in [row[:2] for row in described]


def test_times_are_compared_with_now(filled: World) -> None:
    made = engine(filled)
    ((one, two, kind),) = rows(
        made,
        """select count(*) filter (where tp_timestamp > now() - interval 36 hours),
                  count(*) filter (where tp_timestamp > current_timestamp - interval 36 hours), typeof(now())
           from nginx_access_log""",
    )
    assert one == two
    assert ROWS <= one <= 3 * ROWS
    assert kind == "TIMESTAMP"


@pytest.mark.parametrize(
    "text", ["'current_timestamp'", "'it''s current_timestamp'", "$$current_timestamp$$", "$a$ current_timestamp $a$"]
)
def test_texts_are_left_alone(empty: World, text: str) -> None:
    assert "current_timestamp" in rows(engine(empty), f"select {text} -- current_timestamp")[0][0]


def test_times_with_zone_can_be_shown(empty: World) -> None:
    assert str(rows(engine(empty), "select to_timestamp(0)")[0][0]) == "1970-01-01 00:00:00+00:00"


@pytest.mark.parametrize("end", ["", ";", "; -- and so on", " -- and so on", "\n;\n"])
def test_spans_are_told_in_the_words_of_duckdb(empty: World, end: str) -> None:
    """Python knows no months, and no span of a million years."""
    sql = "select interval 14 month as a, n as a, null::interval as c, interval 1000000 year as d from range(2) t(n)"
    ((result, found),) = answers(engine(empty), f"{sql} order by n desc{end}")
    assert result.columns == ("a", "a", "c", "d")
    assert found == [("1 year 2 months", n, None, "1000000 years") for n in (1, 0)]
    ((_, found),) = answers(engine(empty), "select timestamp '2024-05-02 03:00' - timestamp '2024-05-01 01:30' as i")
    assert found == [("1 day 01:30:00",)]


def test_several_statements(filled: World) -> None:
    found = answers(
        engine(filled), "create table t as select status from nginx_access_log; select count(*) from t; select 2"
    )
    assert [rows for _, rows in found[1:]] == [[(DAYS * ROWS,)], [(2,)]]


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("select * from nginx_acess_log", "did you mean 'nginx_access_log'?"),
        ("select * from zzz", "`tailrace table list` shows what there is"),
        ("select no_such_fn(1)", "`from duckdb_functions()` lists what there is"),
        ("select uper('x')", "did you mean 'upper'?"),
        ("select nothing from nginx_access_log", None),
        ("selec 1", None),
        ("select 1/'x'::int", None),
        ("select 'x'::int from nginx_access_log", None),
    ],
)
def test_errors_are_the_engine_s_own(filled: World, sql: str, hint: str | None) -> None:
    with pytest.raises(QueryError) as caught:
        answers(engine(filled), sql)
    assert caught.value.hint == hint
    assert "Error" in caught.value.message


def test_of_an_error_in_duckdb_itself_the_message_is_told() -> None:
    told = refused(duckdb.InternalException("INTERNAL Error: a bug\n\nStack Trace:\n\n/lib/_duckdb.so(x) [0x7f]"))
    assert told.message == "INTERNAL Error: a bug"


def test_a_row_that_fails_late_is_an_error_too(empty: World) -> None:
    with pytest.raises(QueryError):
        answers(engine(empty), "select case when i = 99999 then error('late') else i end from range(100000) t(i)")


def opened(made: Engine, view: str) -> int:
    """How many files the view reads."""
    ((text,),) = made.connection.execute("select sql from duckdb_views() where view_name = ?", [view]).fetchall()
    return str(text).count(".parquet")


@pytest.mark.parametrize(
    ("where", "files"),
    [
        ("tp_date = current_date", 1),
        ("tp_timestamp >= current_date - 2", 3),
        ("tp_timestamp::date = current_date - 3", 1),
        ("tp_partition = 'other'", 0),
        ("status = 600", 0),
        ("status in (200, 500)", DAYS),
        ("lower(request_uri) = '/'", DAYS),
    ],
)
def test_files_that_cannot_matter_are_not_opened(filled: World, where: str, files: int) -> None:
    made = engine(filled)
    rows(made, f"select * from nginx_access_log where {where}")
    assert opened(made, "nginx_access_log") == files


STATEMENTS = [
    "select count(*) from nginx_access_log where tp_date = current_date",
    "select count(*) from nginx_access_log where tp_timestamp between now() - interval 3 day and now()",
    "select count(*) from nginx_access_log where tp_date = current_date or status = 500",
    "select count(*) from nginx_access_log where not (tp_date = current_date)",
    "select tp_date, count(*) from nginx_access_log where tp_date in (current_date, current_date - 4) group by all",
    """select count(*) from nginx_access_log a join nginx_access_log b using (request_uri)
       where a.tp_date = current_date""",
    """select count(*) from nginx_access_log a left join nginx_access_log b
       on a.request_uri = b.request_uri and b.tp_date = current_date""",
    """select count(*) from nginx_access_log where remote_addr in
       (select source_ip_address from aws_cloudtrail_log where tp_date = current_date - 1)""",
    """with recent as (select * from nginx_access_log where tp_date >= current_date - 1)
       select (select count(*) from recent), (select count(*) from nginx_access_log)""",
    "select tp_date from nginx_access_log where tp_date < current_date union select current_date - 99",
    "select count(*) from aws_cloudtrail_log where user_identity.user_name = 'user3'",
    "select count(*) from aws_cloudtrail_log where user_identity.user_name like 'user%' and event_id = 'x'",
    "select status, count(*) over (partition by status) n from nginx_access_log where status > 300 qualify n > 1",
    """select max(tp_timestamp) from nginx_access_log
       where tp_timestamp < (select max(tp_timestamp) from aws_cloudtrail_log)""",
    "select tp_date from nginx_access_log order by tp_timestamp desc limit 3",
    "select count(*) from nginx_access_log where tp_index = 'default' and tp_date <> current_date",
    """select count(*) from nginx_access_log n where exists
       (select 1 from aws_cloudtrail_log c where c.tp_date = n.tp_date and c.tp_date = current_date - 2)""",
]  # fmt: skip


@pytest.mark.parametrize("sql", STATEMENTS)
def test_pruning_changes_no_answer(filled: World, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pruned = rows(engine(filled), sql)
    monkeypatch.setattr(views_module, "PRUNE_FROM", 1_000_000)
    assert sorted(pruned) == sorted(rows(engine(filled), sql))
    assert pruned


@pytest.mark.parametrize(
    "make",
    ["create view v as from nginx_access_log", "create macro v() as table from nginx_access_log"],
)
def test_pruning_one_statement_does_not_touch_the_next(filled: World, make: str) -> None:
    look = "v()" if "macro" in make else "v"
    sql = f"{make}; select count(*) from nginx_access_log where tp_date = current_date; select count(*) from {look}"
    assert [found for _, found in answers(engine(filled), sql)][1:] == [[(ROWS,)], [(DAYS * ROWS,)]]


@pytest.mark.parametrize(
    "sql",
    [
        "from nginx_access_log",
        "select * from main.nginx_access_log",
        "select n.* from nginx_access_log as n",
        "with nginx_access_log as (select 1) select * from nginx_access_log",
        "with other as (from nginx_access_log) select * from other",
        "select * from (values (1)) t(nginx_access_log)",
        "summarize nginx_access_log",
        "pivot nginx_access_log on status using count(*) group by tp_date",
        "select table_name from information_schema.tables where table_name = 'apache_access_log'",
        "explain select * from nginx_access_log where tp_date = current_date",
        "explain analyze select count(*) from nginx_access_log where tp_date = current_date",
        "pivot_wider nginx_access_log on status using count(*) group by tp_date",
        "values (1)",
        "select /* from nothing */ 1",
    ],
)
def test_ways_of_asking(filled: World, sql: str) -> None:
    assert rows(engine(filled), sql)


def test_answers_can_be_copied_to_a_file(filled: World, tmp_path: Path) -> None:
    made = Engine(filled.lake, limits=Limits(writable=(str(tmp_path),)))
    rows(made, f"copy (select * from nginx_access_log where tp_date = current_date) to '{tmp_path}/day.parquet'")
    assert rows(made, f"select count(*) from '{tmp_path}/day.parquet'") == [(ROWS,)]


def test_a_statement_that_reads_nothing_needs_no_lake(tmp_path: Path) -> None:
    from tailrace.lake.paths import Lake

    made = Engine(Lake(tmp_path / "absent"))
    assert rows(made, "select 1, date '2024-01-01'") == [(1, date(2024, 1, 1))]
    assert not (tmp_path / "absent").exists()


def test_columns_are_told_without_files(tmp_path: Path) -> None:
    from smalllake import answer, engine, made_in

    made = engine(made_in(tmp_path))
    described = answer(made, "describe hits")
    assert [len(held.paths) for held in made.views.held.values()] == [0]
    assert answer(made, "select count(*) from hits") == [(72,)]
    assert answer(made, "desc main.hits;") == answer(made, "describe select * from hits") == described
    assert answer(made, "select count(*) from hits") == [(72,)]
