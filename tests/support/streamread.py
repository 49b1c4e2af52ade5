"""Bytes that come out of compressed streams and archives."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from typing import BinaryIO, cast

import zstandard

from tailrace.formats.feed import BLOCK
from tailrace.formats.stream import open_streams

TEXT = b"".join(b"line %d of some log %d\n" % (i, i * 7919) for i in range(20_000))
CODECS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


class Dribble(io.RawIOBase):
    """A file that cannot seek and gives as many bytes at a time as it likes."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._data, self._sizes, self._at, self._turn = data, sizes, 0, 0

    def read(self, size: int | None = -1, /) -> bytes:
        step = self._sizes[self._turn % len(self._sizes)]
        self._turn += 1
        block = self._data[self._at : self._at + min(step, size or step)]
        self._at += len(block)
        return block


def read(data: bytes, name: str = "x", sizes: list[int] | None = None) -> tuple[dict[str | None, bytes], bool]:
    raw = Dribble(data, sizes) if sizes else io.BytesIO(data)
    streams = open_streams(cast(BinaryIO, raw), name)
    found = {}
    for member, stream in streams:
        blocks = list(stream)
        assert all(0 < len(block) <= BLOCK for block in blocks)
        found[member] = b"".join(blocks)
        assert streams.truncated is False
    return found, streams.truncated


def one(data: bytes, name: str = "x", sizes: list[int] | None = None) -> tuple[bytes, bool]:
    found, truncated = read(data, name, sizes)
    assert list(found) == [None]
    return found[None], truncated


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()
