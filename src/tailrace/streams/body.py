"""The body of a record as a stream that engines of formats read."""

from __future__ import annotations

from collections.abc import Iterator


class Body:
    """All bytes in one block."""

    truncated = False

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __iter__(self) -> Iterator[bytes]:
        return iter((self.data,))
