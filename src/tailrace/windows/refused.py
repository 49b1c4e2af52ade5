"""Records that an import takes into no table: they are written as they come, and show with the tables.

The file carries the name of the partition. Where an import dies, the next one gives the file its name if the partition
is there, and takes it away if not: the records are then told by the import that is done again.
"""

from __future__ import annotations

import base64
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from tailrace.core.written import room_for
from tailrace.formats.base import Bad
from tailrace.lake.place import STAGED, LocalPlace
from tailrace.windows.files import list_partition, new_name

REFUSED = "_refused"
"Directory beside the tables: records that are in none of them, with the reason."
_UUID = len("00000000-0000-0000-0000-000000000000")


class RefusedFile:
    """What one import refuses; without any there is no file."""

    def __init__(self, base: LocalPlace, part_id: str) -> None:
        self._base, self._path = base, (base / REFUSED).path / new_name(part_id).replace(".parquet", ".jsonl")
        self._file: BinaryIO | None = None
        self.count = 0

    def add(self, path: str, bad: Bad) -> None:
        raw = base64.b64encode(bad.raw).decode()
        line = msgspec.json.encode({"file": path, "reason": bad.reason, "length": bad.length, "raw": raw})
        with room_for(self._path):
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = _locked(_staged(self._path))
            self._file.write(line + b"\n")
        self.count += 1

    def keep(self) -> None:
        """Nothing is added any more."""
        if self._file is not None:
            with room_for(self._path):
                self._file.flush()
                os.fsync(self._file.fileno())

    def show(self) -> None:
        if self._file is not None:
            os.replace(_staged(self._path), self._path)

    def close(self) -> None:
        """What does not show is not wanted, unless the import was stopped when its tables did."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            _settle(self._base, _staged(self._path))


@contextmanager
def refused_file(base: LocalPlace, part_id: str) -> Iterator[RefusedFile]:
    """That of an import into a new partition."""
    # Those of imports that died.
    for path in (base / REFUSED).path.glob(f"*{STAGED}"):
        _settle(base, path)
    file = RefusedFile(base, part_id)
    try:
        yield file
    finally:
        file.close()


def _locked(path: Path) -> BinaryIO:
    while True:
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644), "wb")
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another import saw it before it was locked, and took it away


def _settle(base: LocalPlace, path: Path) -> None:
    """A file whose import is over. Those of imports under way are locked."""
    with suppress(FileNotFoundError, BlockingIOError), open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        final = path.with_suffix("")
        if any(list_partition(base, "logs", final.stem[-_UUID:])):
            os.replace(path, final)
        else:
            path.unlink()


def _staged(path: Path) -> Path:
    return path.with_name(path.name + STAGED)
