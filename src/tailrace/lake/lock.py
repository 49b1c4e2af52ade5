"""One process at a time changes a partition.

On local disk the kernel drops the lock with the process, however it ends; in an object store it is a lease.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tailrace.core.errors import LockedError
from tailrace.lake.paths import Lake
from tailrace.lake.place import LocalPlace, Place


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock."""

    pid: int
    host: str
    command: str
    since: str


@contextmanager
def partition_lock(lake: Lake, table: str, partition: str, command: str) -> Iterator[None]:
    """Hold the partition for the length of the block, or say at once who does."""
    place, name = lake.meta("locks", table, partition), f"partition {table}.{partition}"
    with _held(place, name, command):
        yield


def _held(place: Place, name: str, command: str) -> AbstractContextManager[None]:
    if isinstance(place, LocalPlace):
        return local_lock(place.path / "lock", name, command)
    from tailrace.lake.lease import leased
    from tailrace.lake.object_place import ObjectPlace

    assert isinstance(place, ObjectPlace)
    return leased(place, name, _holder(command))


def _holder(command: str) -> Holder:
    return Holder(os.getpid(), socket.gethostname(), command, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")


@contextmanager
def local_lock(path: Path, name: str, command: str) -> Iterator[None]:
    """Hold something of this machine, by a file that is there for nothing else."""
    handle = _acquire(path, name)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, msgspec.json.encode(_holder(command)), 0)
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
    try:
        holder = msgspec.json.decode(content, type=Holder)
        by = f"process {holder.pid} on {holder.host} (`{holder.command}`) since {holder.since}"
    except msgspec.DecodeError:
        by = "another process"
    return LockedError(f"{name} is held by {by}", where=where, hint=hint)
