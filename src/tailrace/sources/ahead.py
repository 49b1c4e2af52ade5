"""Artifacts of one task in their order; small ones that come over a network are fetched before their turn."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO, Protocol, runtime_checkable

from tailrace.core import Artifact
from tailrace.sources.base import Source

SMALL = 1024 * 1024
_MOST_BYTES = 16 * 1024 * 1024
"What may lie waiting in a task."


@runtime_checkable
class Fetches(Protocol):
    """A source whose small artifacts are worth fetching side by side: their time is the server's answer."""

    @property
    def requests_at_once(self) -> int: ...

    def fetch(self, artifact: Artifact) -> BinaryIO:
        """The artifact as a whole."""
        ...


class Ahead:
    """Opens artifacts by number, mostly in order."""

    def __init__(self, sources: Sequence[Source], artifacts: Sequence[Artifact], numbers: Sequence[int]) -> None:
        self._sources, self._artifacts, self._numbers = sources, artifacts, numbers
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: dict[int, Future[BinaryIO]] = {}
        self._bytes = 0
        self._next = 0

    def open(self, number: int) -> BinaryIO:
        """The artifact's bytes; SourceError as the source raises it."""
        self._fetch_from(number)
        fetched = self._waiting.pop(number, None)
        if fetched is None:
            return self._sources[self._numbers[number]].open(self._artifacts[number])
        self._bytes -= self._artifacts[number].size
        return fetched.result()

    def close(self) -> None:
        """Lets go of what was not asked for."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _fetch_from(self, number: int) -> None:
        self._next = max(self._next, number)
        while self._next < len(self._artifacts):
            artifact, source = self._artifacts[self._next], self._sources[self._numbers[self._next]]
            if isinstance(source, Fetches) and artifact.size <= SMALL:
                if len(self._waiting) >= source.requests_at_once or self._bytes + artifact.size > _MOST_BYTES:
                    return
                self._pool = self._pool or ThreadPoolExecutor(source.requests_at_once, thread_name_prefix="fetch")
                self._waiting[self._next] = self._pool.submit(source.fetch, artifact)
                self._bytes += artifact.size
            self._next += 1
