"""Tables that a configuration declares: from text to rows, in one process."""

from __future__ import annotations

import json
import random
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from logfiles import access_lines, today, write
from world import World

from tailrace.pipeline.check import check


def partition(table: str, logs: Path, more: str = "") -> str:
    return f'partition "{table}" "p" {{\n source "file" {{ paths = ["{logs}"] }}\n{more}\n}}\n'


def test_every_attribute_of_a_column(world: World, tmp_path: Path) -> None:
    write(
        tmp_path / "logs" / "a.csv",
        "at;who;amt;note;free\n"
        "2024-05-01 10:00:00;ann;1500.50;-;x\n"
        "2024-05-01 11:00:00;bob;12;hello;y\n"
        "2024-05-01 12:00:00;;7;nobody;z\n"
        "2024-05-01 13:00:00;eve;much;n/a;\n",
    )
    world.write_config(
        partition("orders", tmp_path / "logs")
        + """
        format "delimited" "semi" {
          delimiter = ";"
          header    = true
        }
        table "orders" {
          format = format.delimited.semi
          column "tp_timestamp" { source = "at" }
          column "customer" {
            source   = "who"
            required = true
          }
          column "amount" {
            type   = "decimal(10,2)"
            source = "amt"
          }
          column "large" {
            type      = "boolean"
            transform = "try_cast(amt as double) > 1000"
          }
          column "note"         { null_if = "n/a" }
          column "tp_usernames" { source = "who" }
          null_if    = "-"
          map_fields = ["fr*"]
        }
        """
    )
    (report,) = world.collect()
    assert (report.counts.received, report.counts.stored, report.counts.quarantined, report.counts.flagged) == (
        4,
        3,
        1,
        1,
    )
    rows = world.query(
        "select tp_timestamp, customer, amount, large, note, free, tp_usernames from orders order by all"
    )
    assert rows == [
        (datetime(2024, 5, 1, 10), "ann", Decimal("1500.50"), True, None, "x", ["ann"]),
        (datetime(2024, 5, 1, 11), "bob", Decimal(12), False, "hello", "y", ["bob"]),
        (datetime(2024, 5, 1, 13), "eve", None, None, None, None, ["eve"]),
    ]
    assert world.query("select tp_extra -> 'tp_misfit' ->> 'amount' from orders where customer = 'eve'") == [("much",)]
    ((raw, reason),) = world.query("select raw::varchar, reason from tp_quarantine")
    assert raw.startswith("2024-05-01 12:00:00;;7")
    assert "customer" in reason


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ('format "jsonl" "f" { field_map = { level = "sev" } }',
         '{"at": "2024-05-01T10:00:00Z", "sev": "warn", "n": 3}\n'),
        ('format "json" "f" {\n records = "items"\n field_map = { level = "sev" }\n}',
         '{"items": [{"at": "2024-05-01T10:00:00Z", "sev": "warn", "n": 3}]}'),
        ('format "grok" "f" { layout = `%{TIMESTAMP_ISO8601:at} %{LOGLEVEL:level} n=%{INT:n}` }',
         "2024-05-01T10:00:00Z warn n=3\n"),
        (r'format "regex" "f" { layout = `(?P<at>\S+) (?P<level>\w+) n=(?P<n>\d+)` }',
         "2024-05-01T10:00:00Z warn n=3\n"),
        ('format "delimited" "f" {\n fields = ["at", "level", "n"]\n header = false\n}',
         "2024-05-01T10:00:00Z,warn,3\n"),
    ],
    ids=["jsonl", "json", "grok", "regex", "delimited"],
)  # fmt: skip
def test_every_format_feeds_a_table(world: World, tmp_path: Path, format: str, text: str) -> None:
    write(tmp_path / "logs" / "a.log", text)
    kind = format.split('"')[1]
    world.write_config(
        partition("app", tmp_path / "logs")
        + format
        + f"""
        table "app" {{
          format = format.{kind}.f
          column "at"    {{ type = "timestamp" }}
          column "level" {{ }}
          column "n"     {{ type = "integer" }}
        }}
        """
    )
    (report,) = world.collect()
    assert report.clean
    assert world.query("select tp_timestamp, level, n from app") == [(datetime(2024, 5, 1, 10), "warn", 3)]


