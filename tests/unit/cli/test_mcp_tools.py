"""What the tools of `tailrace mcp` tell of a lake, and what their SQL cannot do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from weblake import ROWS, made_trail

from tailrace.cli.example_queries import examples
from tailrace.cli.mcp_server import Call, Refused
from tailrace.cli.mcp_tools import LARGEST, Tools
from tailrace.cli.options import Context
from tailrace.core.registry import table_names
from tailrace.query import limits
from tailrace.query.limits import Limits

ENDLESS = "select count(*) from range(1000000) a, range(1000000) b where (a.range * b.range) % 7 = 3"
CANARY = "canary-7b1e"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mcp")
    made_trail(root)
    (root / "secret.csv").write_text(f"a\n{CANARY}\n")
    (root / "home" / "secret.csv").write_text(f"a\n{CANARY}\n")
    return root


@pytest.fixture(scope="module")
def tools(root: Path) -> Tools:
    bounds = Limits(sandboxed=True, seconds=30, memory="512MB")
    return Tools(Context(home=str(root / "home"), quiet=True), bounds, most_rows=150)


def ask(tools: Tools, name: str, **given: object) -> Any:
    tool = next(tool for tool in tools.all() if tool.name == name)
    return tool.run(given, Call())


def rows(tools: Tools, sql: str, **given: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask(tools, "query", sql=sql, **given)["rows"]
    return found


# What they tell


def test_arguments_are_described(tools: Tools) -> None:
    schemas = {tool.name: tool.schema for tool in tools.all()}
    assert set(schemas) == {
        "list_tables", "describe_table", "query", "list_partitions", "recent_collections", "suggest_queries",
    }  # fmt: skip
    query = schemas["query"]
    assert query["type"] == "object"
    assert query["required"] == ["sql"]
    assert {"from", "to", "limit"} <= set(query["properties"])
    assert all(found.get("description") for schema in schemas.values() for found in schema["properties"].values())
    assert all(tool.description for tool in tools.all())


def test_tables_that_hold_something(tools: Tools) -> None:
    found = {table["name"]: table for table in ask(tools, "list_tables")["tables"]}
    assert set(found) == {"aws_cloudtrail_log", "nginx_access_log"}
    assert found["nginx_access_log"]["rows"] == 2 * ROWS
    assert found["nginx_access_log"]["last"] == "2024-05-02"
    assert found["nginx_access_log"]["description"]
    assert len(ask(tools, "list_tables", empty=True)["tables"]) >= len(table_names())
    assert len(ask(tools, "list_tables", names=["aws_*"])["tables"]) == 1


def test_one_table(tools: Tools) -> None:
    found = ask(tools, "describe_table", table="nginx_access_log")
    assert {"name": "status", "type": "integer"}.items() <= next(
        column.items() for column in found["columns"] if column["name"] == "status"
    )
    assert found["partitions"][0]["name"] == "web"
    assert any("500" in query["sql"] for query in found["queries"])


def test_partitions_and_collections(tools: Tools) -> None:
    (partition,) = ask(tools, "list_partitions", names=["nginx_access_log.*"])["partitions"]
    assert (partition["rows"], partition["missing_days"]) == (2 * ROWS, 0)
    changes = ask(tools, "recent_collections")["changes"]
    assert {change["partition"] for change in changes} == {"aws_cloudtrail_log.trail", "nginx_access_log.web"}
    assert {change["rows_added"] for change in changes if change["change"] == "collect"} >= {10}
    assert len(ask(tools, "recent_collections", limit=1)["changes"]) == 1


def test_suggested_queries_run(tools: Tools) -> None:
    found = ask(tools, "suggest_queries")["queries"]
    assert {query["table"] for query in found} == {"aws_cloudtrail_log", "nginx_access_log"}
    for query in ask(tools, "suggest_queries", table="nginx_access_log")["queries"]:
        assert query["question"]
        assert "columns" in ask(tools, "query", sql=query["sql"]), query


@pytest.mark.parametrize("table", table_names())
def test_every_page_has_questions(table: str) -> None:
    found = examples(table)
    assert len(found) >= 3 + 5
    for each in found:
        assert each.question
        assert "```" not in each.sql + each.question
        assert len(each.question) < 200, each.question


def test_answers_hold_values_of_all_kinds(tools: Tools) -> None:
    select = "select request_parameters as j, user_identity.user_name as u, tp_ips as ips, tp_timestamp as t"
    (row,) = rows(tools, f"{select} from aws_cloudtrail_log order by tp_timestamp limit 1")
    assert row == {
        "j": {"bucketName": "logs", "number": 0},
        "u": "user0",
        "ips": ["192.0.2.1"],
        "t": "2024-05-01T00:00:00",
    }
    assert rows(tools, "select 'nan'::double as n, 10::hugeint as h") == [{"n": None, "h": 10}]


def test_filters_and_parameters(tools: Tools) -> None:
    count = "select count(*) as n from nginx_access_log"
    assert rows(tools, count, **{"from": "2024-05-02"}) == [{"n": ROWS}]
    assert rows(tools, count, to="2024-05-02", partitions=["web"], indexes=["default"]) == [{"n": ROWS}]
    assert rows(tools, count, schema="first_day") == [{"n": ROWS}]
    assert rows(tools, f"{count} where status = $status", parameters={"status": 500}) == [{"n": 20}]


# Limits


def test_rows_are_limited(tools: Tools) -> None:
    found = ask(tools, "query", sql="from nginx_access_log")
    assert (len(found["rows"]), "truncated" in found) == (100, True)
    assert len(rows(tools, "select status from nginx_access_log", limit=100_000)) == 150
    exact = ask(tools, "query", sql="from range(7)", limit=7)
    assert (len(exact["rows"]), "truncated" in exact) == (7, False)


def test_size_is_limited(tools: Tools) -> None:
    found = ask(tools, "query", sql=f"select repeat('x', {LARGEST // 4}) as x from range(10)")
    assert 1 <= len(found["rows"]) <= 4
    assert "truncated" in found


AT_A_GO = ("select length(repeat('x', 4200000000)) as n", "select len(range(3000000000)) as n")
"What DuckDB does not count before it is made."


def test_time_and_memory_are_limited(root: Path) -> None:
    short = Tools(Context(home=str(root / "home")), Limits(sandboxed=True, seconds=0.3, memory="100MB"), 10)
    with pytest.raises(Refused, match="timeout"):
        ask(short, "query", sql=ENDLESS)
    patient = Tools(Context(home=str(root / "home")), Limits(sandboxed=True, seconds=60, memory="50MB"), 10)
    for sql in ("select list(range::varchar || 'xxxxxxxxxxxxxxxx') as l from range(100000000)", *AT_A_GO):
        with pytest.raises(Refused, match="memory"):
            ask(patient, "query", sql=sql)


def test_what_does_not_heed_is_told_as_late(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of DuckDB that goes on after its time: the connection cannot be closed yet."""
    monkeypatch.setattr(limits, "_PATIENCE", 0.0)
    short = Tools(Context(home=str(root / "home")), Limits(sandboxed=True, seconds=0.05, memory="100MB"), 10)
    with pytest.raises(Refused, match=r"query\.timeout"):
        ask(short, "query", sql="select max(md5(range::varchar)) from range(5000000)")


