from __future__ import annotations

import pytest

from tailrace.core import Delimited, Grok, Json, Jsonl, Layout, Regex
from tailrace.core.registry import find_table


def formats_of(config):
    return {(spec.type, spec.name): spec.format for spec in config.formats}


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
