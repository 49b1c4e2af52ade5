"""Snapshots by pull: a service is asked on a schedule, and what it gives is spooled as if a client had sent it.

An answer is on disk before it is spooled, and noted as done afterwards. Killed anywhere between, it is spooled once:
the spool knows what it has, and what was asked for is not asked for again.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec

from tailrace.core.errors import SourceError
from tailrace.sources.slices import Slice, named
from tailrace.streams import records
from tailrace.streams.intake import Intake, now
from tailrace.streams.pull_settings import PullOptions
from tailrace.streams.pulled_lines import pulled_lines
from tailrace.streams.records import Identity, Record
from tailrace.streams.segments import sync_directory
from tailrace.streams.spool import SpoolFull

LARGEST = 256 << 20
"Bytes of one round."
_PAUSE = 0.5
_FIRST_DELAY = 5.0
_DOUBLED = 20
"Times that the delay after a failure is doubled, at the most."
_PATIENCE = 10.0


_Kept = TypeVar("_Kept", bound=msgspec.Struct)


class Done(msgspec.Struct):
    """The last round that was spooled."""

    moment: int = 0
    "Milliseconds; the next round asks for what came since."


class Pending(msgspec.Struct):
    """A round that was answered, and is not known to be spooled."""

    moment: int
    bodies: list[bytes]


class Puller(threading.Thread):
    """One service. A thread of its own: requests wait, and are not waited for at the end."""

    def __init__(self, options: PullOptions, intake: Intake, directory: Path, say: Callable[[str], None]) -> None:
        super().__init__(name=options.id, daemon=True)
        self.options, self.intake, self.say = options, intake, say
        self.failures = 0
        self._ending = threading.Event()
        self._key = hashlib.blake2b(options.id.encode(), digest_size=8).digest()
        directory.mkdir(parents=True, exist_ok=True)
        name = quote(options.name, safe="")
        self._done, self._pending = directory / f"{name}.done", directory / f"{name}.pending"
        self.done = _read(self._done, Done) or Done()
        self._settle()

    def end(self) -> None:
        """No further round is begun, and the one under way is not spooled."""
        self._ending.set()

    def ended(self) -> None:
        """Waits for that; who waits for an answer is left behind."""
        if self.is_alive():
            self.join(_PATIENCE)

    def run(self) -> None:
        while not self._ending.wait(self.pause(time.time() * 1000)):
            self.turn()

    def pause(self, moment: float) -> float:
        """Seconds until the next round."""
        schedule = self.options.schedule.total_seconds()
        if self.failures:
            return min(max(schedule, _FIRST_DELAY), _FIRST_DELAY * 2.0 ** min(self.failures - 1, _DOUBLED))
        if self._pending.exists():
            return _PAUSE
        return max((self.done.moment - moment) / 1000 + schedule, 0.0)

    def turn(self) -> None:
        """One round, or the rest of the one before; whatever fails is tried again."""
        try:
            self._round()
            self.failures = 0
        except Exception as error:
            self.failures += 1
            self.intake.count("pull_errors", self.options.id)
            self.say(f"source {self.options.name}: {error}; asked again in {self.pause(0):.0f} s")

    def _round(self) -> None:
        pending = _read(self._pending, Pending) or self._asked(now() // 1000 * 1000)
        if self._ending.is_set():
            return
        if not self._pending.exists():
            _write(self._pending, pending)
        for place, body in enumerate(pending.bodies):
            if not self._spooled(pending.moment, body):
                # Whoever goes on may do so when the spool has long forgotten what it was given.
                _write(self._pending, Pending(pending.moment, pending.bodies[place:]))
                return
        self.intake.count("pulls", self.options.id)
        self._finish(pending.moment)

    def _asked(self, moment: int) -> Pending:
        source, options = self.options.source, self.options
        piece = None
        if source.slicing is not None:
            since = self.done.moment or moment - int(options.schedule.total_seconds()) * 1000
            piece = Slice(_datetime(since), _datetime(moment))
        where = named(source.api.address, source.api.asked)
        bodies, size = [], 0
        pages = source.lines(piece, where)
        for body in pulled_lines(pages, options.name, moment, options.entity, options.time_field):
            bodies.append(body)
            size += len(body)
            if size > LARGEST:
                hint = "ask for what is new, with {from}, or for smaller parts"
                message = f"an answer is larger than {LARGEST >> 20} MB"
                raise SourceError(message, code="source.too-large", where=where, hint=hint)
        return Pending(moment, bodies)

    def _spooled(self, moment: int, body: bytes) -> bool:
        """Is it on disk? While the spool is full it waits."""
        identity, options = Identity.of(moment, body), self.options
        arrived = now()
        if self.intake.spool.is_repeated(self._key, identity, arrived):
            return True
        identities = (identity,)
        record = Record(records.PULLED, options.workspace, arrived, bytes(16), options.id, body, self._key, identities)
        while True:
            try:
                self.intake.spool.append(record).result()
            except SpoolFull:
                self.intake.count("backpressure", options.id)
                if self._ending.wait(_PAUSE):
                    self.intake.spool.forget(self._key, identities)
                    return False
                continue
            self.intake.spool.remember(self._key, identities, arrived)
            self.intake.count("records_received", options.id)
            self.intake.count("bytes_received", options.id, len(body))
            return True

    def _settle(self) -> None:
        """After a kill: what the spool holds already is done, however long ago that was."""
        pending = _read(self._pending, Pending)
        if pending is None:
            return
        kept = [body for body in pending.bodies if not self._is_known(pending.moment, body)]
        if not kept or pending.moment <= self.done.moment:
            self._finish(pending.moment)
        elif len(kept) < len(pending.bodies):
            _write(self._pending, Pending(pending.moment, kept))

    def _is_known(self, moment: int, body: bytes) -> bool:
        return self.intake.spool.knows(self._key, Identity.of(moment, body))

    def _finish(self, moment: int) -> None:
        self.done = Done(moment)
        _write(self._done, self.done)
        self._pending.unlink(missing_ok=True)


def _datetime(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).replace(tzinfo=None)


def _read(path: Path, kind: type[_Kept]) -> _Kept | None:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None


def _write(path: Path, value: msgspec.Struct) -> None:
    """Whole, or not at all."""
    temporary = path.with_name(f"{path.name}.new")
    with open(temporary, "wb") as file:
        file.write(msgspec.msgpack.encode(value))
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, path)
    sync_directory(path.parent)
