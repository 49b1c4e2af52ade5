"""Avro's object container files: header, and blocks between sync markers."""

from __future__ import annotations

import binascii
import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import zstandard

from tailrace.formats.base import CorruptStream
from tailrace.formats.byte_window import ByteWindow
from tailrace.formats.protobuf_wire import varint

MAGIC = b"Obj\x01"
LARGEST = 64 * 1024 * 1024
"A block with more bytes, before or after decompression, is not read."
_SYNC = 16
_LONGEST = 10
_ENTRIES = 10_000
_HEADER = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Header:
    """What stands at the beginning of a file."""

    schema: bytes
    codec: str
    sync: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """Records of a file that stand together; with a reason, bytes that cannot be read."""

    count: int
    raw: bytes
    length: int
    reason: str | None = None


def read_header(window: ByteWindow) -> Header:
    """Raises CorruptStream when the file is none."""
    if window.take(len(MAGIC)) != MAGIC:
        raise CorruptStream("avro: not an object container file")
    entries: dict[str, bytes] = {}
    while count := _long(window):
        if count < 0:
            count = -count
            _long(window)
        if count > _ENTRIES:
            raise CorruptStream("avro: the header cannot be read")
        for _ in range(count):
            key = _text(window)
            entries[key.decode(errors="replace")] = _text(window)
    sync = window.take(_SYNC)
    if len(sync) < _SYNC or "avro.schema" not in entries:
        raise CorruptStream("avro: the header ends too early")
    codec = entries.get("avro.codec", b"null").decode(errors="replace")
    if codec not in _CODECS:
        raise CorruptStream(f"avro: unknown codec '{codec[:40]}'")
    return Header(entries["avro.schema"], codec, sync)


def read_blocks(window: ByteWindow, header: Header) -> Iterator[Block]:
    """Blocks in order; after one that is broken, reading goes on behind the next sync marker."""
    decompress = _CODECS[header.codec]
    while window.peek(1):
        try:
            count, size = _long(window), _long(window)
        except CorruptStream:
            count = size = -1
        if count < 0 or not 0 <= size <= LARGEST:
            yield _lost(window, header.sync, b"", "avro: not a block")
            continue
        raw = window.take(size)
        if len(raw) < size or len(window.peek(_SYNC)) < _SYNC:
            yield Block(0, raw, len(raw), "avro: the block is cut off")
            return
        if window.peek(_SYNC) != header.sync:
            yield _lost(window, header.sync, raw, "avro: the block does not end where it says")
            continue
        window.take(_SYNC)
        try:
            yield Block(count, decompress(raw), size)
        except (
            ValueError,
            OSError,
            EOFError,
            zlib.error,
            lzma.LZMAError,
            zstandard.ZstdError,
            pa.ArrowException,
        ) as error:
            yield Block(0, raw, size, f"avro: {header.codec}: {error}")


def _lost(window: ByteWindow, sync: bytes, raw: bytes, reason: str) -> Block:
    """Everything up to the next sync marker."""
    length = len(raw)
    while True:
        held = window.peek(LARGEST // 16)
        found = held.find(sync)
        if found >= 0:
            window.take(found + _SYNC)
            return Block(0, raw or held[:found], length + found, reason)
        passed = window.take(max(len(held) - _SYNC + 1, 1) if len(held) > _SYNC else len(held))
        raw = raw or passed
        length += len(passed)
        if not window.peek(_SYNC):
            return Block(0, raw, length, reason)


def _long(window: ByteWindow) -> int:
    head = window.peek(_LONGEST)
    value, after = varint(head, 0, len(head))
    if after < 0:
        raise CorruptStream("avro: a number ends too early")
    window.take(after)
    return (value >> 1) ^ -(value & 1)


def _text(window: ByteWindow) -> bytes:
    size = _long(window)
    if not 0 <= size <= _HEADER:
        raise CorruptStream("avro: the header cannot be read")
    found = window.take(size)
    if len(found) < size:
        raise CorruptStream("avro: the header ends too early")
    return found


def _fits(data: bytes) -> bytes:
    if len(data) > LARGEST:
        raise ValueError(f"more than {LARGEST} bytes")
    return data


def _deflate(raw: bytes) -> bytes:
    return _fits(zlib.decompressobj(-15).decompress(raw, LARGEST + 1))


def _snappy(raw: bytes) -> bytes:
    body, check = raw[:-4], int.from_bytes(raw[-4:], "big")
    size, after = varint(body, 0, min(len(body), _LONGEST))
    if after < 0 or size > LARGEST:
        raise ValueError(f"more than {LARGEST} bytes")
    data: bytes = pa.Codec("snappy").decompress(body, size, asbytes=True)
    if binascii.crc32(data) != check:
        raise ValueError("wrong checksum")
    return data


def _zstandard(raw: bytes) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as reader:
        return _fits(reader.read(LARGEST + 1))


_CODECS: dict[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": _deflate,
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": lambda raw: _fits(bz2.BZ2Decompressor().decompress(raw, LARGEST + 1)),
    "xz": lambda raw: _fits(lzma.LZMADecompressor().decompress(raw, LARGEST + 1)),
}
