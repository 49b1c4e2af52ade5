"""Bytes after the end of compressed data that are no part of it."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.formats.base import RAW_LIMIT, Bad
from tailrace.formats.feed import Feed

Surplus = Callable[[Bad], None]
"Is told what follows the end of compressed data."
_PIECE = 256 * 1024


def other_bytes(feed: Feed, data: bytes, kind: str) -> Bad:
    """What is left of a stream, of which `data` was taken already: its beginning and its length."""
    head, length = data[:RAW_LIMIT], len(data)
    while data := feed.take(_PIECE):
        head += data[: RAW_LIMIT - len(head)]
        length += len(data)
    return Bad(-1, head, length, f"{kind}: other bytes after the end of the compressed data")
