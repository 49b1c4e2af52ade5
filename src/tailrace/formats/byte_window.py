"""Binary formats take a stream apart by lengths: so many bytes, then so many."""

from __future__ import annotations

from tailrace.formats.base import Stream

_AT_ONCE = 1024 * 1024


class ByteWindow:
    """The bytes of a stream that are looked at."""

    def __init__(self, stream: Stream) -> None:
        self._blocks = iter(stream)
        self._buffer = bytearray()

    def peek(self, size: int) -> bytes:
        """The next bytes, fewer only at the end."""
        while len(self._buffer) < size:
            block = next(self._blocks, b"")
            if not block:
                break
            self._buffer += block
        return bytes(self._buffer[:size])

    def take(self, size: int) -> bytes:
        """The next bytes, which are passed."""
        found = self.peek(size)
        del self._buffer[: len(found)]
        return found

    def skip(self, size: int) -> int:
        """Passes over bytes without holding them; tells how many there were."""
        left = size
        while left:
            found = len(self.take(min(left, _AT_ONCE)))
            if not found:
                break
            left -= found
        return size - left
