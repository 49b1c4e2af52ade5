"""The lake in a program: what answers hold, in every form, and what filters leave of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from weblake import ROWS, made_trail

import tailrace
from tailrace.core import ConfigError, QueryError, UsageError

ENDLESS = "select count(*) from range(1000000) a, range(1000000) b where (a.range * b.range) % 7 = 3"
COUNT = "select count(*) from nginx_access_log"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tailrace.Lake]:
    world = made_trail(tmp_path_factory.mktemp("api"))
    with tailrace.open(world.home, config_path=world.home / "config") as opened:
        yield opened


def one(answer: tailrace.Answer) -> Any:
    ((value,),) = answer.rows()
    return value


# Forms


def test_every_form_holds_the_same_rows(lake: tailrace.Lake) -> None:
    answer = lake.sql("select status, count(*) as n from nginx_access_log group by all order by all")
    expected = [(200, 180), (500, 20)]
    assert answer.rows() == list(answer) == expected
    assert answer.arrow().to_pydict() == {"status": [200, 500], "n": [180, 20]}
    assert answer.pandas().to_dict("list") == {"status": [200, 500], "n": [180, 20]}
    assert answer.polars().rows() == expected
    assert pa.Table.from_batches(answer.batches()).num_rows == len(answer) == 2
    assert (answer.columns, answer.types) == (("status", "n"), ("INTEGER", "BIGINT"))
    assert isinstance(answer.pandas(), pd.DataFrame)
    assert isinstance(answer.polars(), pl.DataFrame)


def test_values_of_all_kinds_arrive(lake: tailrace.Lake) -> None:
    answer = lake.sql("""
        select request_parameters as j, user_identity as s, tp_ips as l, tp_timestamp as t, tp_date as d,
               sum(1) over () as huge, 1.50::decimal(9, 2) as x, null::integer as nothing, 'ü' as text
        from aws_cloudtrail_log order by tp_timestamp limit 1
    """)
    row = dict(zip(answer.columns, answer.rows()[0], strict=True))
    assert row["j"] == '{"bucketName": "logs", "number": 0}'
    assert row["s"]["user_name"] == "user0"
    assert row["l"] == ["192.0.2.1"]
    assert (row["t"], row["d"]) == (datetime(2024, 5, 1), date(2024, 5, 1))
    assert (row["huge"], row["x"], row["nothing"], row["text"]) == (10, Decimal("1.50"), None, "ü")
    frame = answer.pandas()
    assert str(frame["huge"].dtype) == "int64"
    assert frame["j"][0] == row["j"]
    assert answer.polars()["j"][0] == row["j"]
    assert answer.polars()["s"][0]["user_name"] == "user0"


def test_numbers_that_are_huge_stay_what_they_are(lake: tailrace.Lake) -> None:
    answer = lake.sql("select 170141183460469231731687303715884::hugeint as n")
    assert answer.rows() == [(Decimal("170141183460469231731687303715884"),)]
    assert answer.pandas()["n"][0] == pytest.approx(1.7014118346046923e32)


def test_columns_may_be_called_alike(lake: tailrace.Lake) -> None:
    assert lake.sql("select 1 as a, 2 as a").rows() == [(1, 2)]


def test_polars_has_no_two_columns_of_one_name(lake: tailrace.Lake) -> None:
    with pytest.raises(tailrace.TailraceError, match="two columns are called x") as raised:
        lake.sql("select 1 as x, 2 as x").polars()
    assert raised.value.code == "query.form"


@pytest.mark.parametrize("params", ["abc", b"abc"])
def test_letters_of_a_text_are_no_parameters(lake: tailrace.Lake, params: Any) -> None:
    with pytest.raises(tailrace.TailraceError, match="no sequence") as raised:
        lake.sql("select $1", params)
    assert raised.value.code == "usage.bad-parameter"


def test_answers_without_rows_or_columns(lake: tailrace.Lake) -> None:
    empty = lake.sql("select status from nginx_access_log where false")
    assert (empty.rows(), empty.columns, len(empty)) == ([], ("status",), 0)
    assert empty.pandas().empty
    assert lake.sql("select 1; select 2").rows() == [(2,)]
    with pytest.raises(UsageError, match="no SQL"):
        lake.sql("-- nothing").rows()


def test_it_is_run_once_and_when_it_is_needed(lake: tailrace.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[object] = []
    engine = lake.engine
    monkeypatch.setattr(lake, "engine", lambda filters: runs.append(filters) or engine(filters))
    answer = lake.sql("select 1 as one")
    assert not runs
    assert (answer.rows(), answer.columns, len(answer), answer.pandas()["one"][0]) == ([(1,)], ("one",), 1, 1)
    assert "one" in repr(answer)
    assert len(runs) == 1


def test_a_new_question_sees_what_was_collected_since(tmp_path: Path) -> None:
    from logfiles import access_lines, write

    world = made_trail(tmp_path)
    lake = tailrace.open(world.home)
    before = lake.sql(COUNT)
    assert one(before) == 2 * ROWS
    write(tmp_path / "logs" / "web" / "later.log", access_lines(date(2024, 5, 3), 7))
    world.collect("nginx_access_log")
    assert (one(before), one(lake.sql(COUNT))) == (2 * ROWS, 2 * ROWS + 7)


# Parameters and filters


def test_parameters_are_values_and_no_sql(lake: tailrace.Lake) -> None:
    named = lake.sql(f"{COUNT} where status = $status and remote_user = $who", {"status": 500, "who": "user0"})
    assert one(named) == one(lake.sql(f"{COUNT} where status = $1 and remote_user = $2", [500, "user0"])) > 0
    assert one(lake.sql(f"{COUNT} where remote_user = $who", {"who": "' or true --"})) == 0
    assert one(lake.sql(f"{COUNT} where tp_timestamp < $t", {"t": datetime(2024, 5, 2)})) == ROWS
    with pytest.raises(QueryError):
        lake.sql(f"{COUNT} where status = $status").rows()


@pytest.mark.parametrize(
    ("filters", "rows"),
    [
        ({}, 2 * ROWS),
        ({"start": "2024-05-02"}, ROWS),
        ({"end": date(2024, 5, 2)}, ROWS),
        ({"start": datetime(2024, 5, 1, 12), "end": datetime(2024, 5, 2, 12)}, ROWS),
        ({"start": datetime(2024, 5, 2, tzinfo=UTC)}, ROWS),
        ({"start": "T-1d"}, 0),
        ({"partition": "web"}, 2 * ROWS),
        ({"partition": ["nginx_access_log.w*"], "index": "default"}, 2 * ROWS),
        ({"index": ["other"]}, 0),
        ({"schema": "first_day"}, ROWS),
        ({"at": "2024-05-01"}, 0),
        ({"at": {"nginx_access_log": datetime(2024, 5, 1)}}, 0),
    ],
)
def test_filters_are_those_of_the_command(lake: tailrace.Lake, filters: Any, rows: int) -> None:
    assert one(lake.sql(COUNT, **filters)) == rows
    assert lake.table("nginx_access_log", **filters).arrow().num_rows == rows


def test_versions_are_numbers_or_times(lake: tailrace.Lake) -> None:
    last = lake.describe("nginx_access_log")["version"]
    assert one(lake.sql(COUNT, at=last)) == one(lake.sql(COUNT, at={"nginx_access_log": last})) == 2 * ROWS
    assert one(lake.sql(COUNT, at=0)) == 0


def test_a_filter_that_does_not_exist_is_refused(lake: tailrace.Lake) -> None:
    with pytest.raises(TypeError, match="begin"):
        lake.sql(COUNT, begin="2024-05-01")  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="no partition matches"):
        lake.sql(COUNT, partition="nothing").rows()
    with pytest.raises(UsageError, match="schema"):
        lake.sql(COUNT, schema="nothing").rows()


# Tables and lists


def test_tables_of_a_schema(lake: tailrace.Lake) -> None:
    assert lake.table("first_day.nginx_access_log").arrow().num_rows == ROWS
    assert lake.table("nginx_access_log").describe()["rows"] == 2 * ROWS
    with pytest.raises(QueryError, match="nginx_acess_log") as caught:
        lake.table("nginx_acess_log").rows()
    assert "nginx_access_log" in str(caught.value.hint)


def test_a_table_is_not_loaded_to_be_shown(lake: tailrace.Lake) -> None:
    table = lake.table("nginx_access_log")
    assert "the first 40 rows" in repr(table)
    assert "_kept" not in table.__dict__
    assert len(table) == 2 * ROWS
    assert "the first 40 rows of 200" in repr(table)


def test_lists_are_those_of_the_commands(lake: tailrace.Lake) -> None:
    tables = {row["name"]: row for row in lake.tables()}
    assert tables["nginx_access_log"]["rows"] == 2 * ROWS
    assert tables["syslog"]["rows"] is None
    assert [row["name"] for row in lake.tables("aws_cloudtrail*")] == ["aws_cloudtrail_log"]
    assert [row["name"] for row in lake.partitions()] == ["aws_cloudtrail_log.trail", "nginx_access_log.web"]
    assert pd.DataFrame(lake.partitions("web"))["rows"].tolist() == [2 * ROWS]
    with pytest.raises(UsageError, match="nothing"):
        lake.tables("nothing")


def test_descriptions_hold_columns_and_meanings(lake: tailrace.Lake) -> None:
    described = lake.describe("aws_cloudtrail")
    assert described["name"] == "aws_cloudtrail_log"
    columns = {column["name"]: column for column in described["columns"]}
    assert columns["tp_timestamp"]["type"] == "timestamp"
    assert columns["event_name"]["description"]


# Limits and errors


def test_limits_hold(lake: tailrace.Lake, tmp_path: Path) -> None:
    sandboxed = tailrace.open(lake.home, sandbox=True)
    assert one(sandboxed.sql(COUNT)) == 2 * ROWS
    for sql in ("select * from read_text('/etc/passwd')", f"copy (select 1) to '{tmp_path}/x.csv'"):
        with pytest.raises(QueryError):
            sandboxed.sql(sql).rows()
    with pytest.raises(QueryError, match="stopped"):
        tailrace.open(lake.home, timeout=0.2).sql(ENDLESS).rows()
    written = tailrace.open(lake.home, write=tmp_path)
    written.sql(f"copy (select 1 as a) to '{tmp_path}/x.csv'").rows()
    assert (tmp_path / "x.csv").read_text() == "a\n1\n"


def test_errors_bring_their_hint_along(lake: tailrace.Lake) -> None:
    with pytest.raises(tailrace.TailraceError) as caught:
        lake.sql("select * from nginx_acess_log").rows()
    assert caught.value.code == "query"
    assert caught.value.__notes__ == [f"hint: {caught.value.hint}"]


def test_a_broken_configuration_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "broken.tpc").write_text('table "x" {')
    lake = tailrace.open(tmp_path / "home", config_path=tmp_path / "broken.tpc")
    with pytest.warns(UserWarning, match="cannot be read"):
        assert lake.sql("show tables").rows()
    with pytest.raises(ConfigError):
        lake.tables()


def test_settings_are_those_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_HOME", str(tmp_path))
    monkeypatch.setenv("TAILRACE_WORKSPACE", "mine")
    assert repr(tailrace.open()) == f"Lake('{tmp_path}', workspace='mine')"
    config = tmp_path / "a.tpc"
    config.write_text('variable "names" {\n type = list(string)\n}\nschema "s" { tables = var.names }')
    lake = tailrace.open(config_path=[config], variables={"names": ["syslog"]})
    assert lake.sql("select table_name from information_schema.tables where table_schema = 's'").rows() == [("syslog",)]


def test_strange_names_of_tables_are_quoted(lake: tailrace.Lake) -> None:
    with pytest.raises(QueryError):
        lake.table('x"; select 1; --').rows()


@pytest.mark.parametrize(
    ("options", "sql", "hint"),
    [
        ({"timeout": 0.2}, ENDLESS, "allow it more with tailrace.open(timeout=…)"),
        ({"sandbox": True}, "copy (select 1) to 'x.csv'", "with tailrace.open(sandbox=False) it may run"),
        ({}, "copy (select 1) to '/tmp/x.csv'", "allow it with tailrace.open(write='/tmp/x.csv')"),
        ({}, "select $a", "give it one in params: {'name': value}, or [value] for $1, $2 …"),
        ({}, "from nonsense", "lake.tables() shows what there is"),
    ],
)
def test_hints_are_for_programs(lake: tailrace.Lake, options: dict[str, Any], sql: str, hint: str) -> None:
    opened = tailrace.open(lake.home, **options)
    for look in (lambda answer: answer.rows(), repr):
        with pytest.raises(QueryError) as raised:
            look(opened.sql(sql))
        assert hint in (raised.value.hint or "")
        assert "--" not in (raised.value.hint or "")
