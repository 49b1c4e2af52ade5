"""A server of S3's protocol for many small objects: answers after a given time, counts what it is asked.

`python object_server.py PORT OBJECTS DELAY`. Objects are trails of 20 accounts over 30 days up to today. They are not
stored: a key's account and day make its content. `/-/counts` tells what was asked since the last time.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import md5
from urllib.parse import parse_qsl, unquote
from xml.sax.saxutils import escape

ACCOUNTS, DAYS, EVENTS = 20, 30, 10
PAGE = 1000
FIRST = 111_111_111_111


def keys(count: int, last: datetime) -> list[str]:
    """So many keys, the same number for each account and day as nearly as can be."""
    places = [
        f"AWSLogs/{FIRST + account}/CloudTrail/eu-west-1/{last - timedelta(days=day):%Y/%m/%d}"
        for account in range(ACCOUNTS)
        for day in range(DAYS)
    ]
    return sorted(f"{places[n % len(places)]}/trail_{n:06}.json.gz" for n in range(count))


@cache
def body(place: str) -> bytes:
    """Events of one account and day."""
    account, *_, year, month, day = place.split("/")[1:]
    events = [
        {
            "eventVersion": "1.08", "eventTime": f"{year}-{month}-{day}T{n:02}:00:00Z", "eventName": "GetObject",
            "eventSource": "s3.amazonaws.com", "awsRegion": "eu-west-1", "recipientAccountId": account,
            "sourceIPAddress": f"10.0.{n}.1", "eventID": f"{account}-{year}{month}{day}-{n}", "readOnly": True,
            "userIdentity": {"type": "AssumedRole", "arn": f"arn:aws:sts::{account}:assumed-role/app/i-{n}"},
            "requestParameters": {"bucketName": "data", "key": f"path/{n}"},
        }
        for n in range(EVENTS)
    ]  # fmt: skip
    return gzip.compress(json.dumps({"Records": events}).encode(), mtime=0)


@cache
def etag(place: str) -> str:
    return md5(body(place), usedforsecurity=False).hexdigest()


class Bucket:
    """All keys, and what was asked."""

    def __init__(self, names: list[str], delay: float) -> None:
        self.names, self.delay = names, delay
        self.held = set(names)
        self.asked: Counter[str] = Counter()
        self.prefixes: set[str] = set()

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, bytes, str]:
        """Status, body and ETag."""
        if path == "/-/counts":
            told = {**self.asked, "prefixes": sorted(self.prefixes)}
            self.asked.clear()
            self.prefixes.clear()
            return 200, json.dumps(told).encode(), ""
        if "list-type" in query:
            self.asked["lists"] += 1
            self.prefixes.add(query.get("prefix", ""))
            return 200, self.listing(query), ""
        key = unquote(path).split("/", 2)[2]
        self.asked["gets"] += 1
        if key not in self.held:
            return 404, b"<Error><Code>NoSuchKey</Code></Error>", ""
        place = key.rpartition("/")[0]
        return 200, body(place), etag(place)

    def listing(self, query: dict[str, str]) -> bytes:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token") or query.get("start-after", "")
        at = max(bisect_left(self.names, prefix), bisect_right(self.names, after))
        found: list[str] = []
        last = ""
        while at < len(self.names) and self.names[at].startswith(prefix) and len(found) < PAGE:
            key = self.names[at]
            head, slash, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if slash:
                folder = prefix + head + slash
                found.append(f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>")
                last = folder + "\U0010ffff"
                at = bisect_left(self.names, last)
            else:
                found.append(_entry(key))
                last = key
                at += 1
        more = at < len(self.names) and self.names[at].startswith(prefix)
        token = f"<NextContinuationToken>{escape(last)}</NextContinuationToken>" if more else ""
        inside = f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{''.join(found)}"
        return f'<?xml version="1.0" encoding="UTF-8"?><ListBucketResult>{inside}</ListBucketResult>'.encode()


def _entry(key: str) -> str:
    place = key.rpartition("/")[0]
    return (
        f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        f'<ETag>"{etag(place)}"</ETag><Size>{len(body(place))}</Size></Contents>'
    )


class Connection(asyncio.Protocol):
    """One request after another; each is answered when its time has come."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.pending += data
        while b"\r\n\r\n" in self.pending:
            head, _, self.pending = self.pending.partition(b"\r\n\r\n")
            target = head.split(b" ", 2)[1].decode()
            asyncio.get_running_loop().call_later(self.bucket.delay, self._reply, target)

    def _reply(self, target: str) -> None:
        path, _, query = target.partition("?")
        status, content, tag = self.bucket.answer(path, dict(parse_qsl(query, keep_blank_values=True)))
        head = (
            f"HTTP/1.1 {status} -\r\nContent-Length: {len(content)}\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
        )
        head += f'ETag: "{tag}"\r\n' if tag else ""
        if not self.transport.is_closing():
            self.transport.write(head.encode() + b"\r\n" + content)


async def main(port: int, count: int, delay: float) -> None:
    """Serves until it is ended."""
    today = datetime.now(UTC).replace(tzinfo=None)
    bucket = Bucket(keys(count, today), delay)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(bucket), "127.0.0.1", port)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
