"""The syslog listener: lines or counted messages over TCP, datagrams over UDP."""

from __future__ import annotations

import asyncio
from typing import Any

from tailrace.streams import records
from tailrace.streams.connections import Connections
from tailrace.streams.intake import Intake, now
from tailrace.streams.records import Record, address
from tailrace.streams.settings import ListenerOptions

_GATHER = 0.02
"Seconds in which datagrams are gathered into one record."
_MOST_WAITING, _MOST_BYTES = 50_000, 64 << 20
"Datagrams that wait to be spooled, and their bytes."
_COUNT_DIGITS = 10


class SyslogListener(Connections):
    """Messages of one listener; they all belong to its workspace."""

    def __init__(self, options: ListenerOptions, intake: Intake) -> None:
        super().__init__(options, intake)
        self.max_message = int(options.args["max_message"])
        self.idle = options.args["idle_timeout"].total_seconds()
        self._datagrams: list[tuple[bytes, bytes]] = []
        self._waiting = 0
        "Bytes of them."
        self._flushing: asyncio.Task[None] | None = None

    async def serve_udp(self) -> asyncio.DatagramTransport:
        loop = asyncio.get_running_loop()
        place = (self.options.host, self.options.port)
        transport, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self), local_addr=place)
        return transport

    async def attend(self, reader: asyncio.StreamReader, peer: str) -> None:
        """Messages, one after another."""
        sender, held = address(peer), b""
        while True:
            block = await self.intake.read(reader, self.idle)
            messages, held = cut(held + block, at_end=not block)
            await self._keep(messages, sender)
            if not block:
                return
            if len(held) > 2 * self.max_message:  # no end in sight
                await self._keep([held], sender)
                held = b""
            await self.slowed(peer, len(messages))

    async def _keep(self, messages: list[bytes], sender: bytes) -> None:
        good = [message for message in messages if len(message) <= self.max_message]
        if good:
            await self._accept(records.SYSLOG, b"".join(_with_sender(message, sender) for message in good), sender)
        for message in messages:
            if len(message) > self.max_message:
                self.intake.count("messages_oversize", self.options.id)
                await self._accept(records.OVERSIZE, message, sender)
        self.intake.count("messages_received", self.options.id, len(messages))

    async def _accept(self, kind: int, body: bytes, sender: bytes) -> None:
        await self.intake.keep([Record(kind, self.options.workspace, now(), sender, self.options.id, body)])

    def datagram(self, data: bytes, peer: str) -> None:
        """One message; nobody can be asked to wait, so that what does not fit is dropped and counted."""
        if self.intake.full or len(self._datagrams) >= _MOST_WAITING or self._waiting >= _MOST_BYTES:
            self.intake.count("datagrams_dropped", self.options.id)
            return
        if not self.rates.allows(peer):
            self.intake.count("rate_limited", self.options.id)
            return
        message = data.rstrip(b"\r\n\0")
        if message:
            self._datagrams.append((address(peer), message))
            self._waiting += len(message)
            if self._flushing is None or self._flushing.done():
                self._flushing = asyncio.get_running_loop().create_task(self._flush())

    async def _flush(self) -> None:
        while self._datagrams:
            await asyncio.sleep(_GATHER)
            taken, self._datagrams, self._waiting = self._datagrams, [], 0
            good = [_with_sender(message, sender) for sender, message in taken if len(message) <= self.max_message]
            if good:
                await self._accept(records.SYSLOG, b"".join(good), taken[0][0])
            self.intake.count("messages_received", self.options.id, len(good))
            for sender, message in taken:
                if len(message) > self.max_message:
                    await self._keep([message], sender)

    async def drained(self) -> None:
        """Datagrams that were taken in are on disk."""
        if self._flushing is not None:
            await self._flushing


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, listener: SyslogListener) -> None:
        self.listener = listener

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        self.listener.datagram(data, str(addr[0]))


def _with_sender(message: bytes, sender: bytes) -> bytes:
    return sender + len(message).to_bytes(4) + message


def cut(data: bytes, *, at_end: bool = False) -> tuple[list[bytes], bytes]:
    """Messages that are whole, and what is left; RFC 6587: counted where a number stands before `<`, else lines."""
    found: list[bytes] = []
    at = 0
    while at < len(data):
        counted = _counted(data, at)
        if counted is not None:
            start, end = counted
            if end > len(data):
                break
            message = data[start:end]
        else:
            end = data.find(b"\n", at)
            if end < 0:
                break
            message, end = data[at:end], end + 1
        message = message.rstrip(b"\r\n\0")
        if message:
            found.append(message)
        at = end
    if not at_end:
        return found, data[at:]
    last = data[at:].rstrip(b"\r\n\0")
    return [*found, last] if last.strip() else found, b""


def _counted(data: bytes, at: int) -> tuple[int, int] | None:
    """Where a counted message begins and ends."""
    if not 0x31 <= data[at] <= 0x39:
        return None
    blank = data.find(b" ", at, at + _COUNT_DIGITS)
    if blank < 0 or not data[at:blank].isdigit() or data[blank + 1 : blank + 2] not in (b"<", b""):
        return None
    return blank + 1, blank + 1 + int(data[at:blank])
