"""Streams of XML → the bytes of each record, without parsing what stands around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tailrace.formats.base import RAW_LIMIT, Stream

LARGEST = 16 * 1024 * 1024
"A record with more bytes is not held."
_HEAD = 1024
_TAG = re.compile(rb"""<[^<>"']*(?:"[^"<]*"[^<>"']*|'[^'<]*'[^<>"']*)*>""")
_OPAQUE = {b"<!--": b"-->", b"<![CDATA[": b"]]>"}
"Inside these a tag is no tag."


@dataclass(frozen=True, slots=True)
class Piece:
    """A record, or with a reason what is none."""

    position: int
    raw: bytes
    length: int
    reason: str | None = None


class Cutter:
    """Finds elements of one name. They do not stand inside one another: a second start means the first has no end."""

    def __init__(self, name: str) -> None:
        tag = rb"(?:[\w.-]+:)?%s" % re.escape(name.encode())
        self._marks = re.compile(rb"<!--|<!\[CDATA\[|<%s(?=[\s/>])[^<>]*(>?)|</%s\s*>" % (tag, tag))
        self.head = b""
        "How the stream begins."
        self.fresh = False
        "Did the last piece end a block?"
        self._buffer = b""
        self._offset = 0
        "Where the buffer begins in the stream."
        self._at = 0
        "Up to here all marks have been seen."
        self._start: int | None = None
        "Where an open record begins."
        self._done = 0
        "Up to here everything has been told."

    def cut(self, stream: Stream) -> Iterator[Piece]:
        """Records and what is none, in order."""
        for block in stream:
            self._drop()
            self._buffer += block
            self.head = self.head or self._buffer[:_HEAD]
            yield from self._last_apart(self._pieces(final=False))
            if len(self._buffer) - self._done > LARGEST:
                yield from self._give_up()
        yield from self._pieces(final=True)
        yield from self._rest()

    def _last_apart(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        before: Piece | None = None
        for piece in pieces:
            if before is not None:
                yield before
            before = piece
        if before is not None:
            self.fresh = True
            yield before
            self.fresh = False

    def _pieces(self, final: bool) -> Iterator[Piece]:
        while True:
            mark = self._marks.search(self._buffer, self._at)
            if mark is None:
                if not final:  # the last bytes may be the beginning of a mark
                    self._at = max(self._at, self._buffer.rfind(b"<", self._at), len(self._buffer) - 16)
                return
            text = mark[0]
            closing = _OPAQUE.get(text)
            if closing is not None:
                end = self._buffer.find(closing, mark.end())
                if end < 0:
                    self._at = len(self._buffer) if final else mark.start()
                    return
                self._at = end + len(closing)
                continue
            if text.startswith(b"</"):
                self._at = mark.end()
                if self._start is not None:
                    yield self._ended(mark.end())
                continue
            if not mark[1] and not final:  # the tag itself is not all here
                self._at = mark.start()
                return
            yield from self._between(mark.start())
            self._start = mark.start()
            self._at = mark.end()
            if text.endswith(b"/>"):
                yield self._ended(mark.end())

    def _ended(self, end: int) -> Piece:
        assert self._start is not None
        raw = self._buffer[self._start : end]
        piece = Piece(self._offset + self._start, raw, len(raw))
        self._start, self._done = None, end
        return piece

    def _between(self, end: int) -> Iterator[Piece]:
        """What stands before a record: a record without its end, or text that belongs to none."""
        raw = self._buffer[self._done : end]
        if self._start is not None:
            yield Piece(self._offset + self._start, raw[:RAW_LIMIT], len(raw), "xml: the record has no end")
        elif _loose(raw):
            at = len(raw) - len(raw.lstrip())
            yield Piece(self._offset + self._done + at, raw.strip()[:RAW_LIMIT], len(raw.strip()), "xml: not a record")
        self._start, self._done = None, end

    def _rest(self) -> Iterator[Piece]:
        yield from self._between(len(self._buffer))

    def _give_up(self) -> Iterator[Piece]:
        """Too much without a record that ends: what is held is told and forgotten."""
        raw = self._buffer[self._done :]
        yield Piece(
            self._offset + self._done, raw[:RAW_LIMIT], len(raw), f"xml: more than {LARGEST} bytes without a record"
        )
        self._start, self._done, self._at = None, len(self._buffer), len(self._buffer)

    def _drop(self) -> None:
        keep = self._done
        self._buffer = self._buffer[keep:]
        self._offset += keep
        self._at = max(self._at - keep, 0)
        self._done = 0
        if self._start is not None:
            self._start -= keep


def _loose(raw: bytes) -> bytes:
    """What is left without markup; twice, because a document type holds declarations."""
    return _TAG.sub(b"", _TAG.sub(b"", _without_comments(raw))).strip()


def _without_comments(raw: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    while (start := raw.find(b"<!--", at)) >= 0 and (end := raw.find(b"-->", start)) >= 0:
        parts.append(raw[at:start])
        at = end + len(b"-->")
    return b"".join((*parts, raw[at:]))
