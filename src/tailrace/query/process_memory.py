"""Memory of a process that runs SQL of strangers: DuckDB counts its blocks, and not what one function makes at a go."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_MAPPED = Path("/proc/self/statm")
_SPARE = 1 << 30
"Bytes beside DuckDB's: what Arrow and Python reserve, most of which is never touched."
_PER_CORE = 160 << 20
"Bytes that a thread and its heap reserve."
_UNITS = {"byte": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


class _Bound:
    """Of this process, while statements run in it."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.statements = 0
        self.before = resource.RLIM_INFINITY

    def begin(self, more: int) -> None:
        """A statement that may take so much more than there is now."""
        with self.turn:
            now, hard = resource.getrlimit(resource.RLIMIT_AS)
            if not self.statements:
                self.before, now = now, 0
            self.statements += 1
            mapped = int(_MAPPED.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            given = [one for one in (self.before, hard) if one != resource.RLIM_INFINITY]
            resource.setrlimit(resource.RLIMIT_AS, (min([max(now, mapped + more), *given]), hard))

    def end(self) -> None:
        """One that has ended; the last one leaves the process as it was."""
        with self.turn:
            self.statements -= 1
            if not self.statements:
                _, hard = resource.getrlimit(resource.RLIMIT_AS)
                resource.setrlimit(resource.RLIMIT_AS, (self.before, hard))


_bound = _Bound()


@contextmanager
def bounded(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """The process may grow by what DuckDB may take and some more; beyond that who asks is told that there is none.

    For processes that do nothing else meanwhile. Where the system does not tell how large one is, it has no bound.
    """
    if not _MAPPED.exists():
        yield
        return
    _bound.begin(_limit(connection) + _SPARE + _PER_CORE * (os.cpu_count() or 1))
    try:
        yield
    finally:
        _bound.end()


def _limit(connection: duckdb.DuckDBPyConnection) -> int:
    ((told,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    number, _, unit = str(told).partition(" ")
    return int(float(number) * _UNITS[unit])
