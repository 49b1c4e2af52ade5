from __future__ import annotations

import pickle

import pytest

from tailrace.config import Secret, require_available, tables_for
from tailrace.core import (
    ConfigError,
    Delimited,
    Grok,
    Json,
    Jsonl,
    Layout,
    Regex,
)
from tailrace.core.registry import find_table

SOURCE = 'source "file" {\n paths = ["/logs"]\n}\n'


def formats_of(config):
    return {(spec.type, spec.name): spec.format for spec in config.formats}


def test_partition_of_a_built_in_table(load):
    config = load("""
        partition "nginx_access_log" "web" {
          filter   = "status >= 400"
          tp_index = "server_name"
          source "file" {
            paths       = ["/var/log/nginx", "/x/*.gz"]
            file_layout = "%{YEAR:year}/%{DATA}.log"
            patterns    = { DAY = "[0-9]+\\\\d", REST = `%{DATA:x}` }
          }
        }
    """)
    (partition,) = config.partitions
    assert (partition.table, partition.name) == ("nginx_access_log", "web")
    assert (partition.filter, partition.tp_index) == ("status >= 400", "server_name")
    assert str(partition.where) == "a.tpc:2:1"
    (source,) = partition.sources
    assert source.args == {
        "paths": ("/var/log/nginx", "/x/*.gz"),
        "file_layout": "%{YEAR:year}/%{DATA}.log",
        "patterns": {"DAY": "[0-9]+\\d", "REST": "%{DATA:x}"},
    }
    assert (source.kind, source.name, source.format, source.connection) == ("file", "file", None, None)
    require_available(source)


@pytest.mark.parametrize(
    "head",
    [
        'partition "aws_vpc_flow_log" "p" {',
        'collection "aws_flowlog" "p" {',
        "partition aws_vpc_flow_log p {",
        'collection "p" {\n type = "aws_flowlog"',
        'partition "p" {\n type = table.aws_vpc_flow_log',
        'partition "p" {\n table = "aws_vpc_flow_log"',
        'partition "p" {\n table = table.aws_flowlog',
    ],
)
def test_ways_to_name_a_partition(load, head):
    (partition,) = load(f"{head}\n{SOURCE}}}").partitions
    assert partition.full_name == "aws_vpc_flow_log.p"


@pytest.mark.parametrize(
    ("sources", "names"),
    [
        ('source = source.file.a', ["a"]),
        ("source = [source.file.a, source.file.b]", ["a", "b"]),
        ("source = source.a", ["a"]),
        (SOURCE, ["file"]),
        (SOURCE + SOURCE, ["file", "file_2"]),
        ('source {\n type = "file"\n name = "n"\n paths = "/x"\n}', ["n"]),
        ('source "file" "n" {\n paths = ["/x"]\n}', ["n"]),
        ('source "n" {\n type = "file"\n paths = ["/x"]\n}', ["n"]),
        (SOURCE + "source = source.file.b", ["b", "file"]),
    ],
)  # fmt: skip
def test_ways_to_give_sources(load, sources, names):
    top = 'source "file" "a" {\n paths = ["/a"]\n}\nsource "file" {\n name = "b"\n paths = ["/b"]\n}\n'
    config = load(top, f'partition "nginx_access_log" "p" {{\n{sources}\n}}')
    assert [source.name for source in config.partitions[0].sources] == names
    assert [source.name for source in config.sources] == ["a", "b"]


def test_kinds_that_come_later_load_but_cannot_be_collected(load):
    config = load("""
        connection "aws" "prod" {
          profile = "p"
        }
        source "aws_s3" "trails" {
          connection = connection.aws.prod
          paths      = ["s3://trails/AWSLogs/*"]
        }
        collection "aws_cloudtrail_log" "prod" {
          source = source.aws_s3.trails
          source "command" {
            command = "produce"
          }
        }
    """)
    first, second = config.partitions[0].sources
    assert (first.kind, first.name) == ("aws_s3_bucket", "trails")
    assert first.connection is config.connections[0]
    assert second.kind == "command"
    with pytest.raises(ConfigError, match="aws_s3_bucket cannot be collected yet") as raised:
        require_available(first)
    assert raised.value.where == "a.tpc:5:1"