def test_columns_are_learned_and_stay(world: World, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    config = partition("app", logs) + 'table "app" { column "tp_timestamp" { source = "at" } }'
    first = {"at": "2024-05-01T10:00:00Z", "n": 1, "ok": True, "deep": {"a": [1, 2]}, "text": "x"}
    write(logs / "a.jsonl", json.dumps(first) + "\n")
    world.write_config(config)
    assert world.collect()[0].clean
    write(logs / "b.jsonl", json.dumps(first | {"n": 2, "late": 1.5}) + "\n")
    assert world.collect()[0].clean
    rows = world.query("select n, ok, text, late from app order by n")
    assert rows == [(1, True, "x", None), (2, True, "x", 1.5)]


def test_a_built_in_table_can_be_extended(world: World, tmp_path: Path) -> None:
    line = '192.0.2.1 - - [01/May/2024:10:00:00 +0000] "GET /a/b HTTP/1.1" 200 5 "-" "x"\n'
    write(tmp_path / "logs" / "a.log", line)
    world.write_config(
        partition("nginx_access_log", tmp_path / "logs", "filter = \"section = 'a'\"")
        + """
        table "nginx_access_log" {
          column "section" { transform = "split_part(request_uri, '/', 2)" }
        }
        """
    )
    (report,) = world.collect()
    assert report.clean
    assert world.query("select section, status, tp_ips from nginx_access_log") == [("a", 200, ["192.0.2.1"])]


def test_index_of_a_custom_table(world: World, tmp_path: Path) -> None:
    lines = "".join(json.dumps({"at": "2024-05-01T10:00:00Z", "team": team}) + "\n" for team in ("a/b", "ü", "", None))
    write(tmp_path / "logs" / "a.jsonl", lines)
    table = 'table "app" {\n column "tp_timestamp" { source = "at" }\n column "team" { }\n}'
    world.write_config(partition("app", tmp_path / "logs", 'tp_index = "team"') + table)
    (report,) = world.collect()
    assert (report.clean, report.counts.stored) == (True, 4)
    found = world.query("select team, tp_index from app where tp_index in ('a/b', 'ü') order by all")
    assert found == [("a/b", "a/b"), ("ü", "ü")]
    assert len(world.query("select * from app")) == 4


def test_an_index_that_the_path_tells(world: World, tmp_path: Path) -> None:
    for host in ("web-1", "web-2"):
        write(tmp_path / "logs" / host / "access.log", access_lines(today(), 3))
    write(tmp_path / "logs" / "access.log", access_lines(today(), 1))
    source = f"""source "file" {{
      paths       = ["{tmp_path}/logs"]
      file_layout = `(%{{HOSTNAME:machine}}/)?access.log`
    }}"""
    wanted = "filter = \"tp_index <> 'web-2'\""
    world.write_config(f'partition "nginx_access_log" "p" {{\n tp_index = "machine"\n {wanted}\n {source}\n}}')
    assert not list(check(world.config()))
    (report,) = world.collect()
    assert (report.clean, report.counts.filtered) == (True, 3)
    found = world.query("select tp_index, count(*) from nginx_access_log group by all order by all")
    assert found == [("default", 1), ("web-1", 3)]


EVENTS = """
format "jsonl" "j" {{}}
table "ev" {{
  format = format.jsonl.j
  column "tp_timestamp" {{ source = "t" }}
  column "n" {{ type = "bigint" }}
  {columns}
}}
partition "ev" "p" {{
  {partition}
  source "file" {{ paths = ["{home}/in"] }}
}}
"""


def events(world: World, partition: str = "", columns: str = "", rows: int = 3_000) -> None:
    """Shuffled rows n = 0 … rows - 1."""
    numbers = list(range(rows))
    random.Random(3).shuffle(numbers)
    lines = (f'{{"t": "2026-11-10T00:00:{n % 60:02d}Z", "n": {n}, "g": {n % 3}}}\n' for n in numbers)
    (world.home / "in").mkdir(parents=True)
    (world.home / "in" / "events.jsonl").write_text("".join(lines))
    world.write_config(EVENTS.format(home=world.home, partition=partition, columns=columns))


def test_answers_belong_to_their_rows(world: World) -> None:
    sql = "(select max(x) from range(0, 10000) v(x) where x <= n::bigint)"
    events(world, columns=f'column "same" {{\n type = "bigint"\n transform = "{sql}"\n }}')
    (report,) = world.collect()
    assert report.counts.stored == 3_000
    assert world.query("select count(*) from ev where same = n") == [(3_000,)]


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("tp_date = '2026-11-10' and tp_partition = 'p' and tp_table = 'ev' and tp_index = 'default'", 30),
        ("tp_date = '2026-11-11'", 0),
        ("tp_source_location like '%events.jsonl' and tp_source_type = 'file'", 30),
        ("tp_ingest_timestamp > '2020-01-01' and tp_id is not null", 30),
        ("N < 10", 10),
        ("n < 10 -- few", 10),
    ],
)
def test_filters_over_every_shared_column(condition: str, kept: int, world: World) -> None:
    events(world, partition=f'filter = "{condition}"', rows=30)
    (report,) = world.collect()
    assert report.counts.stored == kept


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("count(*) > 0", "config.bad-expression"),
        ("row_number() over (order by n) = 1", "config.bad-expression"),
        ("unnest([true, false])", "config.bad-expression"),
        ("max(n) < 5", "config.bad-expression"),
        ("n <", "config.bad-expression"),
        ("nope = 1", "config.unknown-column"),
    ],
)
def test_filters_that_cannot_work_are_refused(condition: str, code: str, world: World) -> None:
    events(world, partition=f'filter = "{condition}"', rows=3)
    (report,) = world.collect()
    assert report.error is not None
    assert report.error.code == code


