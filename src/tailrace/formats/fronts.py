"""What shippers put before each line: the time at which it came, mostly, where the log has a time of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec
import numpy as np

from tailrace.formats.base import Batch, Stream
from tailrace.formats.lines import LineBlock
from tailrace.formats.outside import BEFORE
from tailrace.formats.sniffing import Again

_TIME = rb"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s{]*|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)"
_HOST = rb"[A-Za-z0-9][\w.-]{0,254} "
_BEFORE_OBJECT = re.compile(rb'(?m)^((?:<\d{1,3}>(?:1 )?)?%s[^{}"\n]{0,256}|%s)\{(?=")' % (_TIME, _HOST))
"Of containers and clusters, of syslog, and of CloudWatch's exports, before a JSON object."
EXPORTED = re.compile(rb"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (?=\S)")
"Of CloudWatch's exports, before a line of any kind."
_LONGEST = 16 * 1024 * 1024


class Bare:
    """A stream of lines of which what stands before each is taken away, or put elsewhere."""

    def __init__(self, stream: Stream, front: re.Pattern[bytes], instead: Callable[[re.Match[bytes]], bytes]) -> None:
        self.stream = stream
        self._front = front
        self._instead = instead

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
                yield self._front.sub(self._instead, block[:end])
            rest = block[end:]
        if rest:
            yield self._front.sub(self._instead, rest)


def exported(stream: Stream) -> Stream:
    """Lines of any kind without the time that CloudWatch's exports put before them."""
    return Bare(stream, EXPORTED, lambda _: b"")


def objects(stream: Stream) -> Stream:
    """JSON documents; where the first has something before it, that is a member of each that has."""
    whole = Again(stream)
    return Bare(whole, _BEFORE_OBJECT, _as_member) if has_fronts(whole) else whole


def has_fronts(stream: Again) -> bool:
    """Does something stand before its first JSON object?"""
    return _BEFORE_OBJECT.match(stream.head().lstrip()) is not None


def moved_in(block: LineBlock) -> LineBlock:
    """The same lines, at the same places of the stream: what stands before an object is a member of it."""
    places = zip(block.starts.tolist(), block.ends.tolist(), strict=True)
    lines = [_BEFORE_OBJECT.sub(_as_member, block.buffer[start:end]) for start, end in places]
    sizes = np.array([len(line) + 1 for line in lines], np.int64)
    ends = np.cumsum(sizes) - 1
    originals = {n: _BEFORE_OBJECT.sub(_as_member, line) for n, line in block.originals.items()}
    return replace(block, buffer=b"\n".join(lines), starts=ends + 1 - sizes, ends=ends, originals=originals)


def as_sent(batch: Batch, block: LineBlock) -> Batch:
    """The batch, whose refused records, now or later, are those of the block before anything was moved in it."""
    moved = batch.raw

    def raw(row: int) -> bytes:
        line = _line_at(block, int(batch.positions[row]))
        return moved(row) if line is None else block.raw(line)

    lines = [(refused, _line_at(block, refused.position)) for refused in batch.bad]
    bad = [refused if line is None else block.refuse(line, refused.reason) for refused, line in lines]
    return replace(batch, raw=raw, bad=bad)


def _line_at(block: LineBlock, position: int) -> int | None:
    line = int(np.searchsorted(block.positions, position))
    return line if line < len(block) and block.positions[line] == position else None


def _as_member(found: re.Match[bytes]) -> bytes:
    front = msgspec.json.encode(found[1].decode(errors="replace").strip())
    return b'{"%s":%s,' % (BEFORE.encode(), front)