def test_formats(load):
    config = load(r"""
        format "json" "j" {
          records   = "Records"
          field_map = { a = "b" }
        }
        format "jsonl" "l" {}
        format "mine" {
          type             = "csv"
          delimiter        = "\s"
          header           = false
          null_column_char = "-"
          fields           = [timestamp, "vpc-id", src_ip]
        }
        format "grok" "g" {
          layout   = "%{IP:ip} %{OWN:x} [%{DATA:t}]"
          patterns = { OWN = "a|b" }
        }
        format "regex" "r" {
          layout = `^(?P<x>\d+) "(?P<y>.*)"$`
        }
        format "nginx_access_log" "n" {
          layout = `$remote_addr [$time_local]`
        }
        format "aws_vpc_flow_log" "v" {
          layout = "${version} ${vpc-id}"
        }
        format "delimited" "d" {
          sample_size = 5
        }
    """)
    nginx, vpc = find_table("nginx_access_log"), find_table("aws_vpc_flow_log")
    assert isinstance(nginx.format, Layout)
    assert formats_of(config) == {
        ("json", "j"): Json("Records", field_map=(("a", "b"),)),
        ("jsonl", "l"): Jsonl(),
        ("csv", "mine"): Delimited("\\s", header=False, null_str="-", fields=("timestamp", "vpc-id", "src_ip")),
        ("grok", "g"): Grok("%{IP:ip} %{OWN:x} [%{DATA:t}]", (("OWN", "a|b"),)),
        ("regex", "r"): Regex(r'^(?P<x>\d+) "(?P<y>.*)"$'),
        ("nginx_access_log", "n"): Layout("$remote_addr [$time_local]", nginx.format.dialect, split=nginx.format.split),
        ("aws_vpc_flow_log", "v"): Layout("${version} ${vpc-id}", vpc.format.dialect, vpc.format.header),
        ("delimited", "d"): Delimited(),
    }
    assert [warning.message for warning in config.warnings] == [
        "'\\s' is not an escape; it is read as it stands",
        "'sample_size' has no effect here",
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("format.jsonl.default", Jsonl()),
        ("format.delimited.default", Delimited()),
        ("format.mine", Grok("%{IP:x}")),
        ("format.grok.mine", Grok("%{IP:x}")),
        ("format.nginx_access_log.combined", find_table("nginx_access_log").presets[0].format),
        ('"jsonl"', Jsonl()),
        ('{ type = "delimited", delimiter = "|" }', Delimited("|")),
        ('{ type = "grok", layout = "%{IP:x}" }', Grok("%{IP:x}")),
    ],
)
@pytest.mark.parametrize("attribute", ["source_format", "format"])
def test_ways_to_give_a_format(load, attribute, given, expected):
    inner = f"format = {given}\n" if attribute == "format" else ""
    outer = f"source_format = {given}\n" if attribute == "source_format" else ""
    config = load(
        'format "grok" "mine" {\n layout = `%{IP:x}`\n}',
        f'partition "nginx_access_log" "p" {{\n source "file" {{\n paths = ["/x"]\n {inner} }}\n {outer} }}',
    )
    assert config.partitions[0].sources[0].format == expected


def test_a_layout_as_source_format_is_of_the_tables_own_kind(load):
    config = load("""
        source "file" "flow" {
          paths = ["/x"]
        }
        collection "aws_flowlog" "p" {
          source        = source.file.flow
          source_format = "${version} ${vpc-id} ${subnet-id}"
        }
    """)
    layout = config.partitions[0].sources[0].format
    assert isinstance(layout, Layout)
    assert (layout.text, layout.dialect) == ("${version} ${vpc-id} ${subnet-id}", "vpc")


def test_delimited_flow_fields_are_a_layout_of_the_table(load):
    config = load("""
        partition "aws_vpc_flow_log" "p" {
          source_format = {
            type      = "delimited"
            delimiter = " "
            fields    = ["version", "vpc-id", "srcaddr"]
          }
          source "file" {
            paths = ["/x"]
          }
        }
    """)
    layout = config.partitions[0].sources[0].format
    assert isinstance(layout, Layout)
    assert (layout.text, layout.dialect) == ("version vpc-id srcaddr", "vpc")


