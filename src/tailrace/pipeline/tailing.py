"""One local file in a task: read from its beginning, or on from where an earlier reading ended."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import BinaryIO

from tailrace.core import Artifact, Format, Resume
from tailrace.formats.archives import RECORD
from tailrace.formats.base import Growing, Stream
from tailrace.formats.continuing import continues
from tailrace.formats.stream import Pairs, Streams, alone, is_plain, open_streams, open_text
from tailrace.pipeline.fingerprint import ReadAt, Trace, span_of, verified
from tailrace.pipeline.job import Mark
from tailrace.sources.file import version_of

QUIET = 1.0
"Seconds in which a file that is read for the first time must not grow, if its last line has no end."
SETTLED = 600.0
"Seconds after which the last line of a growing file is taken as it is."
_CHECKED = 4 * 1024


class Changed(Exception):
    """The file is not the one that was listed, or was written anew while it was read: a later run looks again."""


def reader(raw: BinaryIO) -> ReadAt:
    """Reads anywhere in an open file."""

    def read_at(offset: int, size: int) -> bytes:
        raw.seek(offset)
        parts: list[bytes] = []
        while size > 0 and (part := raw.read(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    return read_at


class FileReading:
    """What a task does with one file, and what has to be remembered of it."""

    def __init__(self, raw: BinaryIO, artifact: Artifact, fmt: Format) -> None:
        self._raw, self._artifact, self._format = raw, artifact, fmt
        self._read_at = reader(raw)
        self._began = os.fstat(raw.fileno())
        if str(self._began.st_ino) != artifact.node:
            # Rotated since it was listed: under its other name the same file would be read a second time.
            raise Changed
        self._trace = Trace()
        self._growing: Growing | None = None
        self._edge = b""
        "The last bytes before the place where reading begins."
        self.base = 0 if artifact.resume is None else artifact.resume.offset
        "What has to be added to the positions of records."

    def streams(self) -> Streams:
        """The streams of the file; where it is read on, what lies behind the offset."""
        resume = self._artifact.resume
        if resume is None:
            fresh = open_streams(self._raw, self._artifact.location, self._trace.feed)
            return Streams(self._fresh(fresh), fresh.surplus)
        if not is_plain(self._read_at(0, RECORD), self._artifact.location):
            self._raw.seek(0)
            packed = open_streams(self._raw, self._artifact.location)
            return Streams(self._behind(packed, resume), packed.surplus)
        trace = verified(self._read_at, resume.fingerprint)
        if trace is None:
            raise Changed
        self._trace = trace
        self._edge = (trace.before(self.base) or b"")[-_CHECKED:]
        self._raw.seek(self.base)
        self._growing = Growing(open_text(self._raw, trace.feed), self._is_settled, resume.ruling)
        return Streams(alone(self._growing))

    def mark(self) -> Mark:
        """Once everything was read."""
        self._check()
        ended = os.fstat(self._raw.fileno())
        as_listed = version_of(ended) == version_of(self._began)
        version = version_of(ended) if as_listed else self._artifact.version
        mark = Mark(str(ended.st_ino), version)
        grows = self._growing
        if grows is not None and grows.goes_on and self._trace.position:
            offset = self._trace.position if grows.rest is None else self.base + grows.rest
            mark.fingerprint = self._trace.fingerprint(offset)
            if mark.fingerprint is not None:
                mark.offset, mark.ruling = offset, grows.ruling
                mark.lines = self._trace.lines(offset, grows.ruling)
                return mark
        if as_listed:
            read = self._trace if self._trace.position == ended.st_size else None
            whole = read or Trace.begun(self._read_at, ended.st_size)
            mark.fingerprint = whole.fingerprint(ended.st_size) if whole else None
        return mark

    def _fresh(self, streams: Streams) -> Pairs:
        for member, stream in streams:
            plain = member is None and is_plain(self._trace.head[:RECORD], self._artifact.location)
            if plain and continues(self._format):
                self._growing = Growing(stream, self._is_quiet)
                yield None, self._growing
            else:
                yield member, stream
        return streams.truncated

    def _behind(self, streams: Streams, resume: Resume) -> Pairs:
        """Compressed since then: what was read before is passed over, if it is the same."""
        for member, stream in streams:
            if member is not None:
                raise Changed
            yield None, Growing(_Behind(stream, resume), lambda: True, resume.ruling)
        return streams.truncated

    def _is_quiet(self) -> bool:
        status = os.fstat(self._raw.fileno())
        age = time.time() - status.st_mtime
        if not self._trace.ends_line and 0 <= age < QUIET:
            time.sleep(QUIET - age)
            status = os.fstat(self._raw.fileno())
        return status.st_size == self._trace.position

    def _is_settled(self) -> bool:
        status = os.fstat(self._raw.fileno())
        return status.st_size == self._trace.position and time.time() - status.st_mtime >= SETTLED

    def _check(self) -> None:
        """A file that was emptied and filled again meanwhile gave a mixture of both; one only emptied did not."""
        head = self._trace.head[:_CHECKED]
        same = self._read_at(0, len(head)) == head
        same = same and self._read_at(self.base - len(self._edge), len(self._edge)) == self._edge
        if not same and os.fstat(self._raw.fileno()).st_size >= self._trace.position:
            raise Changed


class _Behind:
    """A stream without its first bytes, which have to be those of a fingerprint."""

    def __init__(self, stream: Stream, resume: Resume) -> None:
        self._stream, self._resume = stream, resume

    @property
    def truncated(self) -> bool:
        return self._stream.truncated

    def __iter__(self) -> Iterator[bytes]:
        span = span_of(self._resume.fingerprint)
        trace = Trace()
        for block in self._stream:
            passed = max(min(span - trace.position, len(block)), 0)
            if trace.position < span:
                trace.feed(block[:passed])
                if trace.position == span and trace.fingerprint(span) != self._resume.fingerprint:
                    raise Changed
            if passed < len(block):
                yield block[passed:]
        if trace.position < span:
            raise Changed
