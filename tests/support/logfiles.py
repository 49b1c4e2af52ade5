"""Small log files whose contents a test can foretell."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

ACCOUNT = "111122223333"
CLOUDTRAIL_LAYOUT = (
    "AWSLogs/%{NUMBER:account_id}/CloudTrail/%{DATA:region}/"
    "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.json.gz"
)
VPC_LAYOUT = CLOUDTRAIL_LAYOUT.replace("CloudTrail", "vpcflowlogs").replace(".json.gz", ".log.gz")
NAMES = ("GetObject", "PutObject", "AssumeRole", "DescribeInstances", "StopLogging")


def today() -> date:
    return datetime.now(UTC).date()


def write(path: Path, text: str) -> Path:
    """Plain or gzip, as the name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data, 1, mtime=0) if path.suffix == ".gz" else data)
    return path


def moments(day: date, count: int) -> Iterable[datetime]:
    """Evenly over the day, the first at midnight."""
    first = datetime(day.year, day.month, day.day)
    return (first + timedelta(seconds=number * 86_400 // count) for number in range(count))


def cloudtrail(root: Path, day: date, count: int, name: str = "a", account: str = ACCOUNT) -> Path:
    """A file of the trail in AWS's layout; every event has an id that tells file and position."""
    records = [
        {
            "eventVersion": "1.09",
            "userIdentity": {"type": "IAMUser", "accountId": account, "userName": f"user{n % 7}"},
            "eventTime": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
            "eventSource": "s3.amazonaws.com",
            "eventName": NAMES[n % len(NAMES)],
            "awsRegion": "us-east-1",
            "sourceIPAddress": f"192.0.2.{n % 250 + 1}",
            "requestParameters": {"bucketName": "logs", "number": n},
            "responseElements": None,
            "eventID": f"{day}-{name}-{n}",
            "readOnly": n % 2 == 0,
            "recipientAccountId": account,
        }
        for n, moment in enumerate(moments(day, count))
    ]
    place = root / "AWSLogs" / account / "CloudTrail" / "us-east-1" / f"{day:%Y/%m/%d}"
    return write(place / f"{account}_CloudTrail_us-east-1_{name}.json.gz", json.dumps({"Records": records}))


def vpc_flow(root: Path, day: date, count: int) -> Path:
    head = "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end"
    lines = [f"{head} action log-status"]
    for n, moment in enumerate(moments(day, count)):
        start = int(moment.replace(tzinfo=UTC).timestamp())
        action = "REJECT" if n % 4 == 0 else "ACCEPT"
        ends = f"192.0.2.{n % 250} 10.0.0.1 {1024 + n} 443"
        lines.append(f"2 {ACCOUNT} eni-1 {ends} 6 {n} {n * 40} {start} {start + 60} {action} OK")
    place = root / "AWSLogs" / ACCOUNT / "vpcflowlogs" / "us-east-1" / f"{day:%Y/%m/%d}"
    return write(place / f"{ACCOUNT}_vpcflowlogs_us-east-1_fl.log.gz", "\n".join(lines) + "\n")


def access_lines(day: date, count: int, first: int = 0) -> str:
    """Combined format, as nginx and Apache write it."""
    numbered = list(enumerate(moments(day, count)))[first:]
    return "".join(
        f'192.0.2.{n % 250 + 1} - user{n % 3} [{moment:%d/%b/%Y:%H:%M:%S} +0000] "GET /page/{n} HTTP/1.1" '
        f'{500 if n % 10 == 0 else 200} {100 + n} "-" "agent/{n % 5}"\n'
        for n, moment in numbered
    )
