"""Answers in the order of their requests, also where a connection ends behind some that are under way."""

from __future__ import annotations

from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class OrderedProtocol(HttpToolsProtocol):
    """Has whole requests answered before their connection is given up for what follows them."""

    _end: Callable[[], None] | None = None
    "What is done when all is answered."

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
        if self.cycle is None or self.cycle.response_complete:
            return False
        if self.cycle.more_body and self.pipeline:
            self.pipeline.popleft()  # the last of them; those before it are whole
            return True
        return not self.cycle.more_body
