"""Archives member by member. Names are labels only: nothing is written to a path that an archive names."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from tailrace.formats.base import CorruptStream
from tailrace.formats.feed import BLOCK, Blocks, Feed

RECORD = 512
_HEADER_LIMIT = 1024 * 1024
"Long names and extended headers are read whole; none is ever this long."
_MOST_DIGITS = 19
"Of a size in an extended header; Python refuses to read numbers of thousands."
_NO_DATA = b"123456"
_FILES = b"0\x007"
_EXTENSIONS = b"LKxg"
_BROKEN_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)


def is_tar(head: bytes) -> bool:
    """Is this record a tar header, by its own checksum?"""
    if len(head) < RECORD:
        return False
    stored = head[148:156].strip(b" \0")
    if not stored.isdigit() or len(stored) < 3:
        return False
    try:
        return int(stored, 8) == sum(head) - sum(head[148:156]) + 8 * ord(" ")
    except ValueError:
        return False


class Tar:
    """Members of a tar stream; each has to be read before the next one is asked for."""

    def __init__(self, feed: Feed) -> None:
        self.truncated = False
        self._feed = feed
        self._left = 0
        self._padding = 0

    def __iter__(self) -> Iterator[tuple[str, Feed]]:
        said: dict[bytes, bytes] = {}
        while header := self._header():
            kind = header[156]
            size = 0 if kind in _NO_DATA else _number(header[124:136])
            if kind not in _EXTENSIONS and said.get(b"size", b"").isdigit():
                size = _decimal(said[b"size"])
            self._left, self._padding = size, -size % RECORD
            if kind in _EXTENSIONS:
                said |= _extended(kind, self._small())
                self._skip_rest()
                continue
            if kind == ord("S") or any(key.startswith(b"GNU.sparse") for key in said):
                raise CorruptStream("tar: sparse members are not supported")
            name = said.get(b"path") or _name(header)
            if kind in _FILES and not name.endswith(b"/"):
                yield name.decode("utf-8", "backslashreplace"), Feed(self._body())
            self._skip_rest()
            said = {}
        self.truncated = self.truncated or self._feed.truncated

    def _header(self) -> bytes:
        """The next header; records of zeros, which end an archive, may be followed by a further one."""
        while header := self._feed.peek(RECORD):
            self._feed.take(len(header))
            if len(header) < RECORD:
                self.truncated = self.truncated or bool(header.strip(b"\0"))
                return b""
            if is_tar(header):
                return header
            if header.strip(b"\0"):
                raise CorruptStream("tar: a header is damaged")
        return b""

    def _body(self) -> Blocks:
        while self._left:
            block = self._feed.take(min(self._left, BLOCK))
            if not block:
                self.truncated = True
                self._left = self._padding = 0
                return True
            self._left -= len(block)
            yield block
        return False

    def _small(self) -> bytes:
        if self._left > _HEADER_LIMIT:
            raise CorruptStream("tar: an extended header is too large")
        return b"".join(self._body())

    def _skip_rest(self) -> None:
        for _ in self._body():
            pass
        while self._padding and (block := self._feed.take(self._padding)):
            self._padding -= len(block)


def _extended(kind: int, data: bytes) -> dict[bytes, bytes]:
    if kind == ord("L"):
        return {b"path": data.rstrip(b"\0")}
    found: dict[bytes, bytes] = {}
    while kind != ord("K") and data:
        digits, _, _ = data.partition(b" ")
        length = _decimal(digits)
        if not 0 < length <= len(data):
            raise CorruptStream("tar: an extended header is damaged")
        key, _, value = data[len(digits) + 1 : length - 1].partition(b"=")
        found[key], data = value, data[length:]
    return found


def _decimal(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > _MOST_DIGITS:
        raise CorruptStream("tar: an extended header is damaged")
    return int(digits)


def _name(header: bytes) -> bytes:
    name = header[:100].partition(b"\0")[0]
    prefix = header[345:500].partition(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _number(text: bytes) -> int:
    if text[0] & 0x80:
        return int.from_bytes(bytes([text[0] & 0x7F]) + text[1:], "big")
    try:
        return int(text.strip(b" \0") or b"0", 8)
    except ValueError:
        raise CorruptStream("tar: a header is damaged") from None


def zip_members(file: BinaryIO) -> Iterator[tuple[str, Feed]]:
    """Members of a zip file in the order of its directory; a broken one raises when it is read, alone."""
    try:
        archive = zipfile.ZipFile(file)
    except (*_BROKEN_ZIP, OSError) as error:
        raise CorruptStream(f"zip: {error or 'damaged'}") from None
    for member in archive.infolist():
        if not member.is_dir():
            yield member.filename, Feed(_zip_member(archive, member))


def _zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Blocks:
    if member.flag_bits & 0x1:
        raise CorruptStream("zip: the member is encrypted")
    # zipfile decompresses the other methods without a bound on memory.
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise CorruptStream(f"zip: compression method {member.compress_type} is not supported")
    try:
        with archive.open(member) as body:
            while block := body.read(BLOCK):
                yield block
    except (*_BROKEN_ZIP, OSError) as error:
        raise CorruptStream(f"zip: {error or 'the member is damaged'}") from None
    return False
