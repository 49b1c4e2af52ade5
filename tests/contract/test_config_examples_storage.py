"""Blocks of the documents that say where days rest and what is seen of them: tiers, stores, schemas."""

from __future__ import annotations

import pytest
from configtold import loaded, refused, told, with_defaults
from documents import (
    ARCHIVE,
    ARCHIVE_BECAME,
    CONNECTIONS,
    CURRENT,
    CURRENT_BECAME,
    CUSTOM_TABLE,
    LIVE_SCHEMAS,
    NETLOG_BECAME,
    NETLOG_FORMATS,
    NETLOG_SOURCES,
    STREAM_SOURCE,
)

AROUND = CONNECTIONS + CUSTOM_TABLE + NETLOG_FORMATS
STREAMS = f"""
  collection "my-other stuff" {{
    type = table.my_custom_table
{STREAM_SOURCE}
    // local filesystem for new entries
    partition {{
{CURRENT}
    }}

    // remote object store for older entries
    partition {{
{ARCHIVE}
    }}
"""
STUFF = f'\n  collection "my-stuff" {{\n    type = table.my_custom_table\n{NETLOG_SOURCES}\n'
RECENT = f"""
  partition "recent" {{
{CURRENT}
  }}
"""
ARCHIVED = f"""
  partition "archive" {{
{ARCHIVE}
  }}
"""
BY_CONDITION = """
    // maybe partition with 'where` syntax on any tp_ column?
    partition "archive" {
      path = "s3://my-archive-bucket"

      // dates really need support for current_date / now(), data functions (interval,etc)
      where  = "tp_timestamp > current_date - interval '10' day"

      // but archiving specific years would be easy
      // where  = "tp_year = 2023"
    }
"""
PLACES = """
connection "aws" "my_prod_account" {}

partition "remote" {
  partition_by =  ["tp_collection", "tp_connection", "tp_year", "tp_month", "tp_day" ]
  location     = "s3://my-bucket/tailpipe/store"
  connection   = connection.aws.my_prod_account
}

// can customize default, but otherwise defaults to local files
partition "default" {
  partition_by =  ["tp_collection", "tp_connection", "tp_year", "tp_month", "tp_day" ]
  location     = "~/.tailpipe/store"
}




  collection "aws_cloudtrail_log" "production_cloudwatch" {
    source "aws_cloudwatch" {
      connection  = connection.aws.prod
      log_streams = ["aws-cloudtrail-logs/123456789012_CloudTrail_*"]
    }

    // if no partition defined then uses partition.default.


  }

  collection "aws_cloudtrail_log" "production_s3" {

    source  "aws_s3" {
      connection  = connection.aws.prod
      paths      = ["s3://my-prod-trails/AWSLogs/*/CloudTrail/*"]
    }

    partition = partition.remote
  }


  dataset "default" {
    partition    = "default"
    types        = ["*"]
  }


  dataset "all" {
    partition    = "default"
    types        = ["*"]
    //start_date   = "2024-01-01"
    //end_date     = "2024-03-31"
    //materialized = true
  }
"""
BY_ROW = "partition_by=tp_collection,tp_connection,tp_year,tp_month,tp_day"
SCHEMAS = (
    LIVE_SCHEMAS
    + """
schema "aws_q1_materialized" {
    types        = ["aws_*"]
    start_date   = "2024-01-01"
    end_date     = "2024-03-31"
    materialized = true   // what does this mean for a schema?
}
"""
)

