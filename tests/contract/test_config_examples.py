"""Every block of the collection document: what it became; where it is unfinished, what its author is told.

The documents about `collect` and about concepts hold commands, but no blocks.
"""

from __future__ import annotations

import pytest
from configtold import loaded, told
from documents import (
    CONNECTIONS,
    CSV_FIELDS,
    CUSTOM_TABLE,
    DEV_BECAME,
    DEV_SOURCE,
    FIELD_MAP,
    FIELD_MAP_BECAME,
    FLOW_BECAME,
    FLOW_FIELDS,
    INLINE_SOURCES,
    LOGS,
    SOURCES,
)

from tailrace.config import require_available, tables_for
from tailrace.core import ConfigError

MEANT = [
    pytest.param(
        f'collection "aws_cloudtrail_log" "production" {{\n{LOGS}}}',
        ["partition aws_cloudtrail_log.production", "  source file paths=/logs"],
        id="collection is a partition, typed by its first label",
    ),
    pytest.param(
        f'collection "prod_trail" {{\n    type = "aws_cloudtrail_log"\n{LOGS}}}',
        ["partition aws_cloudtrail_log.prod_trail", "  source file paths=/logs"],
        id="the form with type is the same",
    ),
    pytest.param(
        f'collection "my-stuff" {{\n    type = table.my_table\n{LOGS}}}\n'
        'table "my_table" {\n column "time" {\n  type = "datetime"\n }\n}',
        ["partition my_table.my-stuff", "  source file paths=/logs"],
        id="type may be a table of one's own",
    ),
    pytest.param(
        CONNECTIONS + SOURCES,
        [
            "partition aws_cloudtrail_log.production_cloudwatch",
            "  source aws_cloudwatch_log_group prod_trails with aws.prod"
            " from aws-cloudtrail-logs: 123456789012_CloudTrail_*",
            "partition aws_cloudtrail_log.production_s3",
            "  source aws_s3_bucket prod_trails with aws.prod from my-prod-trails: AWSLogs/*/CloudTrail/*",
            "partition aws_cloudtrail_log.dev_s3",
            "  source aws_s3_bucket dev_trails with aws.dev from my-dev-log-bucket: AWSLogs/*/CloudTrail/*",
        ],
        id="source may be a top-level block that is referred to",
    ),
    pytest.param(
        CONNECTIONS + INLINE_SOURCES,
        [
            "partition aws_cloudtrail_log.production_cloudwatch",
            "  source aws_cloudwatch_log_group with aws.prod from aws-cloudtrail-logs: 123456789012_CloudTrail_*",
            "partition aws_cloudtrail_log.production_s3",
            "  source aws_s3_bucket with aws.prod from my-prod-trails: AWSLogs/*/CloudTrail/*",
            "partition aws_cloudtrail_log.dev_s3",
            DEV_BECAME,
        ],
        id="source blocks inside of the partition",
    ),
    *(
        pytest.param(
            f'{CONNECTIONS}\ncollection "dev_s3" {{\n  {typed}\n{DEV_SOURCE}}}',
            ["partition aws_cloudtrail_log.dev_s3", DEV_BECAME],
            id=f"{typed} means the two-label form",
        )
        for typed in (
            "type = table.aws_cloudtrail_log",
            'type = "aws_cloudtrail_log"',
            "table = table.aws_cloudtrail_log",
            'table = "aws_cloudtrail_log"',
        )
    ),
    pytest.param(
        f'{CONNECTIONS}\ncollection "aws_flowlog" "dev_s3" {{\n{DEV_SOURCE}\n'
        '  source_format = "${version} ${vpc-id} ${subnet-id} ${interface-id} ${instance-id}" ///... etc...\n}',
        [
            "partition aws_vpc_flow_log.dev_s3",
            DEV_BECAME + " as layout ${version} ${vpc-id} ${subnet-id} ${interface-id} ${instance-id}",
        ],
        id="source_format as the console writes it is kept raw",
    ),
    pytest.param(
        f'{CONNECTIONS}\ncollection "aws_flowlog" "dev_s3" {{\n{DEV_SOURCE}\n  source_format = {{\n'
        '    type              = "delimited" // vs json, jsonl, etc....\n'
        '    delimiter         = "\\s"        // other args are format type specific ?\n'
        f'    null_column_char  =  "-"\n{FLOW_FIELDS}  }}\n\n}}',
        ["partition aws_vpc_flow_log.dev_s3", f"{DEV_BECAME} as {FLOW_BECAME}"],
        id="source_format as an object",
    ),
    pytest.param(
        f'{CONNECTIONS}\ncollection "aws_flowlog" "dev_s3" {{\n{DEV_SOURCE}\n  source_format = format.my_flowlogs\n}}\n'
        'format "my_flowlogs" {\n'
        '    type              = "delimited" // vs json, jsonl, etc....\n'
        '    delimiter         = "\\s"        // other args are format type specific ?\n'
        f'    null_column_char  =  "-"\n{FLOW_FIELDS}\n}}',
        ["partition aws_vpc_flow_log.dev_s3", f"{DEV_BECAME} as {FLOW_BECAME}"],
        id="source_format as a reference to a format with one label",
    ),
    pytest.param(
        """
        connection "aws" "prod" {}
        connection "aws" "dev" {}
        format "my_flowlogs_prod" {
          type = "delimited"
        }
        format "my_flowlogs_dev" {
          type = "jsonl"
        }
        collection "aws_flowlog" "all" {

          source "aws_s3" {
            connection  = connection.aws.prod
            paths       = ["s3://my-prod-log-bucket/AWSLogs/*/CloudTrail/*"]
            format      = format.my_flowlogs_prod
          }

          source "aws_s3" {
            connection  = connection.aws.dev
            paths       = ["s3://my-dev-log-bucket/AWSLogs/*/CloudTrail/*"]
            format      = format.my_flowlogs_dev
          }

        }
        """,
        [
            "partition aws_vpc_flow_log.all",
            "  source aws_s3_bucket with aws.prod from my-prod-log-bucket: AWSLogs/*/CloudTrail/* as delimited",
            "  source aws_s3_bucket aws_s3_bucket_2 with aws.dev"
            " from my-dev-log-bucket: AWSLogs/*/CloudTrail/* as jsonl",
        ],
        id="format belongs to the source, and there may be several",
    ),
    pytest.param(
        f'{CONNECTIONS}{CUSTOM_TABLE}\ncollection "my-stuff" {{\n  type = table.my_custom_table\n{DEV_SOURCE}\n'
        f'  source_format = {{\n    type       = "jsonl"\n{FIELD_MAP}  }}\n}}',
        ["partition my_custom_table.my-stuff", f"{DEV_BECAME} as jsonl {FIELD_MAP_BECAME}"],
        id="field_map says which key fills a column",
    ),
    pytest.param(
        f'{CONNECTIONS}{CUSTOM_TABLE}\ncollection "my-stuff" {{\n  type = table.my_custom_table\n{DEV_SOURCE}\n'
        '  source_format = {\n    type              = "delimited"\n    delimiter         = ","\n'
        f"    {CSV_FIELDS}\n  }}\n}}",
        [
            "partition my_custom_table.my-stuff",
            f"{DEV_BECAME} as delimited fields=timestamp,src_ip,dest_ip,src_port,dest_port,protocol",
        ],
        id="fields may be bare words",
    ),
    pytest.param(
        f'{CUSTOM_TABLE}\ncollection "mystuff" {{\n  type = table.my_custom_table\n\n  source "command" {{\n'
        '    command  = "flowpipe pipeline run import_my_flowlogs"\n  }\n\n}',
        ["partition my_custom_table.mystuff", "  source command command=flowpipe,pipeline,run,import_my_flowlogs"],
        id="command is cut into words, not given to a shell",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "lines"), MEANT)
def test_what_it_became(text, lines):
    assert told(loaded(text)) == lines


def test_a_custom_table_has_typed_columns_and_a_time():
    table = tables_for(loaded(CUSTOM_TABLE), "my_custom_table")
    assert [(column.name, column.type) for column in table.columns] == [
        ("timestamp", "timestamp"),
        ("src_port", "integer"),
        ("src_ip", "cidr"),
        ("dest_port", "integer"),
        ("dest_ip", "cidr"),
        ("protocol", "varchar"),
    ]
    assert table.common.time == ("timestamp",)


def test_an_invalid_escape_is_one_or_more_blanks_with_a_warning():
    (warning,) = loaded('format "f" {\n  type = "delimited"\n  delimiter = "\\s"\n}').warnings
    assert (warning.place.line, "\\s" in warning.message) == (3, True)


def test_sources_that_come_later_are_refused_when_they_are_needed():
    config = loaded(CONNECTIONS + SOURCES + 'source "kubernetes_events" "k" {}\n')
    assert [warning.message for warning in config.warnings] == ["source kubernetes_events is not active yet"]
    require_available(config.partitions[1].sources[0])
    with pytest.raises(ConfigError, match="kubernetes_events cannot be collected yet"):
        require_available(config.sources[-1])
