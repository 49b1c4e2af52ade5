"""What is wrong with a block is said at the attribute's own place, with what to do."""

from __future__ import annotations

import pytest

PARTITION = 'partition "nginx_access_log" "p" {\n  source "file" {\n    paths = ["/x"]\n  }\n'
S3 = 'source "aws_s3_bucket" "s" {\n'
HTTP = 'listener "http" {\n'
STREAMS = 'source "cloudwatch" "s" {\n'
TIER = 'tier "t" {\n  path = "/t"\n'


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        # names and types of blocks
        ('connection "awz" "x" {}', "1:12: unknown connection type 'awz'", "did you mean 'aws'?"),
        ('sink "parkuet" "x" {}', "1:6: unknown sink type 'parkuet'", "did you mean 'parquet'?"),
        ('sink "x" {\n  path = "p"\n}', "1:1: sink x has no type", "add type = …; known: parquet, lake, otap"),
        ('sink "a" "b" "c" {}', "1:1: a sink takes a type and a name", 'write sink "type" "name" { … }'),
        ('schema "a" "b" {}', "1:1: a schema takes a name", 'write schema "name" { … }'),
        ("schema {}", "1:1: a schema needs a name", 'write schema "name" { … }'),
        ('tier {\n  path = "x"\n}', "1:1: a tier needs a name", 'write tier "name" { … }'),
        (HTTP + '  transfrom "redact" {}\n}', "2:3: unknown block 'transfrom'", "did you mean 'transform'?"),
        (HTTP + '  transform "redcat" {}\n}', "2:13: unknown transform type 'redcat'", "did you mean 'redact'?"),
        # attributes
        ('schema "s" {\n  tabels = ["x"]\n}', "2:3: unknown attribute 'tabels'", "did you mean 'tables'?"),
        (
            'schema "s" {\n  tables = ["x"]\n  types = ["y"]\n}',
            "3:3: 'types' is another spelling of 'tables'",
            "keep one of them",
        ),
        ('store "s" {\n  retention = "long"\n}', "2:15: 'retention': 'long' is not a duration", None),
        ('store "s" {\n  retention = "-1d"\n}', "2:15: 'retention': '-1d' is negative", None),
        (TIER + '  from = "yesterday"\n}', "3:10: 'from': 'yesterday' is not a date or a time", None),
        ('listener "http" {\n  max_body = "big"\n}', "2:14: 'max_body': 'big' is not a size", None),
        ('listener "http" {\n  port = -1\n}', "2:10: 'port' must be at least 0, not -1", None),
        ('listener "http" {\n  port = 80.5\n}', "2:10: 'port' must be a whole number, not 80.5", "write port = 80"),
        (
            'sink "parquet" "s" {\n  row_group_size = 1234567.5\n  path = "/o"\n}',
            "2:20: 'row_group_size' must be a whole number, not 1234567.5",
            "write row_group_size = 1234568",
        ),
        (
            'window "w" {\n  base_uri = "/in"\n  sampling {\n    seed = 1.5\n  }\n  output {\n    path = "/o"\n  }\n}',
            "4:12: 'seed' must be a whole number, not 1.5",
            "write seed = 2",
        ),
        ('source "kafka" "k" {\n  topics = ["t"]\n}', "1:1: a kafka source needs 'brokers'", "add brokers = …"),
        (
            PARTITION.replace("/x", r"/x\u0000y") + "}",
            "3:13: 'paths' holds a NUL character",
            "no name of a file, program or address holds one; take it out",
        ),
        ('source "aws_s3" "s" {\n  bucket = "a\\u0000"\n}', "2:12: 'bucket' holds a NUL character", None),
        (TIER.replace("/t", r"/\u0000") + "}", "2:10: 'path' holds a NUL character", None),
        # values that contradict each other
        (
            'source "aws_s3" "s" {\n  bucket = "b"\n  sqs_queue_url = "https://q/1"\n}\n'
            'partition "nginx_access_log" "one" {\n  source = source.aws_s3.s\n}\n'
            'partition "nginx_access_log" "two" {\n  source = source.aws_s3.s\n}\n',
            "1:1: the queue of this source is read by partition nginx_access_log.one already",
            "give each its own: SNS and EventBridge send a notification to several queues",
        ),
        (TIER + '  location = "/u"\n}', "3:3: 'location' is another spelling of 'path'", "keep one of them"),
        (
            TIER + '  max_age = "7d"\n  from = "2024-01-01"\n}',
            "3:13: 'max_age' and a range cannot both be set",
            "a tier holds days by age or by range",
        ),
        (
            TIER + '  from = "2024-02-01"\n  to = "2024-01-01"\n}',
            "4:8: 'to' (2024-01-01) is before 'from' (2024-02-01)",
            None,
        ),
        (
            'schema "s" {\n  start_date = "2024-02-01T00:00:00Z"\n  end_date = "2024-01-01"\n}',
            "3:14: 'end_date' (2024-01-01) is before 'start_date' (2024-02-01T00:00:00Z)",
            None,
        ),
        (TIER + '  partition_by = ["tp_dat"]\n}', "3:18: unknown column 'tp_dat'", "did you mean 'tp_date'?"),
        (
            'sink "parquet" {\n  path = "x"\n  transform "sample" {\n    rate = 5\n  }\n}',
            "4:12: 'rate' must be between 0 and 1, not 5",
            None,
        ),
        # partitions
        (PARTITION + '  dedupe = ["statsu"]\n}', "5:12: unknown column 'statsu'", "did you mean 'status'?"),
        (
            PARTITION + '  dedupe = ["request_time"]\n}',
            "5:12: column request_time cannot tell events apart",
            "numbers with a fraction are equal by chance: name columns with exact values",
        ),
        (
            PARTITION + '  store = store.default\n  tier {\n    path = "/t"\n  }\n}',
            "1:1: two places say where the days rest",
            "days rest in a store or in tiers: keep store or tier",
        ),
        (
            PARTITION + "  store = store.defualt\n}",
            "5:11: store.defualt does not exist",
            'declare it: store "defualt" { … }',
        ),
        (PARTITION + '  store = "default"\n}', "5:11: 'store' must be a store, not a text", "write store.name"),
        (
            PARTITION + '  tier "a" {\n    path = "/t"\n  }\n  tier "a" {\n    path = "/u"\n  }\n}',
            "8:3: tier a already exists",
            "it is declared at a.tpc:5:3",
        ),
        # places of remote objects
        (S3 + '  paths = ["/var/log"]\n}', "2:11: '/var/log' names no bucket", "write s3://bucket/prefix/*"),
        (S3 + '  paths = ["s3://b*/x"]\n}', "2:11: 's3://b*/x' names no bucket", "write s3://bucket/prefix/*"),
        (S3 + '  prefix = "x"\n}', "1:1: an aws_s3_bucket source needs 'bucket' or 'paths'", "add bucket = …"),
        (
            S3 + '  bucket = "b"\n  paths = ["s3://b/x"]\n}',
            "2:3: 'bucket' is already said by 'paths'",
            "keep one of them",
        ),
        (STREAMS + '  log_streams = ["group"]\n}', "2:17: 'group' names no stream", "write group/stream_*"),
        ('source "command" {\n  command = "a \'b"\n}', "2:13: 'command': No closing quotation", None),
        # references
        (
            'listener "http" {\n  sinks = [sink.files]\n}\nsink "parquet" "fils" {\n  path = "x"\n}',
            "2:12: sink.files does not exist",
            "did you mean 'sink.parquet.fils'?",
        ),
        (
            'tier "t" {\n  path = "x"\n  connection = connection.aws.x\n}',
            "3:16: connection.aws.x does not exist",
            'declare it: connection "aws" "x" { … }',
        ),
        (
            'sink "lake" {\n  table = table.nope\n}',
            "2:11: table.nope does not exist",
            'declare it: table "nope" { … }',
        ),
        (
            'partition "nope" "x" {\n  source "file" {\n    paths = ["/x"]\n  }\n}',
            "1:11: unknown table 'nope'",
            'declare it: table "nope" { … }; `tailrace table list` shows those that are built in',
        ),
        (
            'partition "nginx" "x" {\n  source "file" {\n    paths = ["/x"]\n  }\n}',
            "1:11: unknown table 'nginx'",
            "did you mean 'nginx_access_log'?",
        ),
        (
            'partition "nginx_access_log" "x" {\n  source "s3" {}\n}',
            "2:10: unknown source 's3'",
            "did you mean 'aws_s3_bucket'?",
        ),
        (
            'partition "nginx_access_log" "x" {\n  source = "file"\n}',
            "2:12: 'source' must be a source or a list of them, not a text",
            'write source "file" { … }, or source.type.name',
        ),
        (
            'partition "nginx_access_log" "x" {\n  paths = ["/x"]\n  source "file" {\n    paths = ["/x"]\n  }\n}',
            "2:3: unknown attribute 'paths'",
            'paths stands inside of source "file" { … }',
        ),
        (
            'partition "nginx_access_log" "x" {\n  filter = status >= 500\n  source "file" {\n    paths = []\n  }\n}',
            "2:12: expected a number, found the name status",
            "put SQL, or any other text, between double quotes",
        ),
        ('destination "x" {}', "1:1: unknown block 'destination'", "`store` says where days rest"),
        ('plugin "aws" {}', "1:1: unknown block 'plugin'", ""),
        ("locals {\n  roots {}\n}", "2:3: unknown block 'roots'", "write an attribute: roots = …"),
        (
            'workspace "a" {\n  base = workspace.b\n}\nworkspace "b" {\n  base = workspace.c\n}',
            "5:10: unknown workspace 'c'",
            "known: a, b",
        ),
    ],
)
def test_each_mistake(fail, text, message, hint):
    problem = fail(text)[0]
    assert str(problem).startswith(f"a.tpc:{message}")
    assert problem.hint == hint if hint else problem.hint


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ('schema "s" {}', 'dataset "s" {}', "schema s"),
        ('sink "parquet" "s" {\n path = "x"\n}', 'sink "s" {\n type = "parquet"\n path = "y"\n}', "sink parquet.s"),
        ('tier "t" {\n path = "x"\n}', 'partition "t" {\n path = "y"\n}', "tier t"),
        ('connection "aws" "c" {}', 'connection "aws" "c" {}', "connection aws.c"),
        ('workspace "w" {}', 'workspace "w" {}', "workspace w"),
    ],
)
def test_names_are_taken_once_across_files(fail, first, second, name):
    (problem,) = fail(first, second)
    assert (problem.message, problem.hint) == (f"{name} already exists", "it is declared at a.tpc:1:1")
    assert str(problem.place) == "b.tpc:1:1"


