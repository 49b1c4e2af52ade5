"""Formats of files that are not lines, and options of those that are, as blocks."""

from __future__ import annotations

from datetime import datetime

import pytest

from tailrace.config.load import load_texts
from tailrace.config.places import Text
from tailrace.core import Avro, ConfigError, Delimited, Format, Otlp, Parquet, Xml
from tailrace.core.registry import find_table


def made(text: str) -> dict[str, Format]:
    config = load_texts([Text("x.tpc", text.encode(), ".")], now=datetime(2024, 1, 1), environ={})
    return {spec.name: spec.format for spec in config.formats}


def test_every_type_becomes_its_format() -> None:
    formats = made("""
        format "parquet" "p" { field_map = { a = "b" } }
        format "avro" "a" { keys = "camel" }
        format "xml" "x" {
          record = "Event"
          named  = "Data@Name"
        }
        format "otlp" "o" { }
        format "delimited" "d" {
          null_padding       = true
          allow_quoted_nulls = false
          force_not_null     = ["a"]
          decimal_separator  = ","
          timestamp_format   = "%d/%m/%Y"
          normalize_names    = true
          new_line           = "\\r"
          max_line_size      = 1000
        }
    """)
    assert list(formats.values()) == [
        Parquet((("a", "b"),)),
        Avro("camel"),
        Xml("Event", "Data@Name"),
        Otlp(),
        Delimited(
            null_padding=True, allow_quoted_nulls=False, force_not_null=("a",), decimal_separator=",",
            timestamp_format="%d/%m/%Y", normalize_names=True, new_line="\r", max_line_size=1000,
        ),
    ]  # fmt: skip


def test_xml_needs_its_record() -> None:
    with pytest.raises(ConfigError, match="record"):
        made('format "xml" "x" { }')


@pytest.mark.parametrize("reference", ["format.parquet.default", "format.aws_vpc_flow_log.parquet"])
def test_a_table_knows_its_fields_in_parquet(reference: str) -> None:
    text = f'partition "aws_vpc_flow_log" "p" {{ source "file" {{\n paths = ["x"]\n format = {reference}\n}} }}'
    config = load_texts([Text("x.tpc", text.encode(), ".")], now=datetime(2024, 1, 1), environ={})
    (partition,) = config.partitions
    table = find_table("aws_vpc_flow_log")
    assert table is not None
    own = [preset.format for preset in table.presets if isinstance(preset.format, Parquet)]
    assert [source.format for source in partition.sources] == own
