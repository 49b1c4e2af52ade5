from __future__ import annotations

import pytest

from tailrace.config import tables_for
from tailrace.core import ConfigError, Delimited, Jsonl
from tailrace.core.registry import find_table

SOURCE = 'source "file" {\n paths = ["/logs"]\n}\n'


def test_custom_table(load):
    config = load("""
        table "app" {
          format      = format.delimited.default
          description = "App events."
          null_if     = "-"
          map_fields  = ["a*"]
          column "tp_timestamp" {
            source = "time"
          }
          column "status" {
            type        = "int"
            source      = "st"
            null_if     = "NA"
            required    = true
            description = "HTTP status."
          }
          column "class" {
            type      = "varchar"
            transform = "case when st::int < 400 then 'ok' else 'bad' end"
          }
          column "net" {
            type = "cidr"
          }
          column "amount" {
            type = "DECIMAL(18, 2)"
          }
          column "tags" {
            type = "string[]"
          }
          column "tp_index" {
            source = "x"
          }
        }
    """)
    table = tables_for(config, "app")
    assert (table.doc, table.null, table.map_fields, table.format) == (
        "App events.",
        "-",
        ("a*",),
        Delimited(),
    )
    assert table.common.time == ("tp_timestamp",)
    assert [(c.name, c.type, c.src) for c in table.columns] == [
        ("tp_timestamp", "timestamp", "time"),
        ("status", "integer", "st"),
        ("class", "varchar", None),
        ("net", "cidr", None),
        ("amount", "decimal(18, 2)", None),
        ("tags", "varchar[]", None),
    ]
    status, kind = table.columns[1:3]
    assert (status.null_if, status.required, status.doc) == ("NA", True, "HTTP status.")
    assert kind.sql == "case when st::int < 400 then 'ok' else 'bad' end"
    assert "tp_index" in config.warnings[0].message


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"when": "datetime", "x": "int"}, "when"),
        ({"a": "timestamp", "ts": "timestamp"}, "ts"),
        ({"a": "timestamp", "time": "timestamp", "timestamp": "timestamp"}, "timestamp"),
        ({"time": "varchar"}, "time"),
    ],
)
def test_which_column_gives_the_time(load, columns, expected):
    body = "".join(f'column "{name}" {{\n type = "{kind}"\n}}\n' for name, kind in columns.items())
    table = tables_for(load(f'table "t" {{\n{body}}}'), "t")
    assert table.common.time == (expected,)
    assert table.map_fields == ("*",)


def test_a_block_extends_a_built_in_table(load):
    builtin = find_table("nginx_access_log")
    config = load("""
        table "nginx_access_log" {
          column "status" {
            type = "varchar"
          }
          column "shard" {
            type = "int"
          }
        }
    """)
    table = tables_for(config, "nginx_access_log")
    assert [c.name for c in table.columns] == [*(c.name for c in builtin.columns), "shard"]
    assert table.column("status").type == "varchar"
    assert table.column("status").doc == builtin.column("status").doc
    assert (table.common, table.format, table.map_fields) == (builtin.common, builtin.format, ())


def test_an_extended_table_takes_the_time_of_its_own_column_too(load):
    config = load('table "syslog" {\n column "at" {\n type = "timestamp"\n }\n}')
    assert tables_for(config, "syslog").common.time == (*find_table("syslog").common.time, "at")


def test_built_in_tables_by_name_and_alias(load):
    config = load("")
    assert tables_for(config, "aws_cloudtrail") is find_table("aws_cloudtrail_log")
    with pytest.raises(ConfigError, match="unknown table 'aws_cloudtrial_log'") as raised:
        tables_for(config, "aws_cloudtrial_log")
    assert raised.value.hint == "did you mean 'aws_cloudtrail_log'?"


def test_a_custom_table_without_a_format_is_read_as_json_lines(load):
    config = load('table "t" {\n column "ts" {}\n}\npartition "t" "p" {\n' + SOURCE + "}")
    assert tables_for(config, "t").format == Jsonl()
    assert "JSON lines are assumed" in config.warnings[0].message


@pytest.mark.parametrize("spelled", ["table.nginx_access_log", '"nginx_access_log"'])
def test_a_table_may_extend_a_built_in_one(load, spelled):
    config = load(f"""
        table "edge" {{
          extends     = {spelled}
          description = "Requests at the edge."
          column "status" {{ type = "bigint" }}
          column "pop"    {{ }}
        }}
        partition "edge" "p" {{ {SOURCE} }}
    """)
    table, builtin = tables_for(config, "edge"), find_table("nginx_access_log")
    assert (table.name, table.doc, table.aliases) == ("edge", "Requests at the edge.", ())
    assert (table.format, table.common, table.null) == (builtin.format, builtin.common, builtin.null)
    assert [c.name for c in table.columns] == [*(c.name for c in builtin.columns), "pop"]
    assert table.column("status").type == "bigint"


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ('table "edge" { extends = table.nginx_acess_log }', "unknown table 'nginx_acess_log'"),
        ('table "edge" { extends = table.edge }', "unknown table 'edge'"),
        (
            'table "apache_access_log" { extends = "nginx_access_log" }',
            "apache_access_log is built in and cannot extend",
        ),
        ('table "edge" { extends = 3 }', "'extends' must be a table"),
    ],
)
def test_what_cannot_be_extended(fail, block, message):
    (problem,) = fail(block)
    assert message in problem.message
    assert problem.hint
