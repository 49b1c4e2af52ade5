"""`tailrace query` with its options, in this process."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import pytest
import typed
from click.testing import CliRunner, Result
from documents import LIVE_SCHEMAS
from smalllake import expected, made_in
from world import World

from tailrace.cli.main import cli
from tailrace.core import ConfigError, QueryError, UsageError
from tailrace.lake.undo import history

SCHEMAS = (
    LIVE_SCHEMAS
    + """
schema "hits_q1" {
    types        = ["h*"]
    start_date   = "2024-01-01"
    end_date     = "2024-03-31"
}

dataset "default" {
    partition    = "default"
    types        = ["*"]
}
"""
)
ROWS = expected()
HITS = [row for row in ROWS if row.table == "hits"]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made_in(tmp_path_factory.mktemp("query"), SCHEMAS)


def run(world: World, *arguments: str) -> Result:
    return typed.run(world, "query", *arguments)


def rows(world: World, *arguments: str) -> Any:
    return typed.rows(world, "query", *arguments)


def count(world: World, *options: str, table: str = "hits") -> int:
    ((found,),) = (row.values() for row in rows(world, f"select count(*) from {table}", *options))
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize(
    ("schema", "holds"),
    [
        ("all", len(HITS)),
        ("default", len(HITS)),
        ("ACCOUNT_123456789012", len(HITS) // 3),
        ("recent", 0),
        ("hits_q1", len(HITS) * 3 // 4),
        ("tailrace", len(HITS)),
        ("Tailpipe", len(HITS)),
    ],
)
def test_schemas_of_the_documents(filled: World, schema: str, holds: int) -> None:
    assert count(filled, "--schema", schema) == holds
    assert count(filled, table=f'"{schema}".hits') == holds


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        (("--from", "2024-03-30T11:59:00Z"), sum(str(row.time) >= "2024-03-30 11:59:00" for row in HITS)),
        (("--from", "2024-03-30T11:59:01Z"), sum(str(row.time) >= "2024-03-30 11:59:01" for row in HITS)),
        (("--to", "2024-03-30"), sum(str(row.time) < "2024-03-30" for row in HITS)),
        (("--from", "T-1d"), 0),
        (("--partition", "web"), len(HITS) // 2),
        (("--partition", "calls.web"), 0),
        (("--partition", "calls.web", "--partition", "hits.api*"), len(HITS) // 2),
        (("--index", "dev[1]"), len(HITS) // 3),
        (("--index", "1*", "--index", "2*"), len(HITS) * 2 // 3),
        (("--schema", "hits_q1", "--index", "1*", "--from", "2024-03-31", "--partition", "web"), 3),
    ],
)
def test_options_leave_rows_out(filled: World, options: tuple[str, ...], holds: int) -> None:
    assert count(filled, *options) == holds


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (("--schema", "recnt"), "there is no schema recnt", "did you mean 'recent'?"),
        (("--partition", "hits.wbe"), "no partition matches 'hits.wbe'", "did you mean 'hits.web'?"),
        (("--from", "yesterday"), "cannot read 'yesterday' as a time", "T-7d"),
        (("--from", "2024-01-02", "--to", "2024-01-01"), "the range is empty", "--from must lie before --to"),
        (("--at", "hit=3"), "there is no table hit", "did you mean 'hits'?"),
        (("--at", "soon"), "cannot read 'soon' as a time", "T-7d"),
        (("--at", "1", "--at", "2"), "--at is given twice", "write --at TABLE=VERSION"),
        (("--engine", "spark", "--memory", "1GB"), "--memory is DuckDB's", "spark.driver.memory"),
        (("--at", "99"), "table hits has no version 99", "`tailrace partition history` lists them"),
    ],
)
def test_options_that_cannot_be_meant(filled: World, options: tuple[str, ...], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        run(filled, "select count(*) from hits", *options)
    assert message in raised.value.message
    assert hint in (raised.value.hint or "")


def test_tables_as_they_were(filled: World) -> None:
    web = history(filled.lake, "hits", "web")[-1]
    api = history(filled.lake, "hits", "api-1")[-1]
    first, last = sorted((web, api), key=lambda commit: commit.version)
    assert count(filled, "--at", str(first.version)) == len(HITS) // 2
    assert count(filled, "--at", f"hits={first.version}") == len(HITS) // 2
    assert count(filled, "--at", f"{first.at.isoformat()}Z") == len(HITS) // 2
    assert count(filled, "--at", str(first.at)) == len(HITS) // 2
    assert count(filled, "--at", str(last.version)) == len(HITS)
    assert count(filled, "--at", "T-1d") == 0
    assert count(filled, "--at", "2000-01-01") == 0


def test_a_configuration_that_cannot_be_read(filled: World, tmp_path: Path) -> None:
    broken = tmp_path / "broken.tpc"
    broken.write_text('schema "x" {\n  nothing = 1\n}\n')
    done = run(filled, "select count(*) from hits", "--config-path", str(broken))
    assert (done.exit_code, "its tables and schemas are left out" in done.stderr) == (0, True)
    with pytest.raises(ConfigError, match="unknown attribute 'nothing'"):
        run(filled, "select count(*) from hits", "--config-path", str(broken), "--schema", "x")


# What is asked, and where the answer goes


def test_parameters(filled: World) -> None:
    sql = "select count(*) as n from hits where account = $account and n < $1 and tp_date = $2"
    found = rows(filled, sql, "--param", "account=dev[1]", "--param", "1000", "--param", "2024-03-29")
    assert found == [{"n": len(HITS) // 12}]
    nasty = "x' or '1'='1'; drop table hits; --"
    assert rows(filled, "select count(*) as n, $1 as v from hits where account = $1", "--param", nasty) == [
        {"n": 0, "v": nasty}
    ]
    assert rows(filled, "select $1 as v", "--param", nasty) == [{"v": nasty}]
    assert rows(filled, "select $a as v", "--param", "a=b=c") == [{"v": "b=c"}]
    assert rows(filled, "select $1 as v", "--param", "a=b") == [{"v": "a=b"}]
    for wrong in ("x=1", "1"):
        with pytest.raises(UsageError, match="the SQL has no parameter"):
            run(filled, "select 1", "--param", wrong)


def test_out(filled: World, tmp_path: Path) -> None:
    done = run(filled, "select n from hits order by n limit 2", "--out", str(tmp_path / "x.csv"))
    assert (done.stdout, (tmp_path / "x.csv").read_text()) == ("", "n\n0\n1\n")
    run(filled, "select n from hits order by n limit 2", "--out", str(tmp_path / "x.txt"), "--output", "jsonl")
    assert (tmp_path / "x.txt").read_text() == '{"n": 0}\n{"n": 1}\n'
    with pytest.raises(UsageError, match="there is no answer"):
        run(filled, "set variable x = 1", "--out", str(tmp_path / "y.csv"))
    with pytest.raises(QueryError, match="belongs to the lake"):
        run(filled, "select 1", "--out", str(filled.home / "data" / "default" / "y.csv"))
    assert not (tmp_path / "y.csv").exists()


def test_csv_as_wanted(filled: World) -> None:
    done = run(filled, "select 1 as a, 2 as b", "--output", "csv", "--no-header", "--separator", ";")
    assert done.stdout == "1;2\n"


def test_timing(filled: World) -> None:
    done = run(filled, "select n from hits limit 3; select 1", "--timing", "--output", "csv")
    assert [line.split(" in ")[0] for line in done.stderr.splitlines()] == ["3 rows", "1 row"]


def test_limits(filled: World) -> None:
    endless = "select count(*) from range(1000000000000) a, range(1000) b"
    with pytest.raises(QueryError, match=r"stopped after 0\.2 s"):
        run(filled, endless, "--timeout", "200ms")
    with pytest.raises(QueryError) as raised:
        run(filled, "select count(distinct i) from range(5000000) t(i)", "--memory", "40MB", "--sandbox")
    assert raised.value.code == "query.memory"
    bound = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(QueryError) as raised:  # at a go, which DuckDB does not count before it is made
        run(filled, "select len(range(3000000000))", "--memory", "40MB", "--sandbox")
    assert raised.value.code == "query.memory"
    assert resource.getrlimit(resource.RLIMIT_AS) == bound
    for option, value in (("--timeout", "soon"), ("--timeout", "0"), ("--memory", "lots")):
        with pytest.raises(UsageError, match="cannot read"):
            run(filled, "select 1", option, value)


def test_sandbox_and_writes(filled: World, tmp_path: Path) -> None:
    out = tmp_path / "x.csv"
    copy = f"copy (select 1 as a) to '{out}'"
    for options in ((), ("--sandbox",), ("--write", str(tmp_path / "other.csv"))):
        with pytest.raises(QueryError):
            run(filled, copy, *options)
    run(filled, copy, "--write", str(out))
    assert out.read_text() == "a\n1\n"
    with pytest.raises(UsageError, match="exclude each other"):
        run(filled, "select 1", "--sandbox", "--write", str(out))
    assert count(filled, "--sandbox") == len(HITS)
    assert count(filled, "--sandbox", "--index", "dev[1]") == len(HITS) // 3


def test_commands_on_a_pipe(filled: World) -> None:
    arguments = ["--home", str(filled.home), "query"]
    text = ".output csv\n.header off\nselect count(*)\nfrom hits;\n.quit\nselect nonsense;\n"
    done = CliRunner().invoke(cli, arguments, input=text, catch_exceptions=False)
    assert done.stdout == f"{len(HITS)}\n"
    with pytest.raises(UsageError, match=r"no command \.nonsense"):
        CliRunner().invoke(cli, arguments, input=".nonsense\n", catch_exceptions=False)


SAMPLE = """with drawn as (
    select account, weighted_reservoir_sample(STRUCT(tp_id, 1.0), 12) as s from hits group by account)
