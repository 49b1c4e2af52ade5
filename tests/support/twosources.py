"""A partition of two sources with the same days: a folder, and a bucket on a server that can fail."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from bucketserver import BucketServer
from logfiles import write
from world import World

from tailrace.core import TimeRange

FIRST = date(2026, 10, 1)
DAYS = [FIRST + timedelta(days=n) for n in range(4)]
WINDOW = TimeRange(datetime(2026, 10, 1), datetime(2026, 10, 5))
LAYOUT = "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.jsonl"
CONFIG = """
connection "aws" "stand_in" {
  endpoint_url             = "URL"
  access_key               = "k"
  secret_key               = "s"
  region                   = "us-east-1"
  max_error_retry_attempts = 1
  min_error_retry_delay    = 1
}
format "jsonl" "e" {}
table "event" {
  format = format.jsonl.e
  column "tp_timestamp" { source = "time" }
  column "id" {}
}
partition "event" "p" {
  source "file" "folder" {
    paths       = ["FOLDER"]
    file_layout = "LAYOUT"
  }
  source "aws_s3_bucket" "bucket" {
    connection  = connection.aws.stand_in
    bucket      = "logs"
    file_layout = "LAYOUT"
  }
}
"""


def key(day: date, name: str = "a") -> str:
    return f"{day:%Y/%m/%d}/{name}.jsonl"


def lines(day: date, *ids: str) -> str:
    return "".join(f'{{"time": "{day}T10:00:{n:02}Z", "id": "{one}"}}\n' for n, one in enumerate(ids))


@dataclass
class TwoSources:
    """Each source has one artifact a day with one row, `f<day>` and `b<day>`."""

    world: World
    folder: Path
    server: BucketServer

    def fill(self, days: list[date]) -> None:
        for day in days:
            write(self.folder / key(day), lines(day, f"f{day.day}"))
            self.server.objects[key(day)] = lines(day, f"b{day.day}").encode()

    def configure(self, text: str = CONFIG) -> None:
        text = text.replace("URL", self.server.url).replace("FOLDER", str(self.folder)).replace("LAYOUT", LAYOUT)
        self.world.write_config(text)

    def ids(self) -> list[str]:
        return [row[0] for row in self.world.query("select id from event order by id")]


def of_days(*numbers: int, sources: str = "bf") -> list[str]:
    return [f"{source}{number}" for source in sources for number in numbers]
