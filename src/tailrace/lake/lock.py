"""One process at a time changes a partition.

On local disk the kernel drops the lock with the process, however it ends; in an object store it is a lease.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tailrace.core.errors import LockedError
from tailrace.lake.paths import Lake
from tailrace.lake.place import LocalPlace, Place

LOCK = "lock"
"Of all who change rows."
BRIEFLY = 60.0
"Seconds that one who holds a lock for a commit alone may take."
_PAUSE = 0.02
_LONGEST_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock."""

    pid: int
    host: str
    command: str
    since: str
    brief: bool = False
    "It is held for a commit alone: whoever comes waits."


@contextmanager
def partition_lock(
    lake: Lake,
    table: str,
    partition: str,
    command: str,
    *,
    brief: bool = False,
    of: str = LOCK,
    patience: float = 0.0,
) -> Iterator[None]:
    """Hold the partition for the length of the block, or say at once who does; a brief holder is waited for.

    `of`: another lock than that of all who change rows. `patience`: seconds for which anybody is waited for.
    """
    place, name = lake.meta("locks", table, partition), f"partition {table}.{partition}"
    with ExitStack() as held:
        _patiently(lambda: held.enter_context(_held(place, name, _holder(command, brief), of)), patience)
        yield


def _held(place: Place, name: str, holder: Holder, of: str) -> AbstractContextManager[None]:
    if isinstance(place, LocalPlace):
        return _locked_file(place.path / of, name, holder)
    from tailrace.lake.lease import leased
    from tailrace.lake.object_place import ObjectPlace

    where = place if of == LOCK else place / of
    assert isinstance(where, ObjectPlace)
    return leased(where, name, holder)


def _holder(command: str, brief: bool = False) -> Holder:
    return Holder(os.getpid(), socket.gethostname(), command, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", brief)


def _patiently(take: Callable[[], None], patience: float = 0.0) -> None:
    deadline = time.monotonic() + max(patience, BRIEFLY)
    looks, pause = 0, _PAUSE
    while True:
        try:
            return take()
        except LockedError as error:
            # Once is not enough: between taking the lock and saying so somebody else's name may stand there.
            looks = 0 if error.brief else looks + 1
            if (looks > 1 and not patience) or time.monotonic() > deadline:
                raise
            if not error.brief:
                pause = min(2 * pause, _LONGEST_PAUSE)
        time.sleep(pause)


def local_lock(path: Path, name: str, command: str) -> AbstractContextManager[None]:
    """Hold something of this machine, by a file that is there for nothing else."""
    return _locked_file(path, name, _holder(command))


@contextmanager
def _locked_file(path: Path, name: str, holder: Holder) -> Iterator[None]:
    handle = _acquire(path, name)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, msgspec.json.encode(holder), 0)
        yield
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _acquire(path: Path, name: str) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            content = os.pread(handle, 65536, 0)
            os.close(handle)
            hint = "wait for it to end, or stop it; a lock never outlives its process"
            raise locked(content, name, str(path), hint) from None
        if _is_same_file(handle, path):
            return handle
        # Someone removed the file between open and lock: what we hold is not what others will see.
        os.close(handle)


def _is_same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def locked(content: bytes, name: str, where: str, hint: str) -> LockedError:
    """The error for who comes second; `content` is the holder, as far as is known."""
    brief = False
    try:
        holder = msgspec.json.decode(content, type=Holder)
        by = f"process {holder.pid} on {holder.host} (`{holder.command}`) since {holder.since}"
        brief = holder.brief
    except msgspec.DecodeError:
        by = "another process"
    return LockedError(f"{name} is held by {by}", where=where, hint=hint, brief=brief)
