"""How far tasks have come, for whoever watches: a few numbers per task in a file that it overwrites.

Only made where somebody watches. Tasks on other machines do not see the directory, and write nothing.
"""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tailrace.pipeline.job import Job, Unit

EVERY = 0.25
"Seconds."
_NUMBERS = struct.Struct("<4q")


@dataclass(frozen=True, slots=True)
class Note:
    """What tasks have read that is not committed yet."""

    artifacts: int = 0
    bytes: int = 0
    rows: int = 0
    bad: int = 0


class TaskNotes:
    """The side of the task."""

    def __init__(self, job: Job, unit: Unit) -> None:
        self._handle = -1
        self._due = time.monotonic()
        self._artifacts = self._bytes = self._rows = self._bad = 0
        self._raw: BinaryIO | None = None
        if job.notes is not None:
            with suppress(OSError):
                self._handle = os.open(Path(job.notes, _name(job, unit)), os.O_WRONLY | os.O_CREAT, 0o600)

    def opened(self, raw: BinaryIO) -> None:
        self._raw = raw

    def read(self, rows: int, bad: int) -> None:
        """More of the artifact that was opened last."""
        self._rows += rows
        self._bad += bad
        if self._handle >= 0 and time.monotonic() >= self._due:
            self._write()

    def over(self, size: int) -> None:
        """An artifact has been read to its end."""
        self._raw = None
        self._artifacts += 1
        self._bytes += size
        if self._handle >= 0 and time.monotonic() >= self._due:
            self._write()

    def close(self) -> None:
        if self._handle >= 0:
            self._write()
            os.close(self._handle)
            self._handle = -1

    def _write(self) -> None:
        self._due = time.monotonic() + EVERY
        position = 0
        with suppress(OSError, ValueError):  # not every stream knows where it is
            position = self._raw.tell() if self._raw is not None else 0
        with suppress(OSError):
            os.pwrite(self._handle, _NUMBERS.pack(self._artifacts, self._bytes + position, self._rows, self._bad), 0)


def note_of(directory: Path, run: str) -> Note:
    """The sum of all tasks of a run."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(directory):
            if entry.name.startswith(f"{run}-"):
                with suppress(OSError, struct.error):
                    found.append(_NUMBERS.unpack(Path(entry.path).read_bytes()))
    return Note(*map(sum, zip(*found, strict=True))) if found else Note()


def forget(job: Job, unit: Unit) -> None:
    """What it has read is committed, or given up."""
    if job.notes is not None:
        Path(job.notes, _name(job, unit)).unlink(missing_ok=True)


def _name(job: Job, unit: Unit) -> str:
    return f"{job.run}-{unit.number}-{unit.attempt}"
