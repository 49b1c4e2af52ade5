"""httptools' parser, for a server that speaks no other protocol than HTTP/1.

A client may offer another one with any request: Java's own does so with each to `http://`, by `Upgrade: h2c`. Who does
not want it answers as if nothing had been offered, but httptools leaves what follows such a head to that protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import httptools


class Reading(Protocol):
    """A connection, as its parser tells it what comes."""

    url: bytes
    headers: list[tuple[bytes, bytes]]


class Parser:
    """Reads requests that offer another protocol as if they did not."""

    get_method: Callable[[], bytes]
    get_http_version: Callable[[], str]
    should_keep_alive: Callable[[], bool]
    should_upgrade: Callable[[], bool]

    def __init__(self, connection: Reading) -> None:
        self._connection = connection
        self._renew()

    def feed_data(self, data: bytes) -> None:
        while True:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as offered:
                if not self.offers_another():
                    raise
                data = self._without_offer() + data[offered.args[0] :]
                self._renew()
            else:
                return

    def offers_another(self) -> bool:
        """Is this head to be read a second time, without what it offers? A tunnel is no offer."""
        return self.should_upgrade() and self.get_method() != b"CONNECT"

    def _without_offer(self) -> bytes:
        """The head that was read last."""
        first = b"%s %s HTTP/%s\r\n" % (self.get_method(), self._connection.url, self.get_http_version().encode())
        headers = (b"%s: %s\r\n" % header for header in self._connection.headers if header[0] != b"upgrade")
        return b"".join((first, *headers, b"\r\n"))

    def _renew(self) -> None:
        """Behind an offer in the last request of a connection a parser takes nothing any more."""
        parser = httptools.HttpRequestParser(self._connection)
        # As uvicorn has it: an answer to the first of several requests although it is to be the last.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._parser = parser
        self.get_method, self.get_http_version = parser.get_method, parser.get_http_version
        self.should_keep_alive, self.should_upgrade = parser.should_keep_alive, parser.should_upgrade