def test_the_sources_format_wins(load):
    config = load("""
        partition "nginx_access_log" "p" {
          source_format = "jsonl"
          source "file" {
            paths  = ["/a"]
            format = "json"
          }
          source "file" {
            paths = ["/b"]
          }
        }
    """)
    assert [source.format for source in config.partitions[0].sources] == [Json(), Jsonl()]


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


def test_built_in_tables_by_name_and_alias(load):
    config = load("")
    assert tables_for(config, "aws_cloudtrail") is find_table("aws_cloudtrail_log")
    with pytest.raises(ConfigError, match="unknown table 'aws_cloudtrial_log'") as raised:
        tables_for(config, "aws_cloudtrial_log")
    assert raised.value.hint == "did you mean 'aws_cloudtrail_log'?"


def test_secrets_do_not_show(load):
    config = load("""
        connection "aws" "prod" {
          access_key = "AKIA"
          profile    = "p"
          nested     = { password = "pw" }
        }
    """)
    (connection,) = config.connections
    assert "AKIA" not in repr(config)
    assert "pw" not in repr(config)
    assert connection.args["profile"] == "p"
    assert connection.args["access_key"].reveal() == "AKIA"
    assert pickle.loads(pickle.dumps(connection)) == connection
    assert str(connection.args["access_key"]) == repr(Secret("x"))


def test_workspaces(load):
    config = load("""
        connection "aws" "lake" {}
        workspace "base" {
          memory_max_mb = 512
          log_level     = "info"
        }
        workspace "default" {
          base       = workspace.base
          path       = "s3://lake"
          connection = connection.aws.lake
          log_level  = "debug"
        }
    """)
    default = config.workspace("default")
    assert (default.path, default.connection) == ("s3://lake", config.connections[0])
    assert default.settings == {"memory_max_mb": 512, "log_level": "debug"}


def test_blocks_that_come_later_are_kept(load):
    config = load("""
        store "default" {
          partition "recent" {
            from = formatdate("YYYY-MM-DD", timeadd(timestamp(), "-168h"))
            path = "/tp/recent"
          }
          tier "archive" {
            path = "s3://archive"
          }
        }
        partition "remote" {
          location     = "s3://bucket/store"
          partition_by = ["tp_date"]
        }
        schema "recent" {
          types = ["*"]
        }
        dataset "d" {
          partition = "default"
        }
        sink "files" {}
        listener "http" {}
        window "w" {}
        partition "nginx_access_log" "p" {
          source "file" {
            paths = ["/x"]
          }
          partition {
            path = "/tp/current"
          }
          store      = store.default
          partitions = [partition.remote]
          retention  = "400d"
        }
    """)
    assert [(other.kind, other.labels) for other in config.others] == [
        ("store", ("default",)),
        ("schema", ("recent",)),
        ("dataset", ("d",)),
        ("sink", ("files",)),
        ("listener", ("http",)),
        ("window", ("w",)),
        ("tier", ("remote",)),
    ]
    store = config.others[0]
    assert [tier.args for tier in store.blocks] == [
        {"from": "2024-03-24", "path": "/tp/recent"},
        {"path": "s3://archive"},
    ]
    (partition,) = config.partitions
    assert [str(value) for value in (partition.later["store"], *partition.later["partitions"])] == [
        "store.default",
        "partition.remote",
    ]
    assert partition.tiers[0].args == {"path": "/tp/current"}


def test_names_with_dashes_and_blanks(load):
    config = load('partition "nginx_access_log" "my-other stuff" {\n' + SOURCE + "}")
    assert config.partitions[0].name == "my-other stuff"


def test_a_custom_table_without_a_format_is_read_as_json_lines(load):
    config = load('table "t" {\n column "ts" {}\n}\npartition "t" "p" {\n' + SOURCE + "}")
    assert tables_for(config, "t").format == Jsonl()
    assert "JSON lines are assumed" in config.warnings[0].message
