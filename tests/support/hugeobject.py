"""A bucket with one object of any size, whose bytes are made when they are asked for: a block over and over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "huge.log"
_SENT_AT_ONCE = 4 << 20


@dataclass
class HugeObject:
    """`cut_every`: how many bytes a connection gives before it breaks."""

    block: bytes
    repeats: int
    cut_every: int
    url: str = ""
    ranges: list[int] = field(default_factory=list)
    "Where the answers so far began."

    @property
    def size(self) -> int:
        return len(self.block) * self.repeats

    def pieces(self, start: int) -> Iterator[memoryview]:
        """The bytes from there on."""
        view = memoryview(self.block)
        at = start
        while at < self.size:
            inside = at % len(view)
            piece = view[inside : inside + _SENT_AT_ONCE]
            yield piece
            at += len(piece)


@contextmanager
def serving(held: HugeObject) -> Iterator[HugeObject]:
    """The object at `held.url` until the end of the block."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"held": held}))
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    held.url = f"http://127.0.0.1:{http.server_port}"
    try:
        yield held
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    held: HugeObject
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        return

    def do_GET(self) -> None:
        with suppress(ConnectionError):
            if "list-type" in self.path:
                self._listing()
            else:
                self._object()

    def _listing(self) -> None:
        entry = f'<Key>{KEY}</Key><LastModified>2026-11-01T00:00:00.000Z</LastModified><ETag>"huge"</ETag>'
        contents = f"<Contents>{entry}<Size>{self.held.size}</Size></Contents>"
        body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>".encode()
        self._head(200, len(body))
        self.wfile.write(body)

    def _object(self) -> None:
        size = self.held.size
        start = int(self.headers.get("range", "bytes=0-")[6:].partition("-")[0])
        self.held.ranges.append(start)
        more = {"Content-Range": f"bytes {start}-{size - 1}/{size}"} if start else {}
        self._head(206 if start else 200, size - start, more)
        sent = 0
        for piece in self.held.pieces(start):
            self.wfile.write(piece)
            sent += len(piece)
            if sent >= self.held.cut_every:
                self.close_connection = True
                return

    def _head(self, status: int, length: int, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        told = {"Content-Length": str(length), "ETag": '"huge"', "Last-Modified": "Sun, 01 Nov 2026 00:00:00 GMT"}
        for name, value in (told | (more or {})).items():
            self.send_header(name, value)
        self.end_headers()
