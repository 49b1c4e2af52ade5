"""Object sources over the servers of tests."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from bucketserver import BucketServer

from tailrace.config.model import ConnectionSpec, Location
from tailrace.config.places import Where
from tailrace.config.values import Secret
from tailrace.core import Artifact, TimeRange
from tailrace.sources import Found, Source, Unreadable, make_source

TRAILS = (
    "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/CloudTrail/%{DATA:region}/"
    "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.json.gz"
)
EVER = TimeRange()


def connection(kind: str, **args: object) -> ConnectionSpec:
    return ConnectionSpec(kind, "test", args, Where("test.tpc", 1, 1))


def s3_source(
    url: str, *prefixes: str, layout: str | None = None, pattern: str = "*", bucket: str = "logs", **more: object
) -> Source:
    """A source of S3's protocol at an address; `more` are attributes of the connection."""
    keys: dict[str, object] = {"access_key": Secret("AKIDTEST"), "secret_key": Secret("hidden"), "region": "us-east-1"}
    spec = connection("aws", endpoint_url=url, **(keys | more))
    places = tuple(Location(bucket, prefix, pattern) for prefix in prefixes or ("",))
    return make_source("aws_s3_bucket", {"file_layout": layout} if layout else {}, spec, places)


def days(first: str, count: int = 1) -> TimeRange:
    start = datetime.fromisoformat(first)
    return TimeRange(start, start + timedelta(days=count))


def keys(found: Iterable[Found]) -> list[str]:
    return [item.location for item in found if isinstance(item, Artifact)]


def unreadable(found: Iterable[Found]) -> list[Unreadable]:
    return [item for item in found if isinstance(item, Unreadable)]


def trails(accounts: int = 20, first: str = "2026-10-01", count: int = 30, region: str = "eu-west-1") -> BucketServer:
    """Accounts × days, one object each."""
    start = datetime.fromisoformat(first)
    all_days = [start + timedelta(days=n) for n in range(count)]
    return BucketServer(
        {
            f"AWSLogs/{111111111111 + account}/CloudTrail/{region}/{day:%Y/%m/%d}/trail.json.gz": b"x"
            for account in range(accounts)
            for day in all_days
        }
    )