def test_schemas_are_taken_once_whatever_their_case(fail):
    (problem,) = fail('schema "Recent" {}\n', 'dataset "recent" {}\n')
    assert problem.message == "schema recent already exists"
    assert problem.hint == "it is declared at a.tpc:1:1 as 'Recent', and SQL does not tell upper case from lower"


@pytest.mark.parametrize(
    "name",
    ["tailrace", "Tailpipe", "main", "temp", "system", "memory", "information_schema", "pg_catalog", "tailrace_own"],
)
def test_names_that_mean_something_else_in_sql(fail, name):
    (problem,) = fail(f'schema "{name}" {{}}')
    assert (problem.message, problem.code) == (f"'{name}' cannot name a schema", "config.reserved-name")
    assert str(problem.place) == "a.tpc:1:1"


@pytest.mark.parametrize("name", ['q\\"1', "a.b", "x; drop table y", "it's", "a\\u0000b", " ", "*"])
def test_names_that_no_schema_can_have(fail, name):
    assert [problem.code for problem in fail(f'schema "{name}" {{}}')] == ["config.bad-name"]


def test_a_schema_of_one_day_may_say_its_times(load):
    assert load('schema "s" {\n  start_date = "2024-03-31T12:00:00Z"\n  end_date = "2024-03-31"\n}').of("schema")


def test_workspaces_that_stand_on_each_other(fail):
    first, second = fail('workspace "a" {\n base = workspace.b\n}\nworkspace "b" {\n base = workspace.a\n}')
    assert (first.code, second.code) == ("config.circular-reference",) * 2


@pytest.mark.parametrize("nothing", ["null", "[]", '""'])
def test_nothing_is_not_enough_where_something_is_needed(fail, nothing):
    (problem,) = fail(f'source "file" "x" {{\n  paths = {nothing}\n}}')
    assert problem.message == "a file source needs 'paths'"


@pytest.mark.parametrize("nothing", ["null", '""'])
def test_an_empty_layout_is_none(fail, nothing):
    (problem,) = fail(f'format "grok" "x" {{\n  layout = {nothing}\n}}')
    assert problem.message == "a grok format needs a layout"
