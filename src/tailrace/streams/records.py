"""What lies in the spool: records of bytes as they arrived, each with a checksum and what is known of its origin."""

from __future__ import annotations

import functools
import hashlib
import ipaddress
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isal import isal_zlib

MAGIC = b"TRSPOOL1"
"How a segment begins."
FRAMES, EVENT_LINES, LOG_LINES, SNAPSHOT_LINES, SYSLOG, OTLP_PROTO, OTLP_JSON, OVERSIZE, PULLED = range(1, 10)
"""Kinds of bodies. Frames and syslog messages stand behind their length, the latter behind their sender as well;
`OVERSIZE` is a message of syslog that is longer than allowed, `PULLED` are lines of what a service was asked for."""
_FRONT = struct.Struct("<II")
_ABOUT = struct.Struct("<BBHQQ16s8sI")
_IDENTITY = struct.Struct("<Q8s")
IPV4_PREFIX = bytes(10) + b"\xff\xff"


@dataclass(frozen=True, slots=True)
class Identity:
    """What a client calls a batch, and what was in it: both equal means that it was sent again."""

    batch_id: int
    content: bytes

    @classmethod
    def of(cls, batch_id: int, body: bytes | memoryview) -> Identity:
        return cls(batch_id, hashlib.blake2b(body, digest_size=8).digest())


@dataclass(frozen=True, slots=True)
class Record:
    """One request, or the frames of one read."""

    kind: int
    workspace: int
    received_at: int
    "Milliseconds since 1970; every rule about time goes by it."
    source_ip: bytes
    listener: str
    body: bytes | memoryview
    key: bytes = bytes(8)
    "Begins the digest of the API key; zero = there was none."
    identities: tuple[Identity, ...] = ()
    layout: int = 0
    "What events of frames look like: 0 = each tells by itself, else the version."

    def packed(self) -> bytes:
        """As it stands in a segment."""
        name = self.listener.encode()
        sizes = (len(name), len(self.identities))
        about = _ABOUT.pack(
            self.kind, self.layout, sizes[0], self.workspace, self.received_at, self.source_ip, self.key, sizes[1]
        )
        identities = b"".join(_IDENTITY.pack(one.batch_id, one.content) for one in self.identities)
        rest = b"".join((about, name, identities, self.body))
        return _FRONT.pack(len(rest), isal_zlib.crc32(rest)) + rest


def unpacked(data: memoryview) -> Record:
    """A record without its length and checksum."""
    kind, layout, name_size, workspace, received_at, ip, key, count = _ABOUT.unpack_from(data)
    at = _ABOUT.size
    name = bytes(data[at : at + name_size]).decode()
    at += name_size
    identities = tuple(Identity(*_IDENTITY.unpack_from(data, at + n * _IDENTITY.size)) for n in range(count))
    body = data[at + count * _IDENTITY.size :]
    return Record(kind, workspace, received_at, ip, name, body, key, identities, layout)


def scan(data: memoryview) -> Iterator[tuple[int, Record]]:
    """Records of a segment, each with the position where it ends; over at the first that is not whole."""
    if bytes(data[: len(MAGIC)]) != MAGIC:
        return
    at = len(MAGIC)
    while at + _FRONT.size <= len(data):
        size, checksum = _FRONT.unpack_from(data, at)
        start, end = at + _FRONT.size, at + _FRONT.size + size
        if size < _ABOUT.size or end > len(data) or isal_zlib.crc32(data[start:end]) != checksum:
            return
        yield end, unpacked(data[start:end])
        at = end


def framed(messages: Sequence[bytes | memoryview]) -> bytes:
    """Messages behind their lengths, big end first: as they come over TCP."""
    return b"".join(part for message in messages for part in (len(message).to_bytes(4), message))


@functools.lru_cache(4096)
def address(text: str) -> bytes:
    """An address as sixteen bytes, those of IPv4 mapped; all zero where it is none."""
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return bytes(16)
    return IPV4_PREFIX + found.packed if found.version == 4 else found.packed
