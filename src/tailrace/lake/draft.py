"""Files that are being written."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol


class Draft(Protocol):
    """A file that is being written, by its path on this machine's disk."""

    @property
    def path(self) -> str: ...

    def size(self) -> int:
        """Bytes so far."""
        ...

    def close(self) -> int:
        """It is written to the end; returns its size. It may still be on its way: see `wait`."""
        ...

    def wait(self) -> None:
        """Returns when the file is where it belongs, whole; raises when it cannot be brought there."""
        ...

    def discard(self) -> None:
        """It is not wanted: nothing of it stays, whether it was closed or not."""
        ...


@dataclass(frozen=True, slots=True)
class LocalDraft:
    """Written where it belongs: nobody looks at it before a commit names it."""

    path: str

    def size(self) -> int:
        return os.stat(self.path).st_size

    def close(self) -> int:
        return self.size()

    def wait(self) -> None:
        return

    def discard(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path)
