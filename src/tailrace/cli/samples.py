"""Sample logs for `tailrace demo`: three days of a small shop, and somebody who should not be there.

Everything is made up and the same on every run but for the dates. Addresses are from the ranges reserved for
documentation.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

INTRUDER = "203.0.113.66"
ACCOUNT = "123456789012"
DAYS = 3
_PATHS = ["/", "/products", "/products/42", "/cart", "/checkout", "/static/app.js", "/static/app.css", "/api/items"]
_PROBES = ["/.env", "/wp-login.php", "/admin/config.php", "/.git/config", "/api/../../etc/passwd", "/phpmyadmin/"]
_AGENTS = [
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 Version/17.5 Safari/605.1.15",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
    "curl/8.7.1",
]
_CALLS = [
    ("s3.amazonaws.com", "GetObject", True), ("ec2.amazonaws.com", "DescribeInstances", True),
    ("sts.amazonaws.com", "AssumeRole", True), ("s3.amazonaws.com", "PutObject", False),
    ("lambda.amazonaws.com", "UpdateFunctionCode", False), ("ssm.amazonaws.com", "GetParameter", True),
]  # fmt: skip
_USERS = ["alice", "bob", "carol", "deploy"]


def write_samples(root: Path, now: datetime) -> None:
    """nginx, CloudTrail and VPC flow logs of the last three days below `root`."""
    chance = random.Random(7)
    first = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS)
    for number in range(DAYS):
        day = first + timedelta(days=number)
        _gzip(root / "nginx" / f"access.log-{day:%Y%m%d}.gz", "".join(_nginx(day, chance)))
        trail = root / "cloudtrail" / "AWSLogs" / ACCOUNT / "CloudTrail" / "eu-west-1" / f"{day:%Y/%m/%d}"
        events = sorted(_cloudtrail(day, chance, number), key=lambda e: str(e["eventTime"]))
        document = json.dumps({"Records": events})
        _gzip(trail / f"{ACCOUNT}_CloudTrail_eu-west-1_{day:%Y%m%d}T2355Z_demo.json.gz", document)
        flows = root / "vpcflow" / "AWSLogs" / ACCOUNT / "vpcflowlogs" / "eu-west-1" / f"{day:%Y/%m/%d}"
        lines = "".join(_flows(day, chance))
        _gzip(flows / f"{ACCOUNT}_vpcflowlogs_eu-west-1_fl-demo_{day:%Y%m%d}T2355Z.log.gz", lines)


def _gzip(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def _moments(day: datetime, count: int, chance: random.Random) -> list[datetime]:
    """Busier by day than by night."""
    hours = chance.choices(range(24), [1, 1, 1, 1, 1, 2, 3, 5, 8, 9, 9, 9, 8, 9, 9, 9, 8, 7, 7, 8, 8, 6, 4, 2], k=count)
    return sorted(day + timedelta(hours=h, seconds=chance.random() * 3600) for h in hours)


def _nginx(day: datetime, chance: random.Random) -> Iterator[str]:
    probing = set(chance.sample(range(800), 40))
    for number, moment in enumerate(_moments(day, 800, chance)):
        bad = number in probing
        address = INTRUDER if bad else f"198.51.100.{chance.randint(1, 60)}"
        path = chance.choice(_PROBES if bad else _PATHS)
        slow = path == "/checkout" and chance.random() < 0.25
        status = 404 if bad else 502 if slow else chance.choice([200, 200, 200, 200, 304, 404])
        agent = "masscan/1.3" if bad else chance.choice(_AGENTS)
        user = chance.choice(["-", "-", "-", "alice"]) if not bad else "-"
        sent = 0 if status == 304 else chance.randint(120, 24_000)
        yield (
            f'{address} - {user} [{moment:%d/%b/%Y:%H:%M:%S} +0000] "GET {path} HTTP/1.1" {status} {sent} '
            f'"{"-" if bad else "https://shop.example/"}" "{agent}"\n'
        )


def _cloudtrail(day: datetime, chance: random.Random, number: int) -> Iterator[dict[str, object]]:
    for moment in _moments(day, 200, chance):
        source, name, read_only = chance.choice(_CALLS)
        address = f"198.51.100.{chance.randint(1, 60)}"
        yield _event(moment, source, name, chance.choice(_USERS), address, chance, read_only)
    if number == DAYS - 1:
        night = day + timedelta(hours=3)
        for attempt in range(6):
            moment = night + timedelta(seconds=20 * attempt)
            login = _event(moment, "signin.amazonaws.com", "ConsoleLogin", "bob", INTRUDER, chance, False)
            failed = attempt < 5
            login["responseElements"] = {"ConsoleLogin": "Failure" if failed else "Success"}
            if failed:
                login["errorMessage"] = "Failed authentication"
            yield login
        for minute, name in enumerate(["CreateAccessKey", "AttachUserPolicy", "StopLogging"], 5):
            source = "cloudtrail.amazonaws.com" if name == "StopLogging" else "iam.amazonaws.com"
            moment = night + timedelta(minutes=minute)
            yield _event(moment, source, name, "bob", INTRUDER, chance, False)


def _event(
    moment: datetime, source: str, name: str, user: str, address: str, chance: random.Random, read_only: bool
) -> dict[str, object]:
    return {
        "eventVersion": "1.09",
        "userIdentity": {
            "type": "IAMUser",
            "principalId": f"AIDA{user.upper():X<16}",
            "arn": f"arn:aws:iam::{ACCOUNT}:user/{user}",
            "accountId": ACCOUNT,
            "userName": user,
        },
        "eventTime": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        "eventSource": source,
        "eventName": name,
        "awsRegion": "eu-west-1",
        "sourceIPAddress": address,
        "userAgent": "aws-cli/2.17.0",
        "requestParameters": {"bucketName": "shop-data"} if source.startswith("s3") else None,
        "responseElements": None,
        "requestID": f"{chance.getrandbits(128):032x}",
        "eventID": f"{chance.getrandbits(128):032x}",
        "readOnly": read_only,
        "eventType": "AwsApiCall",
        "managementEvent": not source.startswith("s3"),
        "recipientAccountId": ACCOUNT,
        "eventCategory": "Data" if source.startswith("s3") else "Management",
    }


def _flows(day: datetime, chance: random.Random) -> Iterator[str]:
    yield (
        "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action "
        "log-status\n"
    )
    for moment in _moments(day, 700, chance):
        bad = chance.random() < 0.06
        source = INTRUDER if bad else f"198.51.100.{chance.randint(1, 60)}"
        port = chance.choice([22, 23, 445, 3306, 3389, 6379]) if bad else chance.choice([80, 443, 443, 443])
        start = int(moment.replace(tzinfo=UTC).timestamp())
        packets = chance.randint(1, 3) if bad else chance.randint(4, 400)
        yield (
            f"2 {ACCOUNT} eni-0a1b2c3d4e5f60718 {source} 10.0.1.{chance.randint(4, 9)} {chance.randint(1024, 65535)} "
            f"{port} 6 {packets} {packets * chance.randint(60, 1200)} {start} {start + 60} "
            f"{'REJECT' if bad else 'ACCEPT'} OK\n"
        )
