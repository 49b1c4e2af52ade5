"""Blocks of the documents that the configuration language comes from, and what some of them become."""

from __future__ import annotations

CONNECTIONS = """
connection "aws" "prod" {}
connection "aws" "dev" {}
"""
LOGS = 'source "file" {\n paths = ["/logs"]\n}\n'
SOURCES = """
source "aws_cloudwatch" "prod_trails" {
  connection  = connection.aws.prod
  log_streams = ["aws-cloudtrail-logs/123456789012_CloudTrail_*"]

}

source  "aws_s3" "prod_trails"{
  connection  = connection.aws.prod
  paths      = ["s3://my-prod-trails/AWSLogs/*/CloudTrail/*"]
}

source "aws_s3" "dev_trails"{
  connection  = connection.aws.dev
  paths      = ["s3://my-dev-log-bucket/AWSLogs/*/CloudTrail/*"]
}



collection "aws_cloudtrail_log" "production_cloudwatch" {
  source = source.aws_cloudwatch.prod_trails
}

collection "aws_cloudtrail_log" "production_s3" {
  source = source.aws_s3.prod_trails

}

collection "aws_cloudtrail_log" "dev_s3" {
  source = source.aws_s3.dev_trails
}
"""
INLINE_SOURCES = """
collection "aws_cloudtrail_log" "production_cloudwatch" {
  source "aws_cloudwatch" {
    connection  = connection.aws.prod
    log_streams = ["aws-cloudtrail-logs/123456789012_CloudTrail_*"]

  }
}

collection "aws_cloudtrail_log" "production_s3" {

  source  "aws_s3" {
    connection  = connection.aws.prod
    paths      = ["s3://my-prod-trails/AWSLogs/*/CloudTrail/*"]
  }
}


collection "aws_cloudtrail_log" "dev_s3" {

  source "aws_s3" {
    connection  = connection.aws.dev
    paths      = ["s3://my-dev-log-bucket/AWSLogs/*/CloudTrail/*"]
  }

}
"""
DEV_SOURCE = """
  source "aws_s3" {
    connection  = connection.aws.dev
    paths      = ["s3://my-dev-log-bucket/AWSLogs/*/CloudTrail/*"]
  }
"""
DEV_BECAME = "  source aws_s3_bucket with aws.dev from my-dev-log-bucket: AWSLogs/*/CloudTrail/*"
FLOW_FIELDS = """
    fields = [
      "timestamp",
      "version",
      "vpc-id",
      "subnet-id",
      "interface-id",
      "instance-id",
      "account-id",
      "type",
      "srcaddr",
      "dstaddr",
      "srcport",
      "dstport",
      "pkt-srcaddr",
      "pkt-dstaddr",
      "protocol",
      "bytes",
      "packets",
      "start",
      "end",
      "action",
      "tcp-flags",
      "log-status"
    ]
"""
FLOW_BECAME = (
    "layout timestamp version vpc-id subnet-id interface-id instance-id account-id type srcaddr dstaddr srcport "
    "dstport pkt-srcaddr pkt-dstaddr protocol bytes packets start end action tcp-flags log-status"
)
CUSTOM_TABLE = """
table "my_custom_table" {
  column "timestamp" {
    type = "datetime"
  }

  column "src_port" {
    type = "int"
  }

  column "src_ip" {
    type = "cidr"
  }

  column "dest_port" {
    type = "int"
  }

  column "dest_ip" {
    type = "cidr"
  }

  column "protocol" {
    type = "varchar"
  }
}
"""
FIELD_MAP = """
    field_map  = {
      timestamp  = "ts"
      src_ip     = "from_addr"
      src_port   = "from_port"
      dest_ip    = "to_addr"
      dest_port  = "to_port"
      protocol   = "proto"
    }
"""
FIELD_MAP_BECAME = (
    "field_map=timestamp:ts,src_ip:from_addr,src_port:from_port,dest_ip:to_addr,dest_port:to_port,protocol:proto"
)
CSV_FIELDS = "fields            = [ timestamp, src_ip, dest_ip, src_port, dest_port, protocol ]"
NETLOG_SOURCES = """
    source {
      type = "aws_s3"
      connection = connection.aws.dev
      paths      = ["s3://my-dev-log-bucket/netlogs/*"]
      format     = format.jsonl.my_netlogs_jsonl
    }

    source {
      type = "aws_s3"
      connection = connection.aws.dev
      paths      = ["s3://my-dev-log-bucket/csvlgs/*net.csv"]
      format     = format.csv.my_netlogs_csv
    }
"""
NETLOG_BECAME = [
    f"  source aws_s3_bucket with aws.dev from my-dev-log-bucket: netlogs/* as jsonl {FIELD_MAP_BECAME}",
    "  source aws_s3_bucket aws_s3_bucket_2 with aws.dev from my-dev-log-bucket: csvlgs/*net.csv"
    " as delimited fields=timestamp,src_ip,dest_ip,src_port,dest_port,protocol",
]
NETLOG_FORMATS = f"""
  format "jsonl" "my_netlogs_jsonl" {{
{FIELD_MAP}
  }}

  // csv example
  format  "csv" "my_netlogs_csv" {{
    {CSV_FIELDS}
  }}
"""
STREAM_SOURCE = """
    source {
      type        = "cloudwatch"
      connection  = connection.aws.dev
      log_streams = ["my-logs/*"]
      format      = format.jsonl.my_netlogs_csv
    }
"""
CURRENT = """
      from  = formatdate("YYYY-MM-DD", timeadd(timestamp(), "-168h"))
      to    = formatdate("YYYY-MM-DD", timestamp()) // default
      path = "/tp/mystuff/current"
"""
ARCHIVE = """
      path = "s3://my-archive-bucket"
      from  = formatdate("YYYY-MM-DD", timeadd(timestamp(), "-365d"))
      to   = formatdate("YYYY-MM-DD", timeadd(timestamp(), "-168h"))
"""
CURRENT_BECAME = "from=2024-03-24 to=2024-03-31 path=/tp/mystuff/current"
ARCHIVE_BECAME = "path=s3://my-archive-bucket from=2023-04-01 to=2024-03-24"
LIVE_SCHEMAS = """
schema "all" {
    types = ["*"] // not required, default
    collections = ["*"] // not required, default
    connections = ["*"] // not required, default
}

schema "account_123456789012" {
    //should `types` be `tables` ?
    types       = ["*"] // not required, default
    collections = ["*"] // not required, default
    connections = ["123456789012"] // not required, default
}

schema "recent" {
    types       = ["*"] // default
    collections = ["*"] // default
    connections = ["*"] // default
    start_date  = formatdate("YYYY-MM-DD", timeadd(timestamp(), "-168h"))
    end_date    = formatdate("YYYY-MM-DD", timestamp()) // default
}
"""
