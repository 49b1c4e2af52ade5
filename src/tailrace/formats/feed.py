"""Blocks of bytes on their way from layer to layer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import BinaryIO

BLOCK = 4 * 1024 * 1024
"The largest block that any layer hands on."
_ENOUGH = 1024 * 1024

Blocks = Generator[bytes, None, bool]
"Yields blocks and returns whether the data was cut off before its own end."


class Feed:
    """A stream whose next bytes can be looked at before they are taken."""

    def __init__(self, blocks: Blocks) -> None:
        self.truncated = False
        self.taken = 0
        self._blocks = blocks
        self._block = b""
        self._at = 0
        self._ended = False
        self._error: Exception | None = None

    @classmethod
    def failed(cls, error: Exception) -> Feed:
        """A stream that only says what is wrong with it."""
        feed = cls(_nothing())
        feed._error = error
        return feed

    def __iter__(self) -> Iterator[bytes]:
        while block := self.take(BLOCK):
            yield block

    def peek(self, size: int) -> bytes:
        """The next bytes, fewer than `size` only at the end; meant for headers, not for data."""
        while len(self._block) - self._at < size:
            block = self._next()
            if not block:
                break
            self._block, self._at = self._block[self._at :] + block, 0
        return self._block[self._at : self._at + size]

    def take(self, size: int) -> bytes:
        """At most `size` of the next bytes; nothing only at the end."""
        if self._at == len(self._block):
            self._block, self._at = self._next(), 0
        if self._at == 0 and len(self._block) <= size:
            block, self._block = self._block, b""
        else:
            block = self._block[self._at : self._at + size]
            self._at += len(block)
        self.taken += len(block)
        return block

    def _next(self) -> bytes:
        # A generator that has raised is over and would look like a clean end: remember what it said.
        if self._error:
            raise self._error
        while not self._ended:
            try:
                block = next(self._blocks)
            except StopIteration as end:
                self._ended, self.truncated = True, bool(end.value)
            except Exception as error:
                self._error = error
                raise
            else:
                if block:
                    return block
        return b""


class Once:
    """A stream of one piece."""

    truncated = False

    def __init__(self, piece: bytes) -> None:
        self.piece = piece

    def __iter__(self) -> Iterator[bytes]:
        yield self.piece


def _nothing() -> Blocks:
    yield b""
    return False


def read_blocks(raw: BinaryIO, seen: Callable[[bytes], None] | None = None) -> Blocks:
    """A file's bytes as they are; `seen` is shown each block."""
    while block := raw.read(BLOCK):
        if seen is not None:
            seen(block)
        yield block
    return False


def gathered(blocks: Blocks) -> Blocks:
    """Many small blocks (members of a few lines each) as fewer that are worth an engine's while."""
    parts: list[bytes] = []
    size = 0
    while True:
        try:
            block = next(blocks)
        except StopIteration as end:
            if parts:
                yield b"".join(parts)
            return bool(end.value)
        if parts and size + len(block) > BLOCK:
            yield b"".join(parts)
            parts, size = [], 0
        parts.append(block)
        size += len(block)
        if size >= _ENOUGH:
            yield parts[0] if len(parts) == 1 else b"".join(parts)
            parts, size = [], 0
