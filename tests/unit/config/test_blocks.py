from __future__ import annotations

import pickle

import pytest

from tailrace.config import Secret, require_available
from tailrace.core import ConfigError

SOURCE = 'source "file" {\n paths = ["/logs"]\n}\n'


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
          source "kubernetes_events" {
            watch = true
          }
        }
    """)
    first, second = config.partitions[0].sources
    assert (first.kind, first.name) == ("aws_s3_bucket", "trails")
    assert first.connection is config.connections[0]
    require_available(first)
    with pytest.raises(ConfigError, match="kubernetes_events cannot be collected yet") as raised:
        require_available(second)
    assert raised.value.where == "a.tpc:11:3"


def test_secrets_do_not_show(load):
    config = load("""
        connection "aws" "prod" {
          access_key = "AKIA"
          profile    = "p"
        }
        connection "http" "api" {
          headers = { Authorization = "pw" }
        }
    """)
    connection, api = config.connections
    assert "AKIA" not in repr(config)
    assert "pw" not in repr(config)
    assert connection.args["profile"] == "p"
    assert connection.args["access_key"].reveal() == "AKIA"
    assert api.args["headers"]["Authorization"].reveal() == "pw"
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
        sink "parquet" "files" {
          path = "out"
        }
        listener "http" {}
        window "w" {
          base_uri = "/otap"
        }
        partition "nginx_access_log" "p" {
          source "file" {
            paths = ["/x"]
          }
          partitions = [partition.remote, tier.recent]
          retention  = "400d"
        }
    """)
    assert [(other.kind, other.type, other.name) for other in config.others] == [
        ("store", "", "default"),
        ("schema", "", "recent"),
        ("schema", "", "d"),
        ("sink", "parquet", "files"),
        ("listener", "http", "http"),
        ("window", "", "w"),
        ("tier", "", "remote"),
    ]
    (store,) = config.of("store")
    assert [(tier.kind, tier.name, tier.args) for tier in store.blocks] == [
        ("tier", "recent", {"from": "2024-03-24", "path": "/tp/recent"}),
        ("tier", "archive", {"path": "s3://archive"}),
    ]
    assert [schema.args for schema in config.of("schema")] == [{"tables": ("*",)}, {"stores": ("default",)}]
    (partition,) = config.partitions
    assert [str(tier) for tier in partition.resting["tiers"]] == ["partition.remote", "tier.recent"]
    assert partition.resting["retention"] == "400d"


def test_what_is_not_active_yet_says_so_once(load):
    a, b, c = (f'workspace "{name}" {{\n memory_max_mb = 1\n}}\n' for name in "abc")
    config = load(a + b, c + 'workspace "d" {\n update_check = false\n}')
    assert [(str(w.place), w.message, w.hint) for w in config.warnings] == [
        (
            "a.tpc:2:2",
            "'memory_max_mb' is not active yet",
            "it is checked and shown, but has no effect; the same at a.tpc:5:2 and 1 more",
        ),
        ("b.tpc:5:2", "'update_check' is not active yet", "it is checked and shown, but has no effect"),
    ]


def test_names_with_dashes_and_blanks(load):
    config = load('partition "nginx_access_log" "my-other stuff" {\n' + SOURCE + "}")
    assert config.partitions[0].name == "my-other stuff"