MEANT = [
    pytest.param(
        AROUND + STREAMS.replace("jsonl.my_netlogs_csv", "csv.my_netlogs_csv") + "  }",
        [
            "partition my_custom_table.my-other stuff",
            "  source aws_cloudwatch_log_group with aws.dev from my-logs: *"
            " as delimited fields=timestamp,src_ip,dest_ip,src_port,dest_port,protocol",
            f"  tier {CURRENT_BECAME}",
            f"  tier {ARCHIVE_BECAME}",
        ],
        id="a partition inside of a collection is a tier",
    ),
    pytest.param(
        f"{AROUND}{STUFF}    partition {{\n{CURRENT}\n    }}\n\n    partition {{\n{ARCHIVE}\n    }}\n\n\n  }}",
        [
            "partition my_custom_table.my-stuff",
            *NETLOG_BECAME,
            f"  tier {CURRENT_BECAME}",
            f"  tier {ARCHIVE_BECAME}",
        ],
        id="several sources, several tiers",
    ),
    pytest.param(
        f"{AROUND}{STUFF}    partitions = [partition.recent, partition.archive]\n  }}\n\n{RECENT}\n{ARCHIVED}",
        [
            "partition my_custom_table.my-stuff tiers=partition.recent,partition.archive",
            *NETLOG_BECAME,
            f"tier recent {CURRENT_BECAME}",
            f"tier archive {ARCHIVE_BECAME}",
        ],
        id="a top-level partition with a path is a tier",
    ),
    pytest.param(
        f'{AROUND}{STUFF}    store =  store.default\n  }}\n\n  store "default" {{\n{RECENT}\n{ARCHIVED}\n'
        + BY_CONDITION.replace('"archive"', '"young"')
        + "  }",
        [
            "partition my_custom_table.my-stuff store=store.default",
            *NETLOG_BECAME,
            "store default",
            f"  tier recent {CURRENT_BECAME}",
            f"  tier archive {ARCHIVE_BECAME}",
            "  tier young path=s3://my-archive-bucket where=tp_timestamp > current_date - interval '10' day",
        ],
        id="a store holds tiers, by range or by condition",
    ),
    pytest.param(
        CONNECTIONS + PLACES,
        [
            "partition aws_cloudtrail_log.production_cloudwatch",
            "  source aws_cloudwatch_log_group with aws.prod from aws-cloudtrail-logs: 123456789012_CloudTrail_*",
            "partition aws_cloudtrail_log.production_s3 tiers=partition.remote",
            "  source aws_s3_bucket with aws.prod from my-prod-trails: AWSLogs/*/CloudTrail/*",
            "schema default stores=default tables=*",
            "schema all stores=default tables=*",
            f"tier remote {BY_ROW} path=s3://my-bucket/tailpipe/store connection=connection.aws.my_prod_account",
            f"tier default {BY_ROW} path=~/.tailpipe/store",
        ],
        id="location is path, a dataset is a schema, earlier column names are taken",
    ),
    pytest.param(
        SCHEMAS,
        [
            "schema all tables=* partitions=* indexes=*",
            "schema account_123456789012 tables=* partitions=* indexes=123456789012",
            "schema recent tables=* partitions=* indexes=* start_date=2024-03-24 end_date=2024-03-31",
            "schema aws_q1_materialized tables=aws_* start_date=2024-01-01 end_date=2024-03-31 materialized=True",
        ],
        id="types are tables, connections are indexes (tp_connection is today's tp_index)",
    ),
]


@pytest.mark.parametrize(("text", "lines"), MEANT)
def test_what_it_became(text, lines):
    assert told(loaded(text)) == lines


REFUSED = [
    pytest.param(
        AROUND + STREAMS,
        ["49: '{' is never closed → add the '}' that ends it"],
        id="an open brace",
    ),
    pytest.param(
        AROUND + STREAMS + "  }",
        ["56: format.jsonl.my_netlogs_csv does not exist → did you mean 'format.jsonl.my_netlogs_jsonl'?"],
        id="the format of another type",
    ),
    pytest.param(
        f'store "default" {{\n{ARCHIVED}{BY_CONDITION}}}',
        ["12: tier default.archive already exists → it is declared at a.tpc:3:3"],
        id="two tiers of one name",
    ),
    pytest.param(
        PLACES,
        [
            "21: connection.aws.prod does not exist → did you mean 'connection.aws.my_prod_account'?",
            "33: connection.aws.prod does not exist → did you mean 'connection.aws.my_prod_account'?",
        ],
        id="undefined connections",
    ),
    pytest.param(
        f"{AROUND}{STUFF}    partitions = [partition.recent, partition.archive]\n  }}\n{RECENT}",
        ["66: partition.archive does not exist → known: tier.recent"],
        id="undefined tiers",
    ),
]


@pytest.mark.parametrize(("text", "problems"), REFUSED)
def test_what_its_author_is_told(text, problems):
    assert refused(text) == problems


def test_without_a_store_days_rest_in_the_default_one():
    config = loaded(AROUND + STUFF + "    store = store.default\n  }")
    assert str(config.partitions[0].resting["store"]) == "store.default"
    assert config.of("store") == ()


def test_everything_is_seen_unless_it_is_left_out():
    (schema,) = loaded('schema "all" {}').of("schema")
    assert with_defaults(schema) == {
        "tables": ("*",),
        "partitions": ("*",),
        "indexes": ("*",),
        "stores": ("*",),
        "materialized": False,
    }
