"""What one process has found out about a table, for the next: a file in the cache directory, mapped into memory.

    {"about": …, "parts": {"path": [0, 812, …, "text"], …}}   a line of JSON: where a part begins, its size, sum, kind
    …                                                         the parts, one after the other

A part is an array of numbers as this machine holds them, or any bytes. Nothing but Python is needed to read it. Its sum
is looked at whenever it is read: after a loss of power a file may hold zeros, and wrong bounds would hide rows.
"""

from __future__ import annotations

import json
import mmap
import os
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from tailrace.core.directories import cache_directory
from tailrace.core.errors import LakeError
from tailrace.lake.place import Place

KINDS = ("snapshots", "footers")
"What is kept of a table."
UNUSED = 30 * 24 * 3600.0
"Seconds after which something that was kept is thrown away."
NUMBERS, REALS = "q", "d"
"Of eight bytes each, as Python's arrays call them."
_SUFFIX = ".kept"
Placed = tuple[int, int, int, str]
"Where a part begins, its bytes, their sum, and what they are."


class KeptDamaged(LakeError):
    """A file that looked whole and is not. It is deleted: whoever asks again reads the log."""

    code = "lake.cache"


class Part(NamedTuple):
    """Bytes, and what they are."""

    kind: str
    content: bytes | memoryview


class Kept:
    """A file that was kept."""

    def __init__(self, path: Path, content: mmap.mmap, about: Any, parts: Mapping[str, Placed]) -> None:
        self.path = path
        self.about = about
        self.kinds = {name: part[-1] for name, part in parts.items()}
        self._content = content
        self._parts = parts

    @classmethod
    def load(cls, path: Path) -> Kept | None:
        """None where there is none, or none that is whole."""
        with suppress(OSError, ValueError, LookupError, TypeError):
            with open(path, "rb") as file:
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            end = content.find(b"\n") + 1
            told = json.loads(content[:end])
            parts = {
                name: (end + start, size, total, str(kind))
                for name, (start, size, total, kind) in told["parts"].items()
            }
            if max((start + size for start, size, *_ in parts.values()), default=end) == len(content):
                return cls(path, content, told["about"], parts)
        return None

    def read(self, name: str) -> bytes:
        """One part, whole; an error where it is not."""
        start, size, total, _ = self._parts[name]
        found = self._content[start : start + size]
        if crc32(found) != total:
            raise self.damaged()
        return found

    def numbers(self, name: str, kind: str = NUMBERS) -> list[Any]:
        """One part as numbers."""
        found: array[Any] = array(kind)
        found.frombytes(self.read(name))
        return found.tolist()

    def damaged(self) -> KeptDamaged:
        """The error to be raised, after which there is no such file."""
        with suppress(OSError):
            os.unlink(self.path)
        hint = "ask again: it has been deleted, and is made anew"
        return KeptDamaged("what was kept of a table is damaged", where=str(self.path), hint=hint)


class Texts(Sequence[str]):
    """Texts one after the other, and where each begins and ends; decoded when looked at."""

    def __init__(self, ends: Sequence[int], content: bytes) -> None:
        self.ends, self.content = ends, content
        self.plain = content.decode() if content.isascii() else None
        "Where characters are bytes."

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, place: Any) -> Any:
        start, end = self.ends[place], self.ends[place + 1]
        return self.content[start:end].decode() if self.plain is None else self.plain[start:end]

    def __iter__(self) -> Iterator[str]:
        if self.plain is not None:
            text = self.plain
            return (text[start:end] for start, end in pairwise(self.ends))
        return (self.content[start:end].decode() for start, end in pairwise(self.ends))


def place_of(root: Place, kind: str) -> Path:
    """One file a table, wherever the lake lies."""
    return cache_directory() / kind / f"{sha256(root.uri.encode()).hexdigest()[:32]}{_SUFFIX}"


def forget_kept(root: Place) -> None:
    """Values of rows that are deleted for good may be among what is kept: statistics, ends of files."""
    for kind in KINDS:
        place_of(root, kind).unlink(missing_ok=True)


def keep(path: Path, about: object, parts: Mapping[str, Part]) -> None:
    """For the next process; where the directory takes nothing, that one looks for itself."""
    places: dict[str, Placed] = {}
    end = 0
    for name, part in parts.items():
        size = memoryview(part.content).nbytes
        places[name] = (end, size, crc32(part.content), part.kind)
        end += size
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _forget_unused(path.parent)
        # A name of its own: another thread may be keeping the same.
        staged = path.with_name(f"{path.name}.{os.urandom(8).hex()}.tmp")
        try:
            with open(staged, "wb") as out:
                out.write(json.dumps({"about": about, "parts": places}).encode() + b"\n")
                for part in parts.values():
                    out.write(part.content)
            os.replace(staged, path)
        finally:
            staged.unlink(missing_ok=True)


def numbers(values: Sequence[int]) -> bytes:
    """As `Kept.numbers` reads them."""
    return array(NUMBERS, values).tobytes()


def _forget_unused(directory: Path) -> None:
    limit = time.time() - UNUSED
    for entry in os.scandir(directory):
        with suppress(FileNotFoundError):
            if entry.stat().st_mtime < limit:
                os.unlink(entry.path)
