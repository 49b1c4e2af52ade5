"""Compressed bytes → bytes, whatever the size, one block at a time."""

from __future__ import annotations

import bz2
import lzma
from collections.abc import Callable
from typing import IO, Protocol, cast

import zstandard
from isal import igzip_lib

from tailrace.formats.base import Bomb, CorruptStream
from tailrace.formats.feed import BLOCK, Blocks, Feed
from tailrace.formats.surplus import Surplus, other_bytes
from tailrace.formats.zstd_frames import ZstdFrames

PIECE = 256 * 1024
"How much compressed data is handed to a decompressor at once."
_MEMORY_LIMIT = 128 * 1024 * 1024
"The window that a compressed file may ask for, as in the zstd and xz tools."
_BOMB_SIZE = 1024 * 1024 * 1024
_BOMB_RATIO = 500
"Deflate cannot do better than 1,030; lines with a time in each come to 100 at most."

_SKIPPABLE = tuple(bytes([0x50 + i, 0x2A, 0x4D, 0x18]) for i in range(16))
_BZ2_BLOCKS = (b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90")
MAGIC: dict[str, tuple[bytes, ...]] = {
    "gzip": (b"\x1f\x8b\x08",),
    "zstd": (b"\x28\xb5\x2f\xfd", *_SKIPPABLE),
    "bz2": tuple(b"BZh%d" % level + block for level in range(1, 10) for block in _BZ2_BLOCKS),
    "xz": (b"\xfd7zXZ\x00",),
    "zip": (b"PK\x03\x04", b"PK\x05\x06"),
}
_NO_READER = {
    b"\x04\x22\x4d\x18": "lz4",
    b"\x1f\x9d": "compress (.Z)",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "rar",
    b"PK\x07\x08": "split zip",
    b"LZIP\x01": "lzip",
}
_SUFFIXES = {
    "gzip": (".gz", ".tgz"),
    "zstd": (".zst", ".zstd", ".tzst"),
    "bz2": (".bz2", ".tbz2", ".tbz"),
    "xz": (".xz", ".txz"),
}
LONGEST_MAGIC = 10


def compression(head: bytes, name: str) -> str | None:
    """What the first bytes are compressed with. The name counts only where the magic itself was cut off."""
    for kind, magics in MAGIC.items():
        if head.startswith(magics):
            return kind
        named = name.lower().endswith(_SUFFIXES.get(kind, ()))
        if head and named and any(magic.startswith(head) for magic in magics):
            return kind
    for magic, other in _NO_READER.items():
        if head.startswith(magic):
            raise CorruptStream(f"{other}: this compression is not supported")
    return None


def decompressed(feed: Feed, kind: str, surplus: Surplus) -> Blocks:
    """Blocks of the given compression (not zip, which is an archive); `surplus` is told what follows its end.

    A checksum has proved what stands before other bytes: it is whole, whatever they are.
    """
    if kind == "zstd":
        return _zstd(feed, surplus)
    return _members(feed, kind, _DECOMPRESSORS[kind], surplus)


class _Member(Protocol):
    """The interface that bz2, lzma and isal share; its memory is bounded by `max_length`."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def _gzip_member() -> _Member:
    member: _Member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    return member


_DECOMPRESSORS: dict[str, Callable[[], _Member]] = {
    "gzip": _gzip_member,
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY_LIMIT),
}
_LIBRARY_ERROR = cast(type[Exception], igzip_lib.error)
_ERRORS: tuple[type[Exception], ...] = (_LIBRARY_ERROR, lzma.LZMAError, OSError, EOFError, ValueError)


def _members(feed: Feed, kind: str, new_member: Callable[[], _Member], surplus: Surplus) -> Blocks:
    data = feed.take(PIECE)
    while data:
        member = new_member()
        while not member.eof:
            if member.needs_input and not data:
                data = feed.take(PIECE)
                if not data:
                    return True
            try:
                block = member.decompress(data, BLOCK)
            except _ERRORS as error:
                raise CorruptStream(f"{kind}: {error}") from None
            data = b""
            if block:
                yield block
        data = _after_padding(feed, member.unused_data)
        if data and not any(data.startswith(magic) or magic.startswith(data) for magic in MAGIC[kind]):
            surplus(other_bytes(feed, data, kind))
            break
    return feed.truncated


def _after_padding(feed: Feed, data: bytes) -> bytes:
    data = data.lstrip(b"\0")
    while len(data) < LONGEST_MAGIC and (more := feed.take(PIECE)):
        data = (data + more).lstrip(b"\0") if not data else data + more
    return data


def _zstd(feed: Feed, surplus: Surplus) -> Blocks:
    frames = ZstdFrames(feed, PIECE, surplus)
    # The library cannot tell a cut from an end, so the frames are counted on their way in.
    reader = zstandard.ZstdDecompressor(max_window_size=_MEMORY_LIMIT).stream_reader(
        cast(IO[bytes], frames), read_size=PIECE, read_across_frames=True
    )
    while True:
        try:
            block = reader.read(BLOCK)
        except zstandard.ZstdError as error:
            raise CorruptStream(f"zstd: {error}") from None
        if not block:
            return feed.truncated or not frames.complete
        yield block


class BombGuard:
    """Refuses output that is out of all proportion to the bytes stored, in all layers and members of an artifact."""

    def __init__(self, stored: Callable[[], int]) -> None:
        self._stored = stored
        self._made = 0

    def checked(self, blocks: Blocks) -> Blocks:
        """The same blocks, counted."""
        while True:
            try:
                block = next(blocks)
            except StopIteration as end:
                return bool(end.value)
            self._made += len(block)
            if self._made > _BOMB_SIZE and self._made > _BOMB_RATIO * self._stored():
                raise Bomb(f"bomb: more than {_BOMB_RATIO} bytes for each byte stored")
            yield block
