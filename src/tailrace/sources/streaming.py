"""A generator of bytes as a file: what it yields is read once, and closing it ends the generator."""

from __future__ import annotations

import io
from collections.abc import Generator
from typing import BinaryIO, cast

LINE_ENDS_TO_BLANKS = bytes.maketrans(b"\r\n", b"  ")


def streamed(blocks: Generator[bytes]) -> BinaryIO:
    """The bytes as something to read from; at most one block is held."""
    return cast(BinaryIO, _Streamed(blocks))


def as_line(message: bytes) -> bytes:
    """A message with a line end. Those inside an object of JSON stand between values, and become blanks."""
    message = message.rstrip(b"\r\n")
    if message[:1] == b"{" and (b"\n" in message or b"\r" in message):
        message = message.translate(LINE_ENDS_TO_BLANKS)
    return message + b"\n"


class _Streamed(io.RawIOBase):
    def __init__(self, blocks: Generator[bytes]) -> None:
        self._blocks = blocks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return self.readall()
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return b""
            self._rest = memoryview(block)
        taken, self._rest = self._rest[:size], self._rest[size:]
        return bytes(taken)

    def readall(self) -> bytes:
        rest, self._rest = bytes(self._rest), memoryview(b"")
        return rest + b"".join(self._blocks)

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        block = self.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        if not self.closed:
            self._blocks.close()
        super().close()
