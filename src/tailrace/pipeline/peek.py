"""A look into a local file before it is planned: how it begins, as it is stored and as a text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import BinaryIO

from tailrace.core import SourceError
from tailrace.formats.archives import RECORD
from tailrace.formats.base import CorruptStream
from tailrace.formats.feed import BLOCK
from tailrace.formats.stream import is_plain, open_streams
from tailrace.pipeline.fingerprint import LEAD, span_of, verified, verified_stream
from tailrace.pipeline.plan import Wanted
from tailrace.pipeline.tailing import reader
from tailrace.sources import Source

_AROUND = 64 * 1024


class Peek:
    """One open file."""

    def __init__(self, raw: BinaryIO, item: Wanted) -> None:
        self._raw, self._location, self._listed = raw, item.artifact.location, item.artifact.size
        self.read_at = reader(raw)
        self.size = os.fstat(raw.fileno()).st_size
        self.is_plain = is_plain(self.read_at(0, RECORD), self._location)
        self.is_whole = True
        "Of a compressed one, once it was read: did it end as it should?"
        self.text_size = 0
        "Once it was read."

    @property
    def shrank(self) -> bool:
        """Since it was listed."""
        return self.size < self._listed

    @cached_property
    def head(self) -> bytes:
        """The first bytes of its text."""
        return self.read_at(0, LEAD) if self.is_plain else next(self._text(), b"")[:LEAD]

    def begins_with(self, fingerprint: str, *, whole: bool) -> bool:
        """As it is stored; `whole`: and ends there."""
        span = span_of(fingerprint)
        fits = self.size == span if whole else self.size >= span
        return fits and verified(self.read_at, fingerprint) is not None

    def text_begins_with(self, fingerprint: str) -> bool:
        """Decompressed, if need be."""
        if self.is_plain:
            return self.begins_with(fingerprint, whole=False)
        return verified_stream(self._text(), fingerprint)

    def text_ends_before(self, span: int) -> bool:
        """Has it fewer bytes than that?"""
        if self.is_plain:
            return self.size < span
        size = 0
        for block in self._text():
            size += len(block)
            if size >= span:
                return False
        return True

    def around(self, offset: int) -> tuple[bytes, bytes]:
        """The byte before an offset, and some behind it."""
        return self.read_at(offset - 1, 1), self.read_at(offset, _AROUND)

    def text_around(self, offset: int) -> tuple[bytes, bytes]:
        """The same of its text."""
        if self.is_plain:
            return self.around(offset)
        position, last = 0, b""
        for block in self._text():
            if position + len(block) > offset:
                at = offset - position
                return (last + block[:at])[-1:], block[at : at + _AROUND]
            position, last = position + len(block), block[-1:]
        return last, b""

    def is_beginning_of(self, other: Peek) -> bool:
        """Has the other file's text all of this one's at its beginning?"""
        self.text_size = 0
        for block in self._text():
            if other.read_at(self.text_size, len(block)) != block:
                return False
            self.text_size += len(block)
        return True

    def _text(self) -> Iterator[bytes]:
        """Its text in blocks, up to where it is broken; nothing of an archive."""
        if self.is_plain:
            at = 0
            while block := self.read_at(at, BLOCK):
                at += len(block)
                yield block
            return
        self._raw.seek(0)
        streams = open_streams(self._raw, self._location)
        try:
            for member, stream in streams:
                if member is not None:
                    return
                yield from stream
            self.is_whole = not streams.truncated
        except CorruptStream:
            self.is_whole = False


class Peeks:
    """Opens the files of a listing."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources

    @contextmanager
    def open(self, item: Wanted) -> Iterator[Peek | None]:
        """None: it cannot be opened, or another file has taken its place; whoever reads it will tell."""
        try:
            raw = self._sources[item.source].open(item.artifact)
        except SourceError:
            yield None
            return
        with raw:
            try:
                peek = Peek(raw, item) if str(os.fstat(raw.fileno()).st_ino) == item.artifact.node else None
            except (SourceError, CorruptStream):
                peek = None
            yield peek
