"""Segments of the spool on disk: numbered, appended to while open, never changed once closed."""

from __future__ import annotations

import mmap
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from tailrace.lake.steps import reached
from tailrace.streams.records import MAGIC, Identity, Record, scan

OPEN, CLOSED, BATCHES = ".open", ".segment", ".batches"
RESERVED, IDENTITY = "reserved", "identity"
_DIGITS = 16
_AHEAD = 1000


def path_of(spool: Path, number: int, suffix: str) -> Path:
    return spool / f"{number:0{_DIGITS}d}{suffix}"


def numbers(spool: Path, suffix: str) -> list[int]:
    """Of the segments that end like this, in order."""
    if not spool.is_dir():
        return []
    found = (name.removesuffix(suffix) for name in os.listdir(spool) if name.endswith(suffix))
    return sorted(int(name) for name in found if name.isdigit())


def read(path: Path) -> Iterator[Record]:
    """The records of a segment; their bodies are copies, so that the file may go."""
    data = _mapped(path)
    for _, record in scan(data):
        yield record


def sync_directory(path: Path) -> None:
    """What was created, renamed or removed in it outlives a power failure."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def close(spool: Path, number: int, identities: list[tuple[bytes, int, Identity]]) -> None:
    """The open segment, already on disk, gets its final name; what was in it is noted for those that send again."""
    if identities:
        _note_batches(spool, number, identities)
    reached("segment-synced")
    if path_of(spool, number, OPEN).exists():  # else it was renamed before, and only the directory failed
        os.rename(path_of(spool, number, OPEN), path_of(spool, number, CLOSED))
    reached("segment-renamed")
    sync_directory(spool)


def recover(spool: Path) -> int:
    """Cuts torn tails and closes what a process left open; the highest number in use.

    A spool that is new begins with the time: whatever came from one that was thrown away has lower numbers.
    """
    spool.mkdir(parents=True, exist_ok=True)
    for number in numbers(spool, OPEN):
        path = path_of(spool, number, OPEN)
        end, held = _good_end(path)
        if not held:
            path.unlink()
            continue
        with open(path, "r+b") as file:
            file.truncate(end)
            os.fsync(file.fileno())
        reached("tail-cut")
        close(spool, number, [(r.key, r.received_at, one) for r in held for one in r.identities])
    sync_directory(spool)
    return max((*numbers(spool, CLOSED), _reserved(spool))) or time.time_ns() // 1_000_000


def reserve(spool: Path, number: int) -> None:
    """No number up to a while from here is ever given again, also when its segment has long been stored and deleted."""
    if number <= _reserved(spool):
        return
    temporary = spool / f"{RESERVED}.new"
    with open(temporary, "w") as file:
        file.write(str(number + _AHEAD))
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, spool / RESERVED)


def identity_of(spool: Path) -> str:
    """What a spool is known by: two of them never have the same, on whatever machines."""
    path = spool / IDENTITY
    if not path.exists():
        spool.mkdir(parents=True, exist_ok=True)
        replace(path, uuid.uuid4().hex.encode())
    return path.read_text()


def replace(path: Path, data: bytes, step: str | None = None) -> None:
    """All of it or nothing, also when the power fails."""
    temporary = path.with_name(f"{path.name}.new")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if step is not None:
        reached(step)
    os.rename(temporary, path)
    sync_directory(path.parent)


def _reserved(spool: Path) -> int:
    try:
        return int((spool / RESERVED).read_text())
    except FileNotFoundError:
        return 0


def _good_end(path: Path) -> tuple[int, list[Record]]:
    end, held = len(MAGIC), []
    for position, record in scan(_mapped(path)):
        end = position
        held.append(record)
    return end, held


def _mapped(path: Path) -> memoryview:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)) if size else memoryview(b"")


def _note_batches(spool: Path, number: int, identities: list[tuple[bytes, int, Identity]]) -> None:
    packed = b"".join(
        key + received_at.to_bytes(8) + one.batch_id.to_bytes(8) + one.content for key, received_at, one in identities
    )
    path = path_of(spool, number, BATCHES)
    with open(path, "wb") as file:
        file.write(packed)
        file.flush()
        os.fsync(file.fileno())


def noted_batches(spool: Path, number: int) -> Iterator[tuple[bytes, int, Identity]]:
    """Key, arrival and identity of the batches of a segment, also of one that is gone."""
    data = path_of(spool, number, BATCHES).read_bytes()
    for at in range(0, len(data) - 31, 32):
        part = data[at : at + 32]
        yield part[:8], int.from_bytes(part[8:16]), Identity(int.from_bytes(part[16:24]), part[24:])