select account, count(*) as drawn, sum(d.value.adjusted_count) as estimate, sqrt(sum(d.value.variance)) as error
from drawn cross join unnest(s) as t(d) group by account order by account"""


def test_a_sample_of_a_table_estimates_it(filled: World) -> None:
    """The same rows every time; the truth is within four of the errors that it states."""
    found = rows(filled, SAMPLE)
    assert found == rows(filled, SAMPLE)
    for row in found:
        truth = sum(hit.index == row["account"] for hit in HITS)
        assert row["drawn"] == min(12, truth)
        assert abs(row["estimate"] - truth) <= 4 * row["error"] + 1e-9
        assert truth <= 12 or row["error"] > 0
    with pytest.raises(UsageError, match="draws samples with DuckDB"):
        run(filled, SAMPLE, "--engine", "spark")


def test_json_of_several_statements_is_one_document(filled: World) -> None:
    assert rows(filled, "select 1 as a; select 2 as b; select 3 as c where false") == [[{"a": 1}], [{"b": 2}], []]
    assert rows(filled, "select 1 as a", "select 2 as b") == [[{"a": 1}], [{"b": 2}]]
    assert rows(filled, "set threads = 1; select 2 as b") == [{"b": 2}]


def test_a_schema_of_a_sink_that_has_none(filled: World) -> None:
    with pytest.raises(QueryError) as raised:
        run(filled, "from sink_nope.logs")
    wanted = "no sink has a schema here; `tailrace window query DIR` asks the tables of a sink of OTAP"
    assert raised.value.hint == wanted


@pytest.mark.parametrize("options", [(), ("--param", "1")])
def test_a_file_that_is_no_text_is_told(filled: World, tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "utf16.sql").write_text("select $1", encoding="utf-16")
    with pytest.raises(QueryError, match="bytes that are no text"):
        run(filled, str(tmp_path / "utf16.sql"), *options)
