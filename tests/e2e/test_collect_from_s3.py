"""Collecting from a bucket: what is asked for, what comes of it, and what happens when something changes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

import pytest
from commandline import Home
from motobuckets import Moto, moto_buckets
from queues import notification, record
from world import World

from tailrace.core import TimeRange

pytestmark = pytest.mark.warm

FIRST, DAYS, ACCOUNTS = date(2026, 9, 1), 30, 20
DAY, ANNOUNCED = date(2026, 9, 7), date(2026, 9, 8)
CONFIG = """
connection "aws" "stand_in" {
  endpoint_url        = "{url}"
  access_key          = "AKIDTEST"
  secret_key          = "never-shown-anywhere"
  region              = "us-east-1"
  s3_force_path_style = true
}
partition "aws_cloudtrail_log" "org" {
  source "aws_s3_bucket" {
    connection = connection.aws.stand_in
    bucket     = "trails"
  }
}
"""


def key(account: int, day: date) -> str:
    return f"AWSLogs/{111111111111 + account}/CloudTrail/us-east-1/{day:%Y/%m/%d}/part.json.gz"


def trail(account: int, day: date, events: int = 2) -> bytes:
    at = datetime(day.year, day.month, day.day, 12)
    records = [
        {"eventTime": f"{at:%Y-%m-%dT%H:%M:%SZ}", "eventID": f"{account}-{day}-{n}", "eventName": "GetObject"}
        for n in range(events)
    ]
    return gzip.compress(json.dumps({"Records": records}).encode(), mtime=0)


@pytest.fixture(scope="module")
def moto() -> Iterator[Moto]:
    days = [FIRST + timedelta(days=n) for n in range(DAYS)]
    with moto_buckets() as server:
        server.bucket("trails", {key(a, day): trail(a, day) for a in range(ACCOUNTS) for day in days})
        yield server


def test_a_queue_announces_what_is_new(home: Home, moto: Moto) -> None:
    sqs = moto.client("sqs")
    queue = sqs.create_queue(QueueName="trails")["QueueUrl"]
    home.configure(
        CONFIG.replace("{url}", moto.url).replace('= "trails"', f'= "trails"\n    sqs_queue_url = "{queue}"')
    )
    for account in range(ACCOUNTS):
        body = notification(record(key(account, ANNOUNCED), trail(account, ANNOUNCED)))
        sqs.send_message(QueueUrl=queue, MessageBody=body)
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]

    looked = home.run("collect", "--dry-run", "--output", "json")
    assert (looked.code, looked.json()) == (0, []), looked.err
    assert f"about {ACCOUNTS} messages wait" in looked.err
    waiting = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]
    assert waiting == {names[0]: f"{ACCOUNTS}", names[1]: "0"}

    moto.requests.clear()
    report = home.collect()["aws_cloudtrail_log.org"]
    assert (report["artifacts"]["discovered"], report["rows"]["stored"]) == (ACCOUNTS, 2 * ACCOUNTS)
    assert moto.lists() == []
    left = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]
    assert left == {names[0]: "0", names[1]: "0"}


def test_a_day_of_a_bucket(home: Home, world: World, moto: Moto) -> None:
    """Every other time without a JVM."""
    moto.requests.clear()
    home.configure(CONFIG.replace("{url}", moto.url))
    window = ("--from", f"{DAY}", "--to", f"{DAY + timedelta(days=1)}")
    the_day = datetime.combine(DAY, time.min)
    same = TimeRange(the_day, the_day + timedelta(days=1))

    first = home.collect(*window)["aws_cloudtrail_log.org"]
    assert (first["artifacts"]["discovered"], first["rows"]["stored"]) == (ACCOUNTS, 2 * ACCOUNTS)
    dated = [prefix for prefix in moto.lists() if "/2026/" in prefix]
    assert {prefix.partition("/2026/")[2] for prefix in dated} == {"09/07/"}
    assert len(moto.lists()) == 1 + 3 * ACCOUNTS + 1
    assert sorted(moto.gets()) == sorted(f"/trails/{key(a, DAY)}" for a in range(ACCOUNTS))
    (row,) = home.query("select distinct tp_source_type, tp_source_name from aws_cloudtrail_log")
    assert row == {"tp_source_type": "aws_s3_bucket", "tp_source_name": "trails"}

    moto.requests.clear()
    again = world.summary(window=same)["aws_cloudtrail_log.org"]
    assert (again["artifacts"]["collected"], again["rows"]["stored"]) == (0, 0)
    assert moto.gets() == []

    moto.client().put_object(Bucket="trails", Key=key(0, DAY), Body=trail(0, DAY, events=5))
    moto.client().put_object(Bucket="trails", Key=key(99, DAY), Body=trail(99, DAY))
    moto.denied.add(f"/trails/{key(99, DAY)}")
    changed = home.collect(*window, code=5)["aws_cloudtrail_log.org"]
    assert (changed["artifacts"]["failed"], changed["rows"]["stored"]) == (1, 5)
    assert "access denied" in json.dumps(changed["troubles"])
    (rows,) = home.query("select count(*) as n, count(distinct event_id) as ids from aws_cloudtrail_log")
    assert rows == {"n": 2 * ACCOUNTS + 3, "ids": 2 * ACCOUNTS + 3}

    moto.denied.clear()
    healed = world.summary(window=same)["aws_cloudtrail_log.org"]
    assert healed["rows"]["stored"] == 2
    shown = [path for path in home.path.rglob("*") if path.is_file() and path.name != "test.tpc"]
    assert not [path for path in shown if b"never-shown-anywhere" in path.read_bytes()]
