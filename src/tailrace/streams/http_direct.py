"""Requests that came in one piece: answered without ASGI, whose events cost more than most of them.

All others, such as those whose bodies are still on their way, go uvicorn's way to the same listeners.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

from tailrace.streams.http_calls import Answer, Handle, by_name
from tailrace.streams.http_parsing import Parser
from tailrace.streams.http_turns import OrderedProtocol

_FAILED = Answer(500, b"Internal Server Error", {"Connection": "close"}, "text/plain; charset=utf-8")
_log = logging.getLogger("uvicorn.error")


class _Nowhere(list[tuple[bytes, bytes]]):
    """Where fields behind a body go: whose request it is, and how its body is to be read, was said before it."""

    def append(self, header: tuple[bytes, bytes]) -> None:
        """Forgets it."""


NOWHERE = _Nowhere()


class Whole:
    """A request that is all there. To uvicorn it is what its connection is busy with."""

    token = ""
    disconnected = False
    response_complete = False
    more_body = False

    def __init__(self, given: list[tuple[bytes, bytes]], body: bytes, peer: str, keep_alive: bool) -> None:
        self.headers = by_name(given)
        self.whole, self.peer, self.keep_alive = body, peer, keep_alive
        self.held = 0

    @property
    def message_event(self) -> Whole:
        """Whom uvicorn wakes where something has changed: nobody."""
        return self

    def set(self) -> None:
        """Nobody sleeps."""

    async def stream(self) -> AsyncIterator[bytes]:
        yield self.whole


class DirectProtocol(OrderedProtocol):
    """Looks for requests to `takers` that come to their end in the read in which they began."""

    takers: Mapping[bytes, Handle] = {}
    _taker: Handle | None = None
    "Of a request whose head has come, and whose end may still come in this read."
    _pieces: list[bytes]
    _given: list[tuple[bytes, bytes]]
    "The headers of its head."
    ended = False
    "Did a request come to its end in this read?"
    silent = 0
    "Bytes of reads since the last that held some of a body, or the end of a head or message."
    parser: Parser  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parser = Parser(self)

    def data_received(self, data: bytes) -> None:
        self.ended = False
        super().data_received(data)
        self.silent = 0 if self.silent < 0 else self.silent + len(data)
        if self._taker is not None:
            self._go_on()

    def on_headers_complete(self) -> None:
        if self.parser.offers_another():
            return
        self.silent = -1
        self._given = self.headers
        self.headers = NOWHERE
        self._taker = self.takers.get(self.url) if self._is_plain() else None
        if self._taker is None:
            super().on_headers_complete()
        else:
            self._pieces = []

    def _is_plain(self) -> bool:
        """Nothing is to be told or waited for before it is answered."""
        room = self.limit_concurrency is None or max(len(self.connections), len(self.tasks)) < self.limit_concurrency
        plain = not self.expect_100_continue and self.parser.get_http_version() == "1.1"
        return self.is_idle and room and plain and self.parser.get_method() == b"POST" and not self.flow.write_paused

    def on_body(self, body: bytes) -> None:
        self.silent = -1
        if self._taker is None:
            super().on_body(body)
        else:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        if self.parser.offers_another():
            return
        self.silent, self.ended = -1, True
        take, self._taker = self._taker, None
        if take is None:
            super().on_message_complete()
            return
        pieces = self._pieces
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        peer = self.client[0] if self.client else ""
        call: Any = Whole(self._given, body, peer, self.parser.should_keep_alive())
        self.cycle = call
        task = self.loop.create_task(self._answered(take, call))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def _go_on(self) -> None:
        """The rest is to come: what has come so far goes uvicorn's way."""
        self._taker = None
        if self.parser is None or self.transport.is_closing():
            return
        super().on_headers_complete()
        for piece in self._pieces:
            super().on_body(piece)

    async def _answered(self, take: Handle, call: Whole) -> None:
        try:
            found = await take(call)
        except asyncio.CancelledError:
            self.transport.close()  # nobody else would, and its client would wait
            raise
        except Exception as error:
            _log.error("Exception in a listener", exc_info=error)
            found = _FAILED
        call.response_complete = True
        if call.disconnected or self.transport.is_closing():
            return
        keep_alive = call.keep_alive and not found.closes
        self.transport.write(found.packed(self.server_state.default_headers, keep_alive))
        if not keep_alive:
            self.transport.close()
        self.on_response_complete()
