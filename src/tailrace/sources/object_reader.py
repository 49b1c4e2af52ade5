"""The bytes of an object: block by block, taken up again where a connection broke."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tailrace.clouds.errors import source_error
from tailrace.clouds.etags import strong
from tailrace.core import Artifact, SourceError
from tailrace.sources.base import IO

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import ObjectStore

BLOCK = 4 * 1024 * 1024
_TRIES = 6
_LONGEST_PAUSE = 8.0
Block = bytes | memoryview


class ObjectReader(io.RawIOBase):
    """Reads one version of an object: what it holds when the first byte comes.

    A break costs the bytes that were under way: the rest is asked for by range, if the object is still the same.
    Tries are counted anew whenever bytes have come.
    """

    def __init__(self, store: ObjectStore, key: str, listed: Artifact) -> None:
        super().__init__()
        self._store, self._key, self._listed, self._location = store, key, listed, listed.location
        self._taken = 0
        self._size: int | None = None
        self._etag: str | None = None
        self._blocks: Iterator[bytes] | None = None
        self._block = memoryview(b"")
        self._tries = 0
        # Denied and missing objects are told when they are opened.
        self._connect()

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(BLOCK), b""))
        if not self._block:
            self._block = memoryview(self._next())
        piece, self._block = self._block[:size], self._block[size:]
        return bytes(piece)

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def _next(self) -> bytes:
        while True:
            if self._size is not None and self._taken >= self._size:
                return b""
            block = self._received()
            if block:
                self._taken += len(block)
                self._tries = 0
                if self._size is not None and self._taken > self._size:
                    raise self._broken(f"gave more than its {self._size:,} bytes")
                return block
            self._pause(f"ended after {self._taken:,} of {self._size:,} bytes")
            self._connect()

    def _received(self) -> bytes:
        """The next bytes; none when the connection broke or ended."""
        if self._blocks is None:
            return b""
        try:
            return next(self._blocks, b"")
        except Exception:
            return b""

    def _connect(self) -> None:
        import obstore
        from obstore.exceptions import PreconditionError

        options: GetOptions = {}
        if self._taken:
            options = {"range": {"offset": self._taken}}
            if self._etag:
                options["if_match"] = self._etag
        while True:
            try:
                found = obstore.get(self._store, self._key, options=options)
                break
            except PreconditionError:
                raise self._broken("changed while it was read") from None
            except Exception as error:
                failure = source_error(error, self._location)
                if failure.code != IO:
                    raise failure from None
                self._pause(failure.message, failure)
        self._blocks = iter(found.stream(min_chunk_size=BLOCK))
        if self._size is None:
            self._size, self._etag = found.meta["size"], strong(found.meta["e_tag"])
            if (self._etag or "").strip('"') == self._listed.version:
                self._size = self._listed.size  # an answer may be cut short and say nothing of it
        elif strong(found.meta["e_tag"]) != self._etag:
            raise self._broken("changed while it was read")

    def _pause(self, problem: str, failure: SourceError | None = None) -> None:
        self._tries += 1
        self._blocks = None
        if self._tries >= _TRIES:
            raise failure or self._broken(problem)
        time.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.1 * 2**self._tries)))

    def _broken(self, problem: str) -> SourceError:
        return SourceError(problem, code=IO, where=self._location)
