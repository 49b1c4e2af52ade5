"""A real HTTP server that answers as a test says, and can do everything wrong that servers do."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    "Names in lower case."
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    body: Any = b""
    "Bytes, or a value that is sent as JSON."
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0
    drip: float = 0
    "Seconds between two bytes."
    cut: bool = False
    "Half of the bytes, then the connection ends."
    length: int | None = None
    "A Content-Length that is not true."
    zipped: bool = False

    def content(self) -> bytes:
        content = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        return gzip.compress(content) if self.zipped else content


Answering = Callable[[Request], Reply]


class ApiServer:
    """`answer` serves requests; replies in `faults` come first, one a request."""

    def __init__(self, answer: Answering) -> None:
        self.answer = answer
        self.faults: list[Reply] = []
        self.requests: list[Request] = []
        self.connections: set[tuple[str, int]] = set()
        handler = type("Handler", (_Handler,), {"api": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def serve(self, request: Request) -> Reply:
        self.requests.append(request)
        return self.faults.pop(0) if self.faults else self.answer(request)


@contextmanager
def serving(answer: Answering) -> Iterator[ApiServer]:
    api = ApiServer(answer)
    thread = threading.Thread(target=api.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.server.shutdown()
        api.server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    api: ApiServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, *args: object) -> None:
        pass

    def _serve(self) -> None:
        self.api.connections.add(self.client_address)
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body)
        reply = self.api.serve(request)
        time.sleep(reply.delay)
        with suppress(ConnectionError):
            self._send(reply)

    def _send(self, reply: Reply) -> None:
        content = reply.content()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.zipped:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content) if reply.length is None else reply.length))
        self.end_headers()
        if reply.drip:
            for at in range(len(content)):
                self.wfile.write(content[at : at + 1])
                time.sleep(reply.drip)
            return
        self.wfile.write(content[: len(content) // 2] if reply.cut else content)
        if reply.cut or reply.length is not None:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