def test_transforms_without_fields_and_of_another_case(world: World) -> None:
    columns = """column "kind" { transform = "'prod'" }
  column "twice" {
    type      = "bigint"
    transform = "N * 2"
  }"""
    events(world, columns=columns, rows=5)
    (report,) = world.collect()
    assert report.error is None
    assert world.query("select distinct kind, twice = n * 2 from ev") == [("prod", True)]


def test_a_mended_format_brings_in_what_was_refused(world: World, tmp_path: Path) -> None:
    logs = write(tmp_path / "logs" / "a.log", "2026-11-15T10:00:00Z w-1 ok\n2026-11-15T10:00:01Z [w-2] ok\n").parent
    table = """format "grok" "app" {{ layout = `{layout}` }}
table "app" {{
  format = format.grok.app
  column "tp_timestamp" {{ source = "logged" }}
}}
"""
    world.write_config(
        table.format(layout="%{TIMESTAMP_ISO8601:logged} w-%{INT:worker} %{GREEDYDATA:text}") + partition("app", logs)
    )
    (first,) = world.collect()
    assert (first.counts.stored, first.counts.quarantined) == (1, 1)
    world.write_config(
        table.format(layout=r"%{TIMESTAMP_ISO8601:logged} \[?w-%{INT:worker}\]? %{GREEDYDATA:text}")
        + partition("app", logs)
    )
    (second,) = world.collect()
    assert (second.counts.stored, second.counts.quarantined) == (2, 0)
    assert world.query("select count(*), count(distinct worker) from app") == [(2, 2)]
    assert world.query("select count(*) from tp_quarantine") == [(0,)]
    (third,) = world.collect()
    assert third.unchanged == 1


def test_columns_tell_a_header_from_values(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.csv", "At Time,Who,Amount\n2024-05-01 10:00:00,ann,12\n")
    world.write_config(
        partition("orders", tmp_path / "logs")
        + """
        table "orders" {
          format = format.delimited.default
          column "tp_timestamp" { source = "At Time" }
          column "customer"     { source = "Who" }
        }
        """
    )
    (report,) = world.collect()
    assert report.clean
    assert world.query("select tp_timestamp::varchar, customer, Amount from orders") == [
        ("2024-05-01 10:00:00", "ann", 12)
    ]
