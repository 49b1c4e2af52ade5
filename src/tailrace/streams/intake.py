"""What every listener shares: the spool, the keys, counters, and whether more may come in."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path

from tailrace.core.errors import ConfigError, TailraceError
from tailrace.streams.api_keys import ApiKeys, Tenant
from tailrace.streams.records import Identity, Record
from tailrace.streams.spool import Done, Spool, SpoolFull

RETRY_AFTER = 5
"Seconds that a client is asked to wait while the spool is full."
READ = 1 << 20
_PAUSE = 0.05
_LOOK = 0.5
"Seconds after which a connection that is silent looks whether it is time to go."


class Room:
    """Bytes of requests that are in memory, of all listeners over HTTP."""

    def __init__(self, most: int = 256 << 20) -> None:
        self.most = most
        self.held = 0


class Intake:
    """Between listeners and the spool."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self.draining = False
        self.counts: Counter[tuple[str, str]] = Counter()
        "By name and listener."
        self.room = Room()
        self._keys: dict[Path, ApiKeys] = {}
        self._waiting: set[tuple[bytes, Identity]] = set()
        "Batches that were read and are kept until the disk takes them: known to whoever sends them again."
        self._written = _Written()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def full(self) -> bool:
        """May nothing more be accepted?"""
        return self.draining or self.spool.full

    def count(self, name: str, listener: str, amount: int = 1) -> None:
        self.counts[name, listener] += amount

    def part(self) -> Intake:
        """For one listener, which may come to its end alone; everything else is shared."""
        made = Intake(self.spool)
        made.counts, made._keys, made.room, made._waiting = self.counts, self._keys, self.room, self._waiting
        return made

    def load_keys(self, path: Path) -> None:
        """Reads a file of keys that is not known yet, or fails."""
        if path not in self._keys:
            self._keys[path] = ApiKeys.read(path)

    def reload_keys(self) -> list[ConfigError]:
        """All files again; one that is wrong leaves its keys as they were."""
        errors = []
        for path in list(self._keys):
            try:
                self._keys[path] = ApiKeys.read(path)
            except ConfigError as error:
                self.count("key_reload_errors", "")
                errors.append(error)
        return errors

    def tenant(self, path: Path, key: bytes) -> Tenant | None:
        return self._keys[path].find(key)

    def tenant_of_text(self, path: Path, key: str) -> Tenant | None:
        return self._keys[path].find_text(key)

    async def has_room(self) -> bool:
        """Waits while the spool is full; did it have to?"""
        waited = False
        while self.spool.full and not self.draining:
            waited = True
            await asyncio.sleep(_PAUSE)
        return waited

    async def read(self, reader: asyncio.StreamReader, idle: float | None = None) -> bytes:
        """What has come; nothing at the end, after a silence, and when all that had come was read and it is time to go.

        While the spool is full nothing is read: the sender's own buffers fill, and it waits.
        """
        silent = 0.0
        while True:
            await self.has_room()
            try:
                async with asyncio.timeout(_LOOK) as patience:
                    return await reader.read(READ)
            except TimeoutError:
                if not patience.expired():  # the connection itself timed out, and will say so for ever
                    raise
                silent += _LOOK
                if self.draining or (idle is not None and silent >= idle):
                    return b""

    async def accept(self, record: Record) -> None:
        """Returns once the record is on disk; raises SpoolFull."""
        try:
            await self._told(lambda done: self.spool.put(record, done))
        except SpoolFull:
            self.spool.forget(record.key, record.identities)
            raise
        self._count(record)

    async def keep(self, given: Sequence[Record]) -> None:
        """For those who cannot be answered: returns once all are on disk, however often that has to be tried.

        Their batches stay known meanwhile, so that one which is sent again elsewhere is not stored beside them.
        """
        claimed = [(record.key, identity) for record in given for identity in record.identities]
        self._waiting.update(claimed)
        try:
            for record in given:
                await self._keep(record)
        finally:
            self._waiting.difference_update(claimed)

    async def _keep(self, record: Record) -> None:
        while True:
            try:
                await self._told(lambda done: self.spool.put(record, done))
                break
            except SpoolFull:
                self.count("backpressure", record.listener)
                await asyncio.sleep(_PAUSE)
        # An attempt before may have failed, and they were forgotten.
        self.spool.remember(record.key, record.identities, record.received_at)
        self._count(record)

    def _count(self, record: Record) -> None:
        self.count("records_received", record.listener)
        self.count("bytes_received", record.listener, len(record.body))

    def _told(self, ask: Callable[[Done], None]) -> asyncio.Future[None]:
        """What the spool answers."""
        # Python asks the system for the process's number whenever it is asked for the loop: once is enough.
        if (loop := self._loop) is None or loop.is_closed():
            loop = self._loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        ask(lambda error: self._written.tell(loop, future, error))
        return future

    def fresh(self, listener: str, key: bytes, given: Sequence[Identity], received_at: int) -> list[bool]:
        """Which batches were not accepted before, inside of the window."""
        fresh = [not self._is_repeated(key, identity, received_at) for identity in given]
        if repeated := fresh.count(False):
            self.count("deduplicated_batches", listener, repeated)
        return fresh

    def _is_repeated(self, key: bytes, identity: Identity, received_at: int) -> bool:
        waits = bool(self._waiting) and identity.batch_id != 0 and (key, identity) in self._waiting
        return waits or self.spool.is_repeated(key, identity, received_at)

    async def settled(self, key: bytes, given: Sequence[Identity]) -> bool:
        """Waits for batches that are being written; are they on disk? SpoolFull while somebody keeps trying."""
        await self._told(self.spool.barrier)
        if any((key, identity) in self._waiting for identity in given):
            raise SpoolFull("the batch waits for the disk")
        return all(self.spool.knows(key, identity) for identity in given)


class _Written:
    """Brings what the spool's thread says into the loop: what comes at once, by one call for all of it."""

    def __init__(self) -> None:
        self._told: deque[tuple[asyncio.Future[None], TailraceError | None]] = deque()
        self._called = False

    def tell(self, loop: asyncio.AbstractEventLoop, future: asyncio.Future[None], error: TailraceError | None) -> None:
        self._told.append((future, error))
        if not self._called:
            self._called = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._pass_on)

    def _pass_on(self) -> None:
        self._called = False  # first: what is told from here on is either seen below, or calls again
        while self._told:
            future, error = self._told.popleft()
            if future.done():  # whoever waited has given up
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)


def now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
