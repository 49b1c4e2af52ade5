"""Files sorted as a whole beside everything else: the sorted ones are put in their places by whoever publishes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.streams.sink_files import FileKey, FileState, FileWriter

if TYPE_CHECKING:
    import duckdb

_PATIENCE = 5.0
"Seconds that one who cancels waits."
_BYTES, _FILES = 256 << 20, 1000
"What one thread sorts, at the most, unless a single file is larger: it takes as much of the disk meanwhile."


class Sealing(threading.Thread):
    """Reads published files and writes temporary ones, and changes nothing else.

    A file that is renewed or deleted meanwhile is another one: what was made of it is thrown away.
    """

    def __init__(
        self, writer: FileWriter, due: Sequence[tuple[FileKey, FileState]], temporary: Callable[[], Path]
    ) -> None:
        super().__init__(name="sealing", daemon=True)
        taken, size = 0, 0
        for _, old in due[:_FILES]:
            size += old.size
            if taken and size > _BYTES:
                break
            taken += 1
        self.has_more = taken < len(due)
        self.done: list[tuple[FileKey, FileState, Path, Exception | None]] = []
        self._writer = writer
        self._files = [(key, old, temporary()) for key, old in due[:taken]]
        self._is_cancelled = False
        self._engine: duckdb.DuckDBPyConnection | None = None

    def cancel(self) -> None:
        """Nobody wants what is not sorted yet; a sort under way ends as soon as it can."""
        self._is_cancelled = True
        if self._engine is not None:
            self._engine.interrupt()
        self.join(_PATIENCE)

    def run(self) -> None:
        import duckdb

        for key, old, temporary in self._files:
            error: Exception | None = None
            try:
                with duckdb.connect() as self._engine:
                    if self._is_cancelled:
                        break
                    self._writer.seal(key, old, temporary, self._engine)
            except Exception as failure:  # whatever it is, it is told, and holds up nothing else
                error = failure
            finally:
                self._engine = None
            self.done.append((key, old, temporary, error))
