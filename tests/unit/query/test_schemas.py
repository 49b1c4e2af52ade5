"""Schemas: each shows exactly the rows that its filters let through, whatever else a statement asks for."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from smalllake import ACCOUNTS, DAYS, TABLES, Row, answer, engine, expected, files_opened, made_in
from world import World

from tailrace.cli.schemas import schemas_of
from tailrace.config import load
from tailrace.core import QueryError, TimeRange
from tailrace.query.filters import Schema, Scope
from tailrace.query.limits import Limits

ROWS = expected()
QUARTER = Schema("q1", first=date(2024, 1, 1), last=date(2024, 3, 31))
ACCOUNT = Schema("account_123456789012", indexes=("123456789012",))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made_in(tmp_path_factory.mktemp("schemas"), 'table "empty" { column "tp_timestamp" { source = "at" } }')


def numbers(rows: list[Row]) -> list[tuple[int]]:
    return sorted((row.n,) for row in rows)


# Against an oracle

patterns = st.lists(
    st.sampled_from(["*", "web", "WEB", "api*", "?eb", "nothing", "hits", "[ch]*s", "[!a]*", "API-1"]),
    min_size=1,
    max_size=3,
).map(tuple)
indexes = st.lists(
    st.sampled_from(["*", "123*", "2109876543??", "dev[1]", "DEV*", "none", "*1*"]), min_size=1, max_size=2
).map(tuple)
days = st.none() | st.sampled_from([DAYS[0] - timedelta(days=1), *DAYS, DAYS[-1] + timedelta(days=1)])
schemas = st.builds(
    Schema,
    st.just("s"),
    st.just(("*",)) | patterns,
    st.just(("*",)) | patterns,
    st.just(("*",)) | indexes,
    st.sampled_from([("*",), ("default",), ("archive",)]),
    days,
    days,
)
moments = st.none() | st.sampled_from(
    [datetime(2024, 3, 30, 11, 59, second) for second in (0, 1)]
    + [datetime(2024, 3, 31, 23, 59, 59), datetime(2024, 3, 31), datetime(2025, 1, 1), datetime(1999, 1, 1)]
)
windows = (
    st.tuples(moments, moments).filter(lambda pair: None in pair or pair[0] < pair[1]).map(lambda p: TimeRange(*p))
)
selectors = st.lists(
    st.sampled_from(["hits", "web", "hits.web", "calls.*", "h*.a*", "*", "nothing", "CALLS.web"]), max_size=2
).map(tuple)
scopes = st.builds(Scope, st.just("s"), windows, selectors, st.just(("*",)) | indexes)


def fits(text: str, wildcards: tuple[str, ...], exact: bool = False) -> bool:
    """`dev[1]` is a value of its own, and a wildcard for `dev1`."""
    if exact:
        return any(text == w or fnmatchcase(text, w) for w in wildcards)
    return any(fnmatchcase(text.lower(), w.lower()) for w in wildcards)


def is_selected(row: Row, selector: str) -> bool:
    table, dot, partition = selector.partition(".")
    if dot:
        return fits(row.table, (table,)) and fits(row.partition, (partition,))
    return fits(row.table, (table,)) or fits(row.partition, (table,))


def is_let_through(row: Row, schema: Schema, scope: Scope) -> bool:
    day = row.time.date()
    window = scope.window
    return (
        fits(row.table, schema.tables)
        and fits(row.partition, schema.partitions)
        and fits(row.index, schema.indexes, exact=True)
        and schema.stores != ("archive",)
        and (schema.first is None or schema.first <= day)
        and (schema.last is None or day <= schema.last)
        and (window.start is None or window.start <= row.time)
        and (window.end is None or row.time < window.end)
        and fits(row.index, scope.indexes, exact=True)
        and (not scope.partitions or any(is_selected(row, selector) for selector in scope.partitions))
    )


@settings(max_examples=25)
@given(schema=schemas, scope=scopes, table=st.sampled_from(sorted(TABLES)), wanted=st.sampled_from([None, *DAYS]))
def test_a_schema_shows_what_its_filters_let_through(
    filled: World, schema: Schema, scope: Scope, table: str, wanted: date | None
) -> None:
    rows = [row for row in ROWS if row.table == table and is_let_through(row, schema, scope)]
    where = "" if wanted is None else f" where tp_date = '{wanted}'"
    rows = [row for row in rows if wanted in (None, row.time.date())]
    made = engine(filled, schema, scope=scope)
    if not fits(table, schema.tables):
        with pytest.raises(QueryError, match="does not exist"):
            answer(made, f"select n from {table}")
        return
    for name in (table, f"s.{table}", f"main.{table}"):
        assert sorted(answer(made, f"select n from {name}{where}")) == numbers(rows)


# By example


def test_the_default_schema_needs_no_prefix_and_holds_everything(filled: World) -> None:
    made = engine(filled, QUARTER)
    for name in (
        "hits",
        "tailrace.hits",
        "tailpipe.hits",
        "TailRace.HITS",
        "memory.tailrace.hits",
        '"tailpipe"."hits"',
    ):
        assert answer(made, f"select count(*) from {name}") == [(sum(row.table == "hits" for row in ROWS),)]
    assert answer(made, "select current_schema()") == [("tailrace",)]
    assert answer(made, "select count(*) from tailrace.tp_quarantine") == [(0,)]


def test_the_last_day_belongs_to_a_schema(filled: World) -> None:
    (found,) = answer(engine(filled, QUARTER), "select min(tp_date), max(tp_timestamp) from q1.calls")
    assert found == (date(2024, 3, 29), datetime(2024, 3, 31, 23, 59, 59))


def test_days_leave_a_working_set_as_time_goes_on(filled: World, tmp_path: Path) -> None:
    """Its first day is reckoned from now; the rows stay in the lake."""
    first = 'formatdate("YYYY-MM-DD", timeadd(timestamp(), "-24h"))'
    (tmp_path / "recent.tpc").write_text(f'schema "recent" {{\n  start_date = {first}\n}}\n')
    for number, day in enumerate(DAYS[1:], 1):
        config = load([tmp_path], now=datetime.combine(day, time(12)), environ={})
        made = engine(filled, *schemas_of(config))
        assert answer(made, "select min(tp_date) from recent.calls") == [(DAYS[number - 1],)]
        assert answer(made, "select min(tp_date) from calls") == [(DAYS[0],)]


def test_schemas_can_be_compared_in_one_statement(filled: World) -> None:
    made = engine(filled, QUARTER, ACCOUNT)
    sql = """select (select count(*) from hits), (select count(*) from q1.hits),
             (select count(*) from account_123456789012.hits where tp_date > '2024-03-30')"""
    assert answer(made, sql) == [(72, 54, 12)]


@pytest.mark.parametrize("move", ["use q1", "set search_path = 'q1'", "set schema = 'q1'"])
def test_a_statement_can_choose_the_schema(filled: World, move: str) -> None:
    made = engine(filled, QUARTER)
    assert answer(made, f"{move}; select count(*), current_schema() from hits") == [(54, "q1")]
    assert answer(made, "use tailrace; select count(*) from hits") == [(72,)]


def test_only_files_of_the_schema_and_the_statement_are_opened(filled: World) -> None:
    made = engine(filled, QUARTER, ACCOUNT, Schema("nothing", stores=("archive",)))
    assert len(files_opened(made, "select * from hits")) == 2 * len(ACCOUNTS) * len(DAYS)
    assert len(files_opened(made, "select * from q1.hits")) == 2 * len(ACCOUNTS) * 3
    assert len(files_opened(made, "select * from q1.hits where tp_date >= '2024-03-31'")) == 2 * len(ACCOUNTS)
    assert len(files_opened(made, "select * from q1.hits where tp_index like 'dev%' and tp_partition = 'web'")) == 3
    (opened,) = files_opened(
        made, "select * from account_123456789012.hits where tp_date = '2024-03-29' and tp_partition = 'web'"
    )
    assert "tp_partition=web/tp_index=123456789012/tp_date=2024-03-29/" in opened
    assert files_opened(made, "select * from nothing.hits") == set()
    assert files_opened(made, "select * from q1.hits where tp_date = '2024-04-01'") == set()


def test_options_open_only_the_files_they_need(filled: World) -> None:
    window = TimeRange(datetime(2024, 3, 31, 12), datetime(2024, 4, 1))
    made = engine(filled, scope=Scope(window=window, partitions=("hits.web",), indexes=("123456789012",)))
    (opened,) = files_opened(made, "select * from hits")
    assert "tp_partition=web/tp_index=123456789012/tp_date=2024-03-31/" in opened
    assert answer(made, "select tp_timestamp from hits") == [(datetime(2024, 3, 31, 23, 59, 59),)]
    assert files_opened(made, "select * from calls") == set()


def test_a_view_of_the_user_s_is_pruned_too(filled: World) -> None:
    made = engine(filled, QUARTER)
    answer(made, "create view mine as from q1.hits where tp_index = '123456789012'")
    assert len(files_opened(made, "select * from mine where tp_date = '2024-03-30'")) == 2
    assert len(answer(made, "from mine")) == 2 * 3 * 3


def test_what_a_schema_leaves_out_is_said(filled: World) -> None:
    made = engine(filled, Schema("calls_only", tables=("calls",)), scope=Scope("calls_only"))
    with pytest.raises(QueryError) as raised:
        answer(made, "select * from hits")
    assert raised.value.hint == "the schema leaves it out; tailrace.hits has all of it"
    assert len(answer(made, "select * from tailrace.hits")) == 72
    assert answer(made, "show tables") == [("calls",)]


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("select * from quartr.hits", "did you mean 'quarter'?"),
        ("select * from elsewhere.hits", "`tailrace schema list` shows what there is"),
        ("select * from all.hits", 'all is a word of SQL: write "all", or choose the schema with --schema all'),
        ("select * from default.hits", None),
    ],
)
def test_schemas_that_are_not_meant_so(filled: World, sql: str, hint: str | None) -> None:
    with pytest.raises(QueryError) as raised:
        answer(engine(filled, Schema("quarter"), Schema("all")), sql)
    assert raised.value.hint == hint


@pytest.mark.parametrize("name", ["all", "default", "my-schema", "my other schema", "Ünicode", "İ", "2024", "select"])
def test_names_that_need_quotes(filled: World, name: str) -> None:
    schema = Schema(name, tables=("calls",))
    assert answer(engine(filled, schema), f'select count(*) from "{name}".calls') == [(36,)]
    made = engine(filled, schema, scope=Scope(name))
    assert answer(made, "select count(*), current_schema() from calls") == [(36, name)]


def test_a_schema_that_is_called_as_a_table(filled: World) -> None:
    made = engine(filled, Schema("hits", indexes=("123456789012",)), Schema("n"))
    assert answer(made, "select count(hits.n) from hits") == [(72,)]
    assert answer(made, "select count(hits.n), count(hits.hits.n) from hits.hits") == [(24, 24)]
    assert answer(made, "select count(n) from n.hits n where n.n < 10") == [(10,)]


def test_all_schemas_are_listed(filled: World) -> None:
    made = engine(filled, QUARTER, Schema("calls_only", tables=("CALL?",)))
    sql = "select table_schema, table_name from information_schema.tables order by all"
    own = [("q1", "calls"), ("q1", "empty"), ("q1", "hits")]
    everything = [("tailrace", name) for name in ("calls", "empty", "hits", "tp_quarantine")]
    assert answer(made, sql) == [("calls_only", "calls"), *own, *everything]
    assert answer(made, "select count(*) from q1.hits") == [(54,)]
    assert answer(made, "select count(*) from hits") == [(72,)]
    assert ("q1", "hits") in [row[1:3] for row in answer(made, "show all tables")]


def test_a_listing_opens_no_file(filled: World) -> None:
    assert files_opened(engine(filled, QUARTER), "show all tables; select count(*) from duckdb_columns()") == set()


def test_an_empty_table_is_an_empty_view(filled: World) -> None:
    made = engine(filled, QUARTER)
    assert answer(made, "select count(*) from q1.empty") == [(0,)]
    assert "tp_timestamp" in [row[0] for row in answer(made, "describe q1.empty")]


def test_schemas_outlive_a_transaction_that_is_rolled_back(filled: World) -> None:
    made = engine(filled, QUARTER)
    answer(made, "begin; select count(*) from q1.hits where tp_date = '2024-03-29'; rollback")
    assert answer(made, "begin; select count(*) from q1.hits") == [(54,)]
    assert answer(made, "commit; select count(*) from q1.hits") == [(54,)]


def test_a_database_of_the_user_s_own_stays_his_own(filled: World, tmp_path: object) -> None:
    made = engine(filled, QUARTER, limits=Limits(writable=(f"{tmp_path}/mine.duckdb",)))
    answer(made, f"attach '{tmp_path}/mine.duckdb' as mine; use mine; create table t as select 1 as one")
    assert answer(made, "select count(*) from hits, t") == [(72,)]
    assert answer(made, "select count(*) from memory.q1.hits, mine.t") == [(54,)]
    assert answer(made, "select table_name from duckdb_tables() where database_name = 'mine'") == [("t",)]
    assert answer(made, "select view_name from duckdb_views() where database_name = 'mine' and not internal") == []


def test_what_is_made_under_a_schema_stays_beside_it(filled: World) -> None:
    made = engine(filled, QUARTER, scope=Scope("q1"))
    assert answer(made, "create table kept as from hits; select count(*) from kept") == [(54,)]
    assert answer(made, "select count(*) from q1.kept k join tailrace.hits h using (n)") == [(54,)]
