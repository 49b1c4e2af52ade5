"""What listeners over TCP have in common: how many connections there are, and how what they bring is kept."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from tailrace.streams.addresses import Addresses
from tailrace.streams.intake import READ, Intake
from tailrace.streams.rates import Rates
from tailrace.streams.settings import ListenerOptions, tls


class Connections(ABC):
    """Connections of one listener."""

    def __init__(self, options: ListenerOptions, intake: Intake) -> None:
        self.options = options
        self.intake = intake
        self.rates = Rates(options.args["rate_limit"])
        self.connections: set[asyncio.Task[None]] = set()
        self.addresses = Addresses(int(options.args["max_per_address"]), options.proxies)

    async def serve_tcp(self) -> asyncio.Server:
        return await asyncio.start_server(
            self._connected, self.options.host, self.options.port, limit=READ, ssl=tls(self.options)
        )

    @abstractmethod
    async def attend(self, reader: asyncio.StreamReader, peer: str) -> None:
        """Takes what one client sends, until it ends."""

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        named = writer.get_extra_info("peername")
        peer = str(named[0]) if named else ""  # it has gone already
        if len(self.connections) >= int(self.options.args["max_connections"]) or not self.addresses.opens(peer):
            self.intake.count("connections_refused", self.options.id)
            writer.close()
            return
        self.connections.add(task)
        try:
            if peer:
                await self.attend(reader, peer)
        except OSError:  # reset, timed out, unreachable, broken TLS: what came before is kept
            pass
        finally:
            self.connections.discard(task)
            self.addresses.closes(peer)
            writer.close()

    async def slowed(self, peer: str, amount: int) -> None:
        """An address that sent more than it may is not read from for a while."""
        if pause := self.rates.wait(peer, amount):
            self.intake.count("rate_limited", self.options.id)
            await asyncio.sleep(pause)
