"""What shippers put before each line: the time at which it came, mostly, where the log has a time of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tailrace.formats.base import Stream
from tailrace.formats.sniffing import Again

_TIME = rb"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s{]*|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)"
_HOST = rb"[A-Za-z0-9][\w.-]{0,254} "
BEFORE_OBJECT = re.compile(rb'(?m)^(?:(?:<\d{1,3}>(?:1 )?)?%s[^{}"\n]{0,256}|%s)(?=\{")' % (_TIME, _HOST))
"Of containers and clusters, of syslog, and of CloudWatch's exports, before a JSON object."
EXPORTED = re.compile(rb"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (?=\S)")
"Of CloudWatch's exports, before a line of any kind."
_LONGEST = 16 * 1024 * 1024


class Bare:
    """A stream of lines without what stands before each of them; with blanks instead, places stay what they are."""

    def __init__(self, stream: Stream, front: re.Pattern[bytes], *, blanks: bool) -> None:
        self.stream = stream
        self._front = front
        self._blanks = blanks

    @property
    def truncated(self) -> bool:
        return self.stream.truncated

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        for block in self.stream:
            block = rest + block
            end = block.rfind(b"\n") + 1
            if not end and len(block) > _LONGEST:
                end = len(block)
            if end:
                yield self._bare(block[:end])
            rest = block[end:]
        if rest:
            yield self._bare(rest)

    def _bare(self, lines: bytes) -> bytes:
        return self._front.sub(self._instead, lines)

    def _instead(self, front: re.Match[bytes]) -> bytes:
        return b" " * len(front[0]) if self._blanks else b""


def objects(stream: Stream) -> Stream:
    """The stream; where its first line has something before its JSON, with blanks for that in all lines."""
    whole = Again(stream)
    return Bare(whole, BEFORE_OBJECT, blanks=True) if BEFORE_OBJECT.match(whole.head().lstrip()) else whole
