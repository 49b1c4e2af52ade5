"""The spool: what was acknowledged is on disk.

One thread writes. Records queue while it waits for the disk, and the next wait covers all of them (group commit). While
several come at once it gives as many as last time a moment to come: the disk is what costs, and is asked less often.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from tailrace.core.errors import TailraceError
from tailrace.lake.lock import local_lock
from tailrace.lake.steps import reached
from tailrace.streams import segments
from tailrace.streams.recent import Recent
from tailrace.streams.records import MAGIC, Identity, Record

SEGMENT_BYTES = 32 << 20
SEGMENT_SECONDS = 1.0
HIGH_MARK = 4 << 30
RESERVE = 256 << 20
"Bytes of the disk that stay free: what is being published needs room."
WINDOW = 600.0
"Seconds in which a batch that is sent again is known."
GATHER = 0.002
"Seconds from one wait for the disk to the next, at the most, in which records are gathered."
_VECTOR = 512


class SpoolFull(TailraceError):
    """Nothing more is taken in before something has been stored."""

    exit_code = 5
    code = "spool.full"


@dataclass(frozen=True, slots=True)
class SpoolLimits:
    """How large segments and the whole become."""

    segment_bytes: int = SEGMENT_BYTES
    segment_seconds: float = SEGMENT_SECONDS
    high_mark: int = HIGH_MARK
    reserve: int = RESERVE
    window: float = WINDOW


Done = Callable[[TailraceError | None], None]
"Told, in the thread that writes, that a record is on disk, or why not."
_Waiting = tuple[bytes, Record | None, Done]
"Packed record, the record, and who waits for it; a barrier has no record."


class Spool:
    """Takes records from listeners; the one writer of its directory."""

    def __init__(self, root: Path, limits: SpoolLimits | None = None) -> None:
        self.root = root
        self.limits = limits or SpoolLimits()
        self._lock = local_lock(root.with_name(root.name + ".lock"), f"spool {root}", "tailrace serve")
        self._lock.__enter__()
        self._number = segments.recover(root)
        self._recent = Recent(self.limits.window)
        self.forgets = True
        "False = batches are remembered however long ago they came."
        self._remember_noted()
        self._queue: list[_Waiting] = []
        self._condition = threading.Condition()
        self._wanted = 1
        "Records in the queue that the thread is woken for."
        self._last, self._synced = 0, 0.0
        "How many were written together last, and when that was done."
        self._stopping = False
        self._handle = -1
        self._closing = False
        self._written = 0
        self._opened = 0.0
        self._identities: list[tuple[bytes, int, Identity]] = []
        self.closed_bytes = 0
        self.queued_bytes = 0
        self.errors = 0
        self._look_around()
        self._thread = threading.Thread(target=self._run, name="spool", daemon=True)
        self._thread.start()

    @property
    def held_bytes(self) -> int:
        """What lies here and was not stored yet."""
        return self.closed_bytes + self._written + self.queued_bytes

    @property
    def full(self) -> bool:
        """Is it beyond its high mark, or the disk near its end?"""
        return self.held_bytes >= self.limits.high_mark or self._free < self.limits.reserve

    def is_repeated(self, key: bytes, identity: Identity, received_at: int) -> bool:
        """Was this batch accepted inside of the window? If not, it counts as accepted now."""
        return identity.batch_id != 0 and self._recent.arrived(key, identity, received_at)

    def knows(self, key: bytes, identity: Identity) -> bool:
        """Is it remembered as accepted?"""
        return self._recent.knows(key, identity)

    def remember(self, key: bytes, identities: tuple[Identity, ...], received_at: int) -> None:
        self._recent.remember(key, identities, received_at)

    def forget(self, key: bytes, identities: tuple[Identity, ...]) -> None:
        """They were not accepted after all."""
        self._recent.forget(key, identities)

    def append(self, record: Record) -> Future[None]:
        """Done when the record is on disk; fails with SpoolFull, or as the disk does."""
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()
        self.put(record, lambda error: future.set_exception(error) if error else future.set_result(None))
        return future

    def barrier(self, done: Done) -> None:
        """Tells when everything is on disk that was put before."""
        self._queued(b"", None, done)

    def put(self, record: Record, done: Done) -> None:
        """The same for who has no use for a future; whoever gives up waiting does not take the record back."""
        if self.full:
            done(SpoolFull("the spool is full", where=str(self.root)))
        else:
            self._queued(record.packed(), record, done)

    def _queued(self, packed: bytes, record: Record | None, done: Done) -> None:
        with self._condition:
            if not self._stopping:
                self._queue.append((packed, record, done))
                self.queued_bytes += len(packed)
                if len(self._queue) >= self._wanted:
                    self._condition.notify()
                return
        done(SpoolFull("the spool is being closed", where=str(self.root)))

    def close(self) -> None:
        """Writes what is queued, closes the segment and lets go."""
        with self._condition:
            self._stopping = True
            self._condition.notify()
        self._thread.join()
        self._lock.__exit__(None, None, None)

    def _run(self) -> None:
        while True:
            with self._condition:
                if not self._queue and not self._stopping:
                    self._condition.wait(self._patience())
                self._gather()
                taken, self._queue = self._queue, []
                stopping = self._stopping
            if taken:
                self._commit(taken)
                self._last, self._synced = len(taken), time.monotonic()
            if self._due(stopping):
                self._close_segment()
            if stopping and not taken:
                return
            if time.monotonic() - self._looked >= 1.0:
                self._look_around()
                if self.forgets:
                    self._forget_old(time.time() - self.limits.window)

    def _gather(self) -> None:
        """Waits a moment for others, unless the last one came alone."""
        left = self._synced + GATHER - time.monotonic()
        if 0 < len(self._queue) < self._last and left > 0 and not self._stopping:
            self._wanted = self._last
            self._condition.wait(left)
            self._wanted = 1

    def _patience(self) -> float:
        if self._handle < 0:
            return self.limits.segment_seconds
        return max(self._opened + self.limits.segment_seconds - time.monotonic(), 0.001)

    def _due(self, stopping: bool) -> bool:
        if self._handle < 0:
            return self._closing
        old = time.monotonic() - self._opened >= self.limits.segment_seconds
        return stopping or old or self._written >= self.limits.segment_bytes

    def _commit(self, taken: list[_Waiting]) -> None:
        try:
            if self._closing and not self._close_segment():
                raise OSError(errno.EIO, "the segment before cannot be closed")
            if self._handle < 0:
                self._open_segment()
            written = self._write([packed for packed, _, _ in taken])
            reached("spool-written")
            os.fdatasync(self._handle)
        except OSError as error:
            self._fail(taken, error)
            return
        reached("spool-synced")
        self._written += written
        with self._condition:
            self.queued_bytes -= written
        for _, record, done in taken:
            if record is not None:
                self._identities += [(record.key, record.received_at, one) for one in record.identities]
            done(None)

    def _write(self, parts: list[bytes]) -> int:
        total = 0
        for first in range(0, len(parts), _VECTOR):
            whole = parts[first : first + _VECTOR]
            wanted = sum(map(len, whole))
            written = os.writev(self._handle, whole)
            if written < wanted:  # a signal, or the disk is about to be full
                rest = memoryview(b"".join(whole))[written:]
                while rest:
                    rest = rest[os.write(self._handle, rest) :]
            total += wanted
        return total

    def _fail(self, taken: list[_Waiting], error: OSError) -> None:
        """Nothing of it was promised. What was synced before stays: the segment ends there."""
        self.errors += 1
        with self._condition:
            self.queued_bytes -= sum(len(packed) for packed, _, _ in taken)
        for _, record, done in taken:
            if record is not None:
                self.forget(record.key, record.identities)
            done(SpoolFull(f"cannot write to the spool: {error.strerror}", where=str(self.root)))
        if self._handle >= 0:
            with contextlib.suppress(OSError):  # a torn tail is cut by its checksum
                os.ftruncate(self._handle, self._written)
            self._close_segment()
        self._look_around()

    def _open_segment(self) -> None:
        segments.reserve(self.root, self._number + 1)
        self._number += 1
        path = segments.path_of(self.root, self._number, segments.OPEN)
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.write(self._handle, MAGIC)
        # The first acknowledgement of a segment must not rest on a name that a power failure takes away.
        segments.sync_directory(self.root)
        self._written, self._opened, self._identities = len(MAGIC), time.monotonic(), []

    def _close_segment(self) -> bool:
        """True = it is closed. Until then no other is begun: segments are taken in the order of their numbers."""
        if self._handle >= 0:
            # Every record in it has been synced before it was acknowledged.
            os.close(self._handle)
            self._handle, self._closing = -1, True
        try:
            if self._written <= len(MAGIC):
                segments.path_of(self.root, self._number, segments.OPEN).unlink(missing_ok=True)
            else:
                segments.close(self.root, self._number, self._identities)
        except OSError:
            self.errors += 1
            return False
        self.closed_bytes += self._written
        self._written, self._closing, self._identities = 0, False, []
        return True

    def _look_around(self) -> None:
        """Others take segments away, and share the disk."""
        self._looked = time.monotonic()
        total = 0
        try:
            for number in segments.numbers(self.root, segments.CLOSED):
                with contextlib.suppress(FileNotFoundError):
                    total += segments.path_of(self.root, number, segments.CLOSED).stat().st_size
            room = os.statvfs(self.root)
        except OSError:  # the thread must outlive it: everybody who sends waits for it
            self.errors += 1
            self._free = 0
            return
        self.closed_bytes = total
        self._free = room.f_bavail * room.f_frsize

    def _remember_noted(self) -> None:
        for number in segments.numbers(self.root, segments.BATCHES):
            for key, received_at, identity in segments.noted_batches(self.root, number):
                self._recent.remember(key, (identity,), received_at)

    def _forget_old(self, before: float) -> None:
        """Notes of batches that nobody will send again."""
        self._recent.forget_before(before * 1000)
        for number in segments.numbers(self.root, segments.BATCHES):
            path = segments.path_of(self.root, number, segments.BATCHES)
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < before:
                    path.unlink()
