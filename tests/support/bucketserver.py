"""A server with one bucket in memory: S3's and Google's XML protocol, every request noted, and faults on demand."""

from __future__ import annotations

import re
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice, takewhile
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

Fault = int | tuple[str, float]


@dataclass
class BucketServer:
    """`faults` hold, per key or listed prefix, what happens to the next requests for it.

    A status; `cut`: the connection ends after so many bytes; `short`, `more`: so many bytes, and a length that fits
    them; `slow`: seconds of silence; `wait`: 429 with a `Retry-After`.
    """

    objects: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    list_faults: list[Fault] = field(default_factory=list)
    "The same for listings of anything."
    only: str = ""
    "The only bucket that there is; any name will do where this is empty."
    weak: bool = False
    "Are its ETags marked as weak in the heads of answers, as proxies do?"
    delay: float = 0.0
    page: int = 1000
    requests: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)
    url: str = ""
    is_up: bool = True
    "Connections that are open when the server ends get no more answers."
    most_at_once: int = 0
    _at_once: int = 0
    _sorted: list[str] = field(default_factory=list)

    def handler(self) -> type[Handler]:
        return Handler

    def lists(self) -> list[dict[str, str]]:
        """The listings asked for."""
        return [query for _, query, _ in self.requests if "list-type" in query]

    def gets(self) -> list[str]:
        return [key for key, query, _ in self.requests if "list-type" not in query]

    def listing(self, query: dict[str, str]) -> bytes:
        prefix, after = query.get("prefix", ""), query.get("continuation-token") or query.get("start-after", "")
        entries: list[str] = []
        folders: dict[str, None] = {}
        if len(self._sorted) != len(self.objects):
            self._sorted = sorted(self.objects, key=str.encode)
        start = max(bisect_left(self._sorted, prefix), bisect_right(self._sorted, after))
        keys = list(takewhile(lambda key: key.startswith(prefix), islice(self._sorted, start, None)))
        last = ""
        for key in keys:
            if len(entries) + len(folders) >= self.page:
                break
            head, slash, _ = key[len(prefix) :].partition(query.get("delimiter") or "\0")
            if slash:
                folders[prefix + head + slash] = None
                last = prefix + head + slash + "\U0010ffff"
            else:
                entries.append(key)
                last = key
        more = bool(keys) and keys[-1] > last
        as_url = query.get("encoding-type") == "url"
        spelled, said = (quote, "<EncodingType>url</EncodingType>") if as_url else (_referred, "")
        inside = "".join(f"<CommonPrefixes><Prefix>{spelled(f)}</Prefix></CommonPrefixes>" for f in folders)
        token = f"<NextContinuationToken>{_referred(last)}</NextContinuationToken>" if more else ""
        truncated = str(more).lower()
        listed = "".join(_entry(spelled(key), self.objects[key]) for key in entries)
        body = f"<IsTruncated>{truncated}</IsTruncated>{token}{said}{listed}{inside}"
        return f'<?xml version="1.0" encoding="UTF-8"?><ListBucketResult>{body}</ListBucketResult>'.encode()


def _referred(key: str) -> str:
    """As S3 writes what XML does not take: by number."""
    return re.sub(r"[\x00-\x1f\x7f]", lambda found: f"&#x{ord(found[0]):x};", escape(key))


def _entry(key: str, data: bytes) -> str:
    return (
        f"<Contents><Key>{key}</Key><LastModified>2026-11-01T00:00:00.000Z</LastModified>"
        f'<ETag>"{etag(data)}"</ETag><Size>{len(data)}</Size></Contents>'
    )


def etag(data: bytes) -> str:
    return md5(data, usedforsecurity=False).hexdigest()


@contextmanager
def serving(server: BucketServer, port: int = 0) -> Iterator[BucketServer]:
    """The server, at `server.url`, until the end of the block."""
    handler = type("Handler", (server.handler(),), {"bucket": server})
    http = ThreadingHTTPServer(("127.0.0.1", port), handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    server.is_up = True
    try:
        yield server
    finally:
        server.is_up = False
        http.shutdown()
        http.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    bucket: BucketServer
    protocol_version = "HTTP/1.1"
    wbufsize = 65536

    def log_message(self, *_: Any) -> None:
        return

    def do_GET(self) -> None:
        if not self.bucket.is_up:
            self.close_connection = True
            return
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        name, _, key = unquote(url.path).lstrip("/").partition("/")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.bucket.requests.append((key, query, headers))
        self.bucket._at_once += 1
        self.bucket.most_at_once = max(self.bucket.most_at_once, self.bucket._at_once)
        time.sleep(self.bucket.delay)
        fault = self.bucket.faults.get(key or query.get("prefix", ""), [])
        if not fault and "list-type" in query:
            fault = self.bucket.list_faults
        action = fault.pop(0) if fault else None
        if isinstance(action, tuple) and action[0] == "slow":
            time.sleep(action[1])
            action = None
        with suppress(ConnectionError):
            if self.bucket.only in ("", name):
                self._serve(key, query, headers, action)
            else:
                self._answer(404, b"<Error><Code>NoSuchBucket</Code></Error>")
        self.bucket._at_once -= 1

    def _serve(self, key: str, query: dict[str, str], headers: dict[str, str], action: Fault | None) -> None:
        if isinstance(action, int):
            self._answer(
                action, f"<Error><Code>{'AccessDenied' if action == 403 else 'Trouble'}</Code></Error>".encode()
            )
        elif action is not None and action[0] == "wait":
            self._answer(429, b"<Error><Code>SlowDown</Code></Error>", {"Retry-After": str(action[1])})
        elif "list-type" in query:
            listing = self.bucket.listing(query)
            self._answer(200, listing[: int(action[1])] if action else listing, length=len(listing))
            self.close_connection = action is not None
        elif key in self.bucket.objects:
            self._object(key, self.bucket.objects[key], headers, action)
        else:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    do_HEAD = do_GET

    def _object(self, key: str, data: bytes, headers: dict[str, str], action: tuple[str, float] | None) -> None:
        if headers.get("if-match", etag(data)).strip('"') != etag(data):
            return self._answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        start = int(headers.get("range", "bytes=0-")[6:].partition("-")[0])
        part, extra = data[start:], {"ETag": f'"{etag(data)}"', "Last-Modified": "Sun, 01 Nov 2026 00:00:00 GMT"}
        if start:
            extra["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        if action is None:
            return self._answer(206 if start else 200, part, extra)
        kind, count = action[0], int(action[1])
        told = part + b"?" * count if kind == "more" else part[:count]
        self._answer(206 if start else 200, told, extra, len(part) if kind == "cut" else len(told))
        self.close_connection = True

    def _answer(self, status: int, body: bytes, extra: dict[str, str] | None = None, length: int | None = None) -> None:
        self.send_response(status)
        for name, value in (extra or {}).items():
            self.send_header(name, f"W/{value}" if name == "ETag" and self.bucket.weak else value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