# Errors


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("query", {}, "sql"),
        ("query", {"sql": 7}, "str"),
        ("query", {"sql": "select 1", "limit": 0}, "limit"),
        ("query", {"sql": "select 1", "nothing": 0}, "nothing"),
        ("query", {"sql": "select from"}, "error\\[query\\]"),
        ("query", {"sql": "select '\ud800'"}, "error\\[query\\].* no text"),
        ("query", {"sql": "select $x", "parameters": {"x": "\udfff"}}, "error\\[query\\].* no text"),
        ("query", {"sql": "from nginx_acess_log"}, "did you mean 'nginx_access_log'"),
        ("query", {"sql": "select 1", "from": "yesterday"}, "T-7d"),
        ("query", {"sql": "select 1", "schema": "nothing"}, "schema"),
        ("describe_table", {"table": "nginx"}, "nginx_access_log"),
        ("list_partitions", {"names": ["nothing"]}, "nothing"),
    ],
)
def test_mistakes_are_told(tools: Tools, name: str, given: dict[str, object], told: str) -> None:
    with pytest.raises(Refused, match=told):
        ask(tools, name, **given)


# What SQL cannot do

ATTEMPTS = (
    "from '{root}/secret.csv'",
    "from '{root}/home/secret.csv'",
    "from read_csv('{root}/secret.csv')",
    "from read_text('{root}/secret.csv')",
    "from read_blob('{root}/s*.csv')",
    "from glob('{root}/*')",
    "from sniff_csv('{root}/secret.csv')",
    "from query('from read_text(''{root}/secret.csv'')')",
    "from query_table('{root}/secret.csv')",
    "select (select content from read_text('{root}/secret.csv'))",
    "from parquet_metadata('{root}/home/data/default/**/*.parquet')",
    "from read_parquet('{root}/home/data/default/**/*.parquet')",
    "explain analyze from read_text('{root}/secret.csv')",
    "copy (select 1) to '{root}/written.csv'",
    "copy nginx_access_log to '{root}/home/written.csv'",
    "explain analyze copy (select 1) to '{root}/written.csv'",
    "with x as (copy (select 1) to '{root}/written.csv') from x",
    "export database '{root}/written'",
    "import database '{root}'",
    "attach '{root}/written.db'",
    "attach ':memory:' as other",
    "install httpfs",
    "install '{root}/x.duckdb_extension'",
    "load httpfs",
    "load '{root}/x.duckdb_extension'",
    "from 'https://127.0.0.1:1/x.csv'",
    "from read_csv('http://127.0.0.1:1/x.csv')",
    "from 's3://bucket/x.parquet'",
    "create secret s (type s3)",
    "set enable_external_access = true",
    "set lock_configuration = false",
    "reset lock_configuration",
    "set allowed_directories = ['{root}']",
    "set memory_limit = '100GB'",
    "pragma enable_external_access",
    "select set_config('enable_external_access', 'true')",
    "set temp_directory = '{root}'",
    "create table t as select 1",
    "create macro now() as 1",
    "create or replace view tailrace.nginx_access_log as select 1",
    "insert into nginx_access_log select * from nginx_access_log",
    "delete from nginx_access_log",
    "drop view tailrace.nginx_access_log",
    "call enable_logging()",
    "prepare p as select 1",
    "checkpoint",
    "use memory",
    "select 1; copy (select 1) to '{root}/written.csv'",
)


@pytest.mark.parametrize("sql", ATTEMPTS)
def test_sql_only_looks_at_tables(tools: Tools, root: Path, sql: str) -> None:
    before = sorted(path for path in root.rglob("*"))
    with pytest.raises(Refused) as caught:
        ask(tools, "query", sql=sql.format(root=root))
    assert CANARY not in str(caught.value)
    assert sorted(path for path in root.rglob("*")) == before
    assert rows(tools, "select count(*) as n from nginx_access_log") == [{"n": 2 * ROWS}]


def test_parameters_by_name_and_by_number(tools: Tools) -> None:
    assert rows(tools, "select $1 as a, $2 as b", parameters=["x", 2]) == [{"a": "x", "b": 2}]
    assert rows(tools, "select $name as a", parameters={"name": None}) == [{"a": None}]
    with pytest.raises(Refused, match="parameters"):
        rows(tools, "select $1", parameters="x")
