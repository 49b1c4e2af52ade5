"""Where zstd frames begin and end, read off their headers as the bytes pass by."""

from __future__ import annotations

from tailrace.formats.feed import Feed
from tailrace.formats.surplus import Surplus, other_bytes

_FRAME = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"
_DICTIONARY_ID_BYTES = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES = (0, 2, 4, 8)
_RLE = 1


class ZstdFrames:
    """A file of frames alone: zero padding after the last one is dropped, `surplus` is told of other bytes."""

    def __init__(self, feed: Feed, piece: int, surplus: Surplus) -> None:
        self._feed = feed
        self._surplus = surplus
        self._piece = piece
        self._held = b""
        "The beginning of a header whose end has not come yet."
        self._skip = 0
        "Bytes left of the part whose header was read."
        self._in_frame = False
        self._checksum = 0

    @property
    def complete(self) -> bool:
        """Did the bytes so far end where a frame ends?"""
        return not (self._in_frame or self._held or self._skip)

    def read(self, _size: int = -1) -> bytes:
        data = self._feed.take(self._piece)
        seen, at = self._held + data, self._skip
        while at < len(seen):
            if not self._in_frame and not _may_begin(seen[at : at + 4]):
                self._after(seen[at:])
                self._held, self._skip = b"", 0
                return data[: len(data) - (len(seen) - at)]
            length = self._part(seen[at : at + 8])
            if length is None:
                break
            at += length
        self._held, self._skip = seen[at:], max(0, at - len(seen))
        return data

    def _part(self, head: bytes) -> int | None:
        """Length of the header and body that begin here; None when more of the header is needed."""
        if self._in_frame:
            return self._block(head) if len(head) >= 3 else None
        if head[1:4] == _SKIPPABLE:
            return 8 + int.from_bytes(head[4:8], "little") if len(head) == 8 else None
        if len(head) < 5:
            return None
        descriptor = head[4]
        single_segment = descriptor >> 5 & 1
        content_size = _CONTENT_SIZE_BYTES[descriptor >> 6] or single_segment
        self._in_frame, self._checksum = True, 4 * (descriptor >> 2 & 1)
        return 5 + (1 - single_segment) + _DICTIONARY_ID_BYTES[descriptor & 3] + content_size

    def _block(self, head: bytes) -> int:
        header = int.from_bytes(head[:3], "little")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        if last:
            self._in_frame = False
        return 3 + (1 if kind == _RLE else size) + (self._checksum if last else 0)

    def _after(self, rest: bytes) -> None:
        """What follows the last frame."""
        while rest and not (rest := rest.lstrip(b"\0")):
            rest = self._feed.take(self._piece)
        if rest:
            self._surplus(other_bytes(self._feed, rest, "zstd"))


def _may_begin(head: bytes) -> bool:
    """Can a frame begin so, as far as it is there?"""
    return _FRAME.startswith(head) or (head[0] >> 4 == 5 and _SKIPPABLE.startswith(head[1:]))
