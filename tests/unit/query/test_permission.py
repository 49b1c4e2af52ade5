"""What SQL may do: it reads, writes only what was named, and in a sandbox looks at tables alone."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from smalllake import answer, engine, expected, made_in
from world import World

from tailrace.core import QueryError
from tailrace.query.filters import Schema, Scope
from tailrace.query.limits import Limits

HITS = sum(row.table == "hits" for row in expected())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made_in(tmp_path_factory.mktemp("permission"))


def refused(world: World, sql: str, limits: Limits | None = None) -> QueryError:
    with pytest.raises(QueryError) as raised:
        answer(engine(world, limits=limits), sql)
    return raised.value


WRITES = [
    "copy hits to '{out}'",
    "copy (select 1) to '{out}' (format csv)",
    'copy hits to "{out}"',
    "with x as (copy hits to '{out}') from x",
    "explain analyze copy hits to '{out}'",
    "prepare p as copy hits to '{out}'; execute p",
    "export database '{out}'",
    "attach '{out}' as mine",
    "attach if not exists '{out}' as mine (read_only false)",
    "attach '{out}' as mine (read_only 'false')",
    "/* harmless */ COPY/**/hits -- really\n TO '{out}'",
]


@pytest.mark.parametrize("sql", WRITES)
def test_nothing_is_written_that_was_not_named(filled: World, tmp_path: Path, sql: str) -> None:
    out = tmp_path / "out"
    error = refused(filled, sql.format(out=out))
    assert (error.code, error.exit_code) == ("query.not-allowed", 1)
    assert f"--write {out}" in (error.hint or "")
    assert not out.exists()


@pytest.mark.parametrize("sql", [sql for sql in WRITES if "read_only" not in sql and "prepare" not in sql])
def test_what_was_named_is_written(filled: World, tmp_path: Path, sql: str) -> None:
    out = tmp_path / "out"
    for writable in (str(out), str(tmp_path)):
        answer(engine(filled, limits=Limits(writable=(writable,))), sql.format(out=out))
        assert out.exists()
        if out.is_file():
            out.unlink()


@pytest.mark.parametrize("sql", WRITES)
@pytest.mark.parametrize("place", ["data/default/tp_table=hits/x.parquet", "meta/x", "config/x", "data/../meta/x"])
def test_the_lake_is_never_written(filled: World, sql: str, place: str) -> None:
    before = sorted(filled.home.rglob("*"))
    error = refused(filled, sql.format(out=filled.home / place), Limits(writable=("/", str(filled.home))))
    assert "belongs to the lake" in error.message
    assert sorted(filled.home.rglob("*")) == before


def test_a_link_into_the_lake_is_the_lake(filled: World, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(filled.home / "data")
    out = tmp_path / "link" / "x.csv"
    assert "belongs to the lake" in refused(filled, f"copy hits to '{out}'", Limits(writable=(str(tmp_path),))).message


@pytest.mark.parametrize(
    "sql",
    [
        "copy hits to (getvariable('x'))",
        "set profiling_output = '{out}'",
        "set profile_output = '{out}'",
        "call enable_logging('QueryLog', storage = 'file', storage_config = {{'path': '{out}'}})",
        "import database '{out}'",
        "copy hits to '{out}' (partition_by (account), filename_pattern '../x')",
        "explain analyze set log_query_path = '{out}'; select 1",
        "explain set log_query_path = '{out}'",
        "EXPLAIN(ANALYZE, format json)/**/set \"log_query_path\" = '{out}'",
        "explain analyze pragma profile_output = '{out}'",
        "explain analyze call enable_logging('QueryLog', storage = 'file', storage_config = {{'path': '{out}'}})",
        "from enable_logging('QueryLog', storage = 'file', storage_config = {{'path': '{out}'}})",
        "create persistent secret s (type s3)",
        "create or replace persistent secret s (type s3)",
        "create secret s in local_file (type s3)",
        "explain analyze create persistent secret s (type s3)",
    ],
)
def test_other_ways_of_writing(filled: World, tmp_path: Path, sql: str) -> None:
    out = tmp_path / "out"
    assert refused(filled, sql.format(out=out), Limits(writable=(str(tmp_path),))).code == "query.not-allowed"
    assert not out.exists()


@pytest.mark.parametrize("name", ["temp_directory", "secret_directory", "home_directory", "extension_directory"])
@pytest.mark.parametrize(
    "setting", ["set {} = '{}'", "set global {} to '{}';", "pragma {}='{}'", "explain analyze set {} = '{}'"]
)
def test_directories_of_duckdb_lie_outside_the_lake(filled: World, tmp_path: Path, name: str, setting: str) -> None:
    made = engine(filled)
    with pytest.raises(QueryError, match="belongs to the lake"):
        answer(made, setting.format(name, f"{filled.lake.data_root}/x"))
    with pytest.raises(QueryError, match="by a text in quotes"):
        answer(made, setting.format(name, "a' || 'b"))
    answer(made, setting.format(name, tmp_path / "x"))
    assert answer(made, "select 1") == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "insert into hits select * from hits",
        "delete from hits",
        "update hits set n = 0",
        "drop table hits",
        "alter table hits add column x int",
        "with x as (delete from hits returning *) from x",
    ],
)
def test_tables_cannot_be_changed(filled: World, sql: str) -> None:
    made = engine(filled)
    with pytest.raises(QueryError):
        answer(made, sql)
    assert answer(engine(filled), "select count(*) from hits") == [(HITS,)]


@pytest.mark.parametrize(
    "sql",
    [
        "create table mine as from hits; insert into mine from mine; select count(*) > 0 from mine",
        "create table t (copy int, \"to\" int); select (copy), copy as x from t; select 1",
        "select count(*) > 0 from hits join read_csv('{csv}') using (n)",
        "select count(*) > 0 from hits join '{csv}' using (n)",
        "create temp table kept (n int); copy kept from '{csv}'; select 1",
        "attach ':memory:' as other; create table other.t as select 1; copy from database other to memory; select 1",
        "prepare p as select count(*) > $1 from hits; execute p(3)",
        "begin; select 1; commit; select 1",
        "set variable x = 1; select getvariable('x')",
        "set threads = 1; reset threads; set temp_directory = ''; reset temp_directory; select 1",
        "explain analyze create table mine as select 1 as n; select 1",
        "select 'create persistent secret', 'enable_logging'",
        "select 'copy hits to ''x'''",
    ],
)  # fmt: skip
def test_what_is_gone_afterwards_may_be_made(filled: World, tmp_path: Path, sql: str) -> None:
    (tmp_path / "x.csv").write_text("n\n1\n2\n")
    assert answer(engine(filled), sql.format(csv=tmp_path / "x.csv"))


def test_a_database_can_be_looked_at(filled: World, tmp_path: Path) -> None:
    path = tmp_path / "mine.duckdb"
    made = engine(filled, limits=Limits(writable=(str(path),)))
    answer(made, f"attach '{path}' as mine; create table mine.t as select 7 as n; detach mine")
    made = engine(filled)
    assert answer(made, f"attach '{path}' as mine (read_only); select n from mine.t join hits using (n)") == [(7,)]
    with pytest.raises(QueryError, match="read-only"):
        answer(made, "insert into mine.t values (1)")


# A sandbox


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("outside") / "secret.csv"
    path.write_text("n\n42\n")
    return path


@pytest.mark.parametrize(
    "sql",
    [
        "from '{secret}'",
        'from "{secret}"',
        "from read_csv('{secret}')",
        "from \"read_csv\"('{secret}')",
        "from read_text('{secret}')",
        "from glob('{secret}')",
        "from query('from read_text(''{secret}'')')",
        "select * from sniff_csv('{secret}')",
        "from 'https://127.0.0.1:1/x.csv'",
        "from read_parquet('s3://b/x.parquet')",
        "copy hits to '{secret}'",
        "with x as (copy hits to '{data}/evil.parquet') from x",
        "with x as (insert into hits from hits returning *) from x",
        "explain analyze copy hits to '{data}/evil.parquet'",
        "export database '{data}/evil'",
        "attach ':memory:' as m",
        "attach '{secret}' as m (read_only)",
        "create table t as select 1",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "set memory_limit = '100GB'",
        "reset memory_limit",
        "pragma enable_profiling",
        "call enable_logging()",
        "from enable_logging()",
        "from duckdb_secrets()",
        "use memory",
        "prepare p as select 1",
        "from read_parquet('{data}/tp_table=hits/**/*.parquet')",
        "from '{data}/tp_table=hits/*/*/*/*.parquet'",
        "from read_text('{home}/config/test.tpc')",
        "from '{home}/meta/default/ledger/x'",
        "import database '{data}'",
        "update extensions",
        "explain analyze set threads = 1",
        "explain analyze create table t as select 1",
        "explain (analyze, format json) create table t as select 1",
        "explain create persistent secret s (type s3)",
        "explain analyze pragma version",
        "explain analyze call pragma_version()",
        "explain analyze load httpfs",
        "explain analyze checkpoint",
        "explain analyze with x as (select 1) insert into hits from x",
    ],
)
def test_a_sandbox_only_looks_at_tables(filled: World, outside: Path, sql: str) -> None:
    before = sorted(filled.home.rglob("*"))
    text = sql.format(secret=outside, home=filled.home, data=filled.lake.data_root)
    refused(filled, text, Limits(sandboxed=True))
    assert sorted(filled.home.rglob("*")) == before


def test_settings_of_a_sandbox_are_locked_below_our_own_checks(filled: World, outside: Path) -> None:
    import duckdb

    connection = engine(filled, limits=Limits(sandboxed=True)).connection
    for sql in (
        "set enable_external_access = true",
        "set lock_configuration = false",
        "set allowed_directories = ['/']",
        f"from read_csv('{outside}')",
        f"from read_csv('{filled.lake.data_root}/../../../../{outside}')",
        f"copy (select 1) to '{outside}'",
        f"attach '{outside}.db'",
        "install httpfs",
        "load httpfs",
    ):
        with pytest.raises(duckdb.Error):
            connection.execute(sql)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select count(*) from hits", [(HITS,)]),
        ("select count(*) from tailrace.hits h join calls c on h.n <> c.n and c.n = 72", [(HITS,)]),
        ("select count(*) from hits where tp_date = '2024-03-29'", [(HITS // 4,)]),
        ("select count(*) from q1.hits", [(HITS * 3 // 4,)]),
        ("select count(*) from tp_quarantine", [(0,)]),
        ("with x as (select n from hits) select min(n) from x", [(0,)]),
        ("select max(n) from (pivot hits on account using count(*) group by n)", [(71,)]),
        ("select now() > tp_timestamp from hits limit 1", [(True,)]),
        ("select 'insert into x', 'a/b' from hits limit 1", [("insert into x", "a/b")]),
    ],
)
def test_a_sandbox_answers_all_else(filled: World, sql: str, expected: list[tuple[object, ...]]) -> None:
    quarter = Schema("q1", last=date(2024, 3, 31))
    assert answer(engine(filled, quarter, limits=Limits(sandboxed=True)), sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "show tables", "describe hits", "summarize hits", "explain select * from hits", "explain analyze from hits",
        "explain (format json) from hits", "explain (select 1)", "explain (select 1) union (select 2)",
        "explain (analyze) with x as (from hits) from x", "explain describe hits",
    ],
)  # fmt: skip
def test_a_sandbox_describes(filled: World, sql: str) -> None:
    assert answer(engine(filled, limits=Limits(sandboxed=True)), sql)


def test_a_sandbox_leaves_out_files_that_cannot_matter(filled: World) -> None:
    made = engine(filled, scope=Scope(partitions=("web",)), limits=Limits(sandboxed=True))
    assert answer(made, "select count(*) from hits where tp_date = '2024-03-29'") == [(HITS // 8,)]
    assert made.views.narrowed == {("tailrace", "hits"): "hits"}


def test_python_variables_are_no_tables(filled: World) -> None:
    secret_rows = [1, 2]
    assert "does not exist" in refused(filled, "from secret_rows").message
    assert secret_rows
