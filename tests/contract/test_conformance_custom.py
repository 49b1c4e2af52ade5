"""Logs that no built-in table is for, read with tables of a few lines of configuration."""

from __future__ import annotations

import csv
import re
from datetime import datetime
from pathlib import Path

import pytest
from conformance import PYTHON, Expected, Measured, compare
from world import World

WEB = """
table "web" {
  format = format.ltsv.default
  column "tp_timestamp" {
    source = "datetime"
    type   = "timestamp"
    time   = "[%d/%b/%Y:%H:%M:%S %z]"
  }
  column "remote_host" { }
  column "status" { type = "integer" }
  column "request" { }
}
"""
KAFKA = r"""
format "grok" "kafka" {
  layout = `\[%{TIMESTAMP_ISO8601:time}\] %{LOGLEVEL:level} (?<message>(?:.|\n)*)`
  start  = `^\[\d{4}-`
}
table "kafka" {
  format = format.grok.kafka
  column "tp_timestamp" { source = "time" }
  column "level" { }
  column "message" { }
}
"""
BUCKETS = """
table "buckets" {
  format = format.delimited.default
  column "tp_timestamp" { source = "Event DateTime" }
  column "name" { source = "Event Name" }
  column "event_id" { source = "Event ID" }
  column "source_ip" { source = "Source IP" }
  column "user_agent" { source = "Request User Agent" }
  column "attempts" {
    source = "Repeated Attempts"
    type   = "integer"
  }
}
"""
APP = """
table "app" {
  format = format.logfmt.default
  column "tp_timestamp" { source = "time" }
  column "level" { }
  column "msg" { }
}
"""


def read(
    world: World, data: Path, config: str, dataset: str, expected: Expected | None = None, bad: int = 0
) -> Measured:
    table = config.partition('table "')[2].partition('"')[0]
    world.write_config(f'{config}\npartition "{table}" "p" {{ source "file" {{ paths = ["{data / dataset}"] }} }}')
    (report,) = world.collect()
    measured = compare(world, report, table, dataset, expected=expected, bad=bad, reader=PYTHON)
    measured.check()
    assert (measured.quarantined, measured.differing) == (bad, ())
    return measured


@pytest.mark.parametrize("end", ["", ".gz", ".zip"])
@pytest.mark.parametrize(
    ("name", "stored", "bad"), [("all_match", 5, 0), ("contains_unmatch", 4, 1), ("all_unmatch", 0, 5)]
)
def test_labelled_values(name: str, stored: int, bad: int, end: str, real_logs: Path, world: World) -> None:
    dataset = f"alp-nekrassov/sample_ltsv_{name}.log{end}"
    lines = (real_logs / dataset.removesuffix(end)).read_text().splitlines() if stored else []
    whole = [line.split("\t") for line in lines if all(":" in word for word in line.split("\t"))]
    pairs = [dict(word.split(":", 1) for word in words) for words in whole]
    expected: Expected = [
        {"remote_host": pair["remote_host"], "status": int(pair["status"]), "request": pair["request"]}
        for pair in pairs
    ]
    assert read(world, real_logs, WEB, dataset, expected, bad).stored == stored


def test_records_of_several_lines(real_logs: Path, world: World) -> None:
    dataset = "elastic-examples/Miscellaneous/kafka_monitoring/filebeat_monitoring/logs/kafka0/logs/server.log*"
    record = re.compile(r"^\[(\d{4}\S+ [^]]+)\] (\w+) (.*?)(?=\n\[\d{4}|\Z)", re.MULTILINE | re.DOTALL)
    expected: Expected = [
        {
            "tp_timestamp": datetime.fromisoformat(time.replace(",", ".")),
            "level": level,
            "rtrim(message, '\n')": text.rstrip("\n"),
        }
        for path in sorted(real_logs.glob(dataset))
        for time, level, text in record.findall(path.read_text())
    ]
    assert read(world, real_logs, KAFKA, dataset, expected).stored == len(expected) > 1_000


def test_quoted_values(real_logs: Path, world: World) -> None:
    dataset = "otrf-aws/AWS_S3_HoneyBucketLogs.csv"
    with (real_logs / dataset).open(newline="") as file:
        expected: Expected = [
            {
                "tp_timestamp": datetime.fromisoformat(row["Event DateTime"]).replace(tzinfo=None),
                "name": row["Event Name"],
                "event_id": row["Event ID"],
                "source_ip": row["Source IP"],
                "user_agent": row["Request User Agent"] or None,
                "attempts": int(row["Repeated Attempts"]) if row["Repeated Attempts"] else None,
            }
            for row in csv.DictReader(file)
        ]
    assert read(world, real_logs, BUCKETS, dataset, expected).stored == len(expected)


def test_keys_and_values(real_logs: Path, world: World) -> None:
    dataset = "lnav-logfiles/logfile_logfmt.0"
    levels = re.findall(r"^time=\S+ level=(\w+)", (real_logs / dataset).read_text(), re.MULTILINE)
    assert read(world, real_logs, APP, dataset, [{"level": level} for level in levels]).stored == len(levels)
