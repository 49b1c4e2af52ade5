"""uvicorn, with limits that it has not: how long and how large the head of a request may be."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from tailrace.streams.addresses import Addresses, Proxies
from tailrace.streams.http_direct import DirectProtocol
from tailrace.streams.http_routes import Application
from tailrace.streams.http_turns import Ahead
from tailrace.streams.settings import ListenerOptions, timeout_of

MAX_HEAD = 32 << 10
MAX_HEADERS = 100
KEEP_ALIVE = 60
_ANSWER = b"HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class JoinedWrites:
    """A transport that sends what is written at once, as head and body of an answer are, in one piece."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():  # the client may be gone by now, which uvloop takes for an error
            self._transport.write(b"".join(parts))


class BoundedProtocol(DirectProtocol):
    """Closes connections whose request does not come to its body in time, or has a head that no request needs.

    And those that only hold their place: by bytes that begin no request, or by answers that they do not take.
    """

    patience = 30.0
    addresses = Addresses(1 << 31, Proxies())
    refused: Callable[[], None] = staticmethod(lambda: None)
    _peer: str | None = None
    _deadline: asyncio.TimerHandle | None = None
    _untaken: asyncio.TimerHandle | None = None
    "Until when the client may leave answers where they are."
    _awaited = False
    "Has a head begun that has not come to its end?"
    _head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
        self._awaited = True
        self._set_deadline()
        named = transport.get_extra_info("peername")
        peer = str(named[0]) if named else ""
        if self.addresses.opens(peer):
            self._peer = peer
        else:
            self.refused()
            self._refuse(b"503 Service Unavailable")

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        self._answers_taken()
        if self._peer is not None:
            self.addresses.closes(self._peer)
            self._peer = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._deadline is None and (
            self._awaited or self.is_idle
        ):  # most heads come in one piece, and need no clock
            self._set_deadline()
        if self._awaited:
            self._head += 0 if self.ended else len(data)  # most of a read is of the requests before, if there are any
            if self._head > MAX_HEAD:
                self._refuse(b"431 Request Header Fields Too Large")
        elif self.silent > MAX_HEAD:  # fields behind a body, or what stands beside the sizes of its chunks
            self._refuse(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_came()
        self._awaited, self._head = True, 0

    def on_headers_complete(self) -> None:
        self._head_came()
        names = [name for name, _ in self.headers]
        lengths = names.count(b"content-length")
        if lengths > 1 or (lengths and b"transfer-encoding" in names) or len(names) > MAX_HEADERS:
            raise ValueError("where the body ends cannot be told")  # which uvicorn answers with 400, and closes
        if self.ahead.is_full and not self.is_idle:
            self._refuse(b"503 Service Unavailable")
            raise ValueError("too many requests wait")
        super().on_headers_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._untaken is None:
            self._untaken = self.loop.call_later(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._answers_taken()

    def _answers_taken(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None

    def _set_deadline(self) -> None:
        self._deadline = self.loop.call_later(self.patience, self._refuse, b"408 Request Timeout")

    def _head_came(self) -> None:
        self._awaited = False
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: bytes) -> None:
        self._head_came()
        self.after_answers(lambda: self._refused(status))

    def _refused(self, status: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(_ANSWER % status)
            self.transport.close()


class Server(uvicorn.Server):
    """Signals are not its business."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def server(options: ListenerOptions, app: Application, refused: Callable[[], None] = lambda: None) -> Server:
    """A server that is not running yet; `refused` is told of connections that an address has too many of."""
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    addresses = Addresses(int(options.args["max_per_address"]), options.proxies)
    takers = {path.encode(): take for path, take in app.takers.items()}
    own = {
        "patience": timeout_of(options),
        "addresses": addresses,
        "refused": staticmethod(refused),
        "takers": takers,
        "ahead": Ahead(),
    }
    protocol = type("Protocol", (BoundedProtocol,), own)
    config = uvicorn.Config(
        app,
        host=options.host,
        port=options.port,
        http=protocol,
        ws="none",
        lifespan="off",
        loop="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=10,
        limit_concurrency=int(options.args["max_connections"]),
        ssl_certfile=options.args.get("tls_cert"),
        ssl_keyfile=options.args.get("tls_key"),
    )
    return Server(config)
