"""Ways out of a sandbox that were tried; its walls are words, what the parser tells, and DuckDB's own settings."""

from __future__ import annotations

import glob
from pathlib import Path

import duckdb
import pytest
from smalllake import answer, engine, expected, made_in
from world import World

from tailrace.core import QueryError
from tailrace.query.engine import Engine
from tailrace.query.limits import Limits
from tailrace.query.parsed import HARMLESS, objection

HITS = sum(row.table == "hits" for row in expected())
CANARY = "was not to be read"

READS = [
    "from '{file}'",
    'from "{file}"',
    "table '{file}'",
    "describe '{file}'",
    "summarize '{file}'",
    "from read_csv('{file}')",
    "from \"READ_CSV\"('{file}')",
    "from read_text/**/('{file}')",
    "from read_text--\n('{file}')",
    "from system.main.read_blob('{file}')",
    "from glob('{file}')",
    "from main.glob('{file}')",
    "from sniff_csv('{file}')",
    "from read_json('{file}')",
    "from parquet_metadata('{file}')",
    "from parquet_scan('{file}')",
    "from query('select 1')",
    "from query_table('hits')",
    "from query_table(['{file}'])",
    "from seq_scan('hits')",
    "from json_execute_serialized_sql(json_serialize_sql('from hits'))",
    "select (from read_text('{file}'))",
    "select apply([1], lambda n: (from read_text('{file}')))",
    "select * replace ((from read_text('{file}')) as n) from hits",
    "select * from hits order by (from read_text('{file}'))",
    "select * from hits limit (select count(*) from read_text('{file}'))",
    "select exists (from '{file}')",
    "select 1 from hits, lateral (from '{file}')",
    "select 1 union all from '{file}'",
    "with hits as (from '{file}') from hits",
    "with recursive r as (from '{file}' union all select '' where false) from r",
    "explain analyze from '{file}'",
    "explain (analyze, format json) from read_text('{file}')",
    "select * from hits semi join '{file}' on true",
    "from 'FILE://{file}'",
    "from 'file:{file}'",
    "from '/proc/self/root{file}'",
    "from '/proc/self/environ.csv'",
    "from '{wild}'",
    "from hits.csv",
    'from "hits.csv"',
    "from 'https://localhost:1/x.csv'",
    "from 's3://x/y.parquet'",
    "from read_csv('http://localhost:1/x')",
    "from duckdb_secrets()",
    "from which_secret('s3://x', 's3')",
    "from truncate_duckdb_logs()",
    "from enable_logging()",
    "from checkpoint()",
    "from \uff52ead_text('{file}')",
    "from postgres_scan('', '', '')",
    "from sqlite_scan('{file}', 't')",
    "from delta_scan('{file}')",
]
CHANGES = [
    "with x as (copy hits to '{out}') from x",
    "with x as materialized (copy (select 1) to '{out}') select 1",
    "select 1 where exists (with x as (copy hits to '{out}') from x)",
    "explain analyze with x as (copy hits to '{out}') from x",
    "with x as (insert into hits values (1) returning *) from x",
    "with x as (delete from hits returning *) from x",
    "with x as (update hits set n = 1 returning *) from x",
]
STATEMENTS = [
    "copy hits to '{out}'",
    "copy hits from '{file}'",
    "export database '{out}'",
    "import database '{file}'",
    "attach '{file}' as x",
    "attach ':memory:' as x",
    "install httpfs",
    "load httpfs",
    "load '{file}'",
    "set enable_external_access = true",
    "set global allowed_directories = ['/']",
    "reset lock_configuration",
    "pragma enable_profiling",
    "call pragma_version()",
    "create macro f() as table from '{file}'",
    "create temp view v as from '{file}'",
    "create temp table t as select 1",
    "create secret s (type s3)",
    "prepare p as from '{file}'",
    "execute p",
    "use memory",
    "set variable x = 1",
    "checkpoint",
    "vacuum",
    "begin",
    "insert into hits select * from hits",
    "delete from hits",
    "drop view hits",
    "comment on view hits is 'x'",
    "explain analyze copy hits to '{out}'",
    "explain set threads = 1",
    "update extensions",
]
PIVOTS = [
    "pivot '{file}' on n",
    "pivot (from '{lake}') on n using count(*)",
    "pivot hits on n in (select n from '{lake}')",
    "pivot (from read_text('{file}')) on size using count(*)",
    "with x as (copy hits to '{out}') pivot x on n using count(*)",
    "with q as (from glob('/etc/*')) pivot q on file using count(*)",
]
REFUSED = {
    "arrow_scan", "arrow_scan_dumb", "checkpoint", "create_external_resource", "deregister_external_resource",
    "destroy_external_resource", "disable_logging", "disable_profiling", "duckdb_external_resource_types",
    "duckdb_external_resources", "duckdb_profiling_settings", "duckdb_secrets", "enable_logging",
    "enable_profiling", "force_checkpoint", "glob", "json_execute_serialized_sql", "pandas_scan",
    "parquet_bloom_probe", "parquet_file_metadata", "parquet_full_metadata", "parquet_kv_metadata",
    "parquet_metadata", "parquet_scan", "parquet_schema", "python_arrow_scan", "python_map_function", "query",
    "query_table", "read_blob", "read_csv", "read_csv_auto", "read_duckdb", "read_json", "read_json_auto",
    "read_json_objects", "read_json_objects_auto", "read_ndjson", "read_ndjson_auto", "read_ndjson_objects",
    "read_parquet", "read_single_csv_file", "read_single_json_file", "read_single_parquet_file", "read_text",
    "register_external_resource", "register_external_resource_type", "seq_scan", "sniff_csv",
    "truncate_duckdb_logs", "which_secret",
}  # fmt: skip
SEEN = [
    "from hits",
    "from 'hits'",
    'select * from tailrace."hits"',
    "from memory.tailrace.hits",
    "describe hits",
    "summarize hits",
    "show tables",
    "show all tables",
    "explain from hits",
    "explain analyze from hits",
    "table hits",
    "values (1)",
    "pivot hits on n using count(*)",
    "select * from hits unpivot (v for k in (n))",
    "from range(3), unnest([1])",
    "select * from information_schema.tables",
    "select count(*) from pg_catalog.pg_class",
    "from duckdb_functions()",
    "with a as (from hits) select count(*) from a",
    "select 'a/b.csv' as \"c/d.csv\"",
    "from json_each('[1]')",
    "select count(*) from hits where account like '%/x.csv'",
    "from tp_quarantine",
    "select 'x' glob '*'",
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made_in(tmp_path_factory.mktemp("sandbox"))


@pytest.fixture(scope="module")
def boxed(filled: World) -> Engine:
    return engine(filled, limits=Limits(sandboxed=True))


@pytest.fixture(scope="module")
def names(filled: World, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What statements are told to reach for."""
    canary = tmp_path_factory.mktemp("outside") / "canary.csv"
    canary.write_text(f"text\n{CANARY}\n")
    lake = glob.glob(f"{filled.lake.data_root}/tp_table=hits/**/*.parquet", recursive=True)[0]
    data = str(filled.lake.data_root)
    wild = f"{Path(data).parents[2]}*/home/data/default/tp_table=hits/*/*/*/*.parquet"
    return {"file": str(canary), "lake": lake, "out": f"{data}/out.csv", "wild": wild}


@pytest.mark.parametrize("target", ["file", "lake"])
@pytest.mark.parametrize("sql", [*READS, *CHANGES, *STATEMENTS, *PIVOTS])
def test_no_way_out(boxed: Engine, names: dict[str, str], sql: str, target: str) -> None:
    text = sql.format(**names | {"file": names[target]})
    with pytest.raises(QueryError) as raised:
        answer(boxed, text)
    assert CANARY not in str(raised.value)
    # DuckDB itself refuses a pivot over a file that is not the lake's: its parser tells nothing of it.
    assert raised.value.code == "query.not-allowed" or (sql in PIVOTS and "Permission Error" in str(raised.value))
    assert not Path(names["out"]).exists()
    assert answer(boxed, "select count(*) from hits") == [(HITS,)]


@pytest.mark.parametrize("sql", [*READS, *CHANGES])
def test_what_the_parser_tells_is_enough(names: dict[str, str], sql: str) -> None:
    """Without a look at the words; `explain` is taken off before."""
    text = sql.format(**names).removeprefix("explain analyze ").removeprefix("explain (analyze, format json) ")
    assert objection(duckdb.connect(), text, lambda name: name == "hits") is not None


@pytest.mark.parametrize("sql", ["from '{file}'", "from read_text('{file}')", "from glob('{file}')",
    "copy (select 1) to '{file}.new'", "attach '{file}.db'", "install httpfs", "set threads = 1",
    "set lock_configuration = false"])  # fmt: skip
def test_settings_of_duckdb_are_enough(boxed: Engine, names: dict[str, str], sql: str) -> None:
    """Without a look at the statement at all, for what is not the lake's."""
    with pytest.raises((duckdb.PermissionException, duckdb.InvalidInputException)):
        boxed.connection.execute(sql.format(**names)).fetchall()
    assert not Path(f"{names['file']}.new").exists()


@pytest.mark.parametrize("sql", SEEN)
def test_what_may_be_seen(boxed: Engine, sql: str) -> None:
    assert answer(boxed, sql) is not None


def test_names_with_characters_of_paths_are_names() -> None:
    connection = duckdb.connect()
    assert objection(connection, 'from "q1/2024"."a.csv"', lambda name: name in ("q1/2024", "a.csv")) is None
    assert objection(connection, 'from "q1/2024"."b.csv"', lambda name: name == "q1/2024") is not None
    assert objection(connection, "from x.csv", lambda name: name == "csv") is None


@pytest.mark.parametrize("sql", ["'a'" + " || 'a'" * 900, "[" * 900 + "1" + "]" * 900])
def test_what_is_nested_deeply_is_looked_at(boxed: Engine, sql: str) -> None:
    assert len(answer(boxed, f"select {sql}")) == 1
    with pytest.raises(QueryError) as raised:
        answer(boxed, f"select {sql}, (from read_text('/etc/passwd'))")
    assert raised.value.code == "query.not-allowed"


def test_every_function_of_this_duckdb_has_been_looked_at() -> None:
    """A release that adds one has to say here that it is refused, or in `HARMLESS` that it is not."""
    found = duckdb.connect().execute(
        "select distinct function_name from duckdb_functions() where function_type in ('table', 'table_macro')"
    )
    functions = {name for (name,) in found.fetchall()}
    assert functions >= HARMLESS
    assert functions - HARMLESS == REFUSED
