"""Answers in the order of their requests, also where a connection ends behind some that are under way."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_AHEAD = 20_000
"Requests of all connections of a listener that wait for the answers to those before them; a read holds 14,600 at most."


@dataclass(slots=True)
class Ahead:
    """How many requests wait, of all connections."""

    requests: int = 0

    @property
    def is_full(self) -> bool:
        return self.requests >= MOST_AHEAD


class Waiting(deque[Any]):
    """Requests of one connection that wait: the first of them is the last in here, as uvicorn has it."""

    def __init__(self, ahead: Ahead) -> None:
        super().__init__()
        self._ahead = ahead

    def appendleft(self, request: Any) -> None:
        super().appendleft(request)
        self._ahead.requests += 1

    def pop(self) -> Any:  # type: ignore[override]
        self._ahead.requests -= 1
        return super().pop()

    def popleft(self) -> Any:
        self._ahead.requests -= 1
        return super().popleft()

    def clear(self) -> None:
        self._ahead.requests -= len(self)
        super().clear()


class OrderedFlow(FlowControl):
    """Reads on when no request waits any more: after each answer, as uvicorn does, would be thousands for one."""

    def __init__(self, transport: asyncio.Transport, waiting: Waiting) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()


class OrderedProtocol(HttpToolsProtocol):
    """Has whole requests answered before their connection is given up for what follows them."""

    _end: Callable[[], None] | None = None
    "What is done when all is answered."
    ahead = Ahead()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.pipeline: Waiting = Waiting(self.ahead)
        self.flow = OrderedFlow(transport, self.pipeline)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.pipeline.clear()

    @property
    def is_idle(self) -> bool:
        """Is there no request without its answer?"""
        return self.cycle is None or self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        if self._end is None:
            super().data_received(data)

    def eof_received(self) -> bool:  # type: ignore[override]
        """A client may tell that nothing more comes, and wait for its answers. TLS knows no such half."""
        return self.scheme != "https" and self.after_answers(self.transport.close)

    def send_400_response(self, msg: str) -> None:
        refuse = super().send_400_response
        self.after_answers(lambda: refuse(msg))

    def on_response_complete(self) -> None:
        last = not self.pipeline
        super().on_response_complete()
        if last and self._end is not None and not self.transport.is_closing():
            self._end()

    def after_answers(self, end: Callable[[], None]) -> bool:
        """Ends the connection when whole requests have been answered; at once, and False, if there are none."""
        if self._end is not None:
            return True
        if self._under_way():
            self._end = end
            return True
        end()
        return False

    def _under_way(self) -> bool:
        """Is a whole request without its answer? One that never will be whole is forgotten."""
        if self.is_idle:
            return False
        if self.cycle.more_body and self.pipeline:
            self.pipeline.popleft()  # the last of them; those before it are whole
            return True
        return not self.cycle.more_body
