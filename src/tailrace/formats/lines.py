"""Bytes → lines: blocks of whole lines with the offset of each, whatever the stream's own blocks are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tailrace.formats.base import RAW_LIMIT, Bad, Positions, Stream, growing

MAX_LINE_BYTES = 16 * 1024 * 1024
BLOCK_BYTES = 1024 * 1024
"A block is handed on once it holds this much: below 5 MB plus one line, as the stream's own are below 4."
MOST_LINES = 256 * 1024
_NEWLINE, _RETURN = 10, 13
_BLANKS = b" \t"
_IS_BLANK = np.isin(np.arange(256), list(_BLANKS))
Bytes = npt.NDArray[np.uint8]


@dataclass(slots=True)
class LineBlock:
    """Whole lines, one after another, as valid UTF-8."""

    buffer: bytes
    starts: Positions
    "Per line: index of its first byte in the buffer."
    ends: Positions
    "Per line: index after its last byte, line end not counted."
    positions: Positions
    "Per line: byte offset in the decompressed stream."
    bad: list[Bad] = field(default_factory=list)
    originals: dict[int, bytes] = field(default_factory=dict)
    "Lines that were not UTF-8: in the buffer U+FFFD stands for what could not be read, here are their bytes."

    def __len__(self) -> int:
        return len(self.starts)

    def raw(self, line: int) -> bytes:
        """The bytes of a line as they were sent, without the line end."""
        original = self.originals.get(line)
        return self.buffer[self.starts[line] : self.ends[line]] if original is None else original

    def narrowed(self, lines: Positions) -> LineBlock:
        """A block of these lines alone; `lines` ascend."""
        if not len(lines):
            return LineBlock(b"", lines, lines, lines)
        starts, ends = self.starts[lines], self.ends[lines]
        # Two bytes lie between neighbours at most, so whatever is longer was left out before.
        breaks = np.flatnonzero((np.diff(lines) != 1) | (starts[1:] - ends[:-1] > 2)) + 1
        firsts, lasts = np.r_[0, breaks], np.r_[breaks, len(lines)] - 1
        begins, stops = starts[firsts], ends[lasts]
        if len(lines) == len(self) and not len(breaks) and not begins[0] and len(self.buffer) - stops[0] <= 2:
            return replace(self, bad=[])
        runs = zip(begins.tolist(), stops.tolist(), strict=True)
        view = memoryview(self.buffer)
        buffer = b"".join([piece for start, end in runs for piece in (view[start:end], b"\n")])
        shifts = np.cumsum(stops - begins + 1) - (stops + 1)
        shift = np.repeat(shifts, lasts - firsts + 1)
        numbers = enumerate(lines.tolist()) if self.originals else ()
        originals = {new: self.originals[old] for new, old in numbers if old in self.originals}
        return LineBlock(buffer, starts + shift, ends + shift, self.positions[lines], [], originals)

    def refuse(self, line: int, reason: str) -> Bad:
        """The quarantine entry for a line."""
        raw = self.raw(line)
        return Bad(int(self.positions[line]), raw[:RAW_LIMIT], len(raw), reason)


def first_bytes(block: LineBlock) -> Bytes:
    """Of each line; of an empty one any."""
    data = np.frombuffer(block.buffer, np.uint8)
    return data.take(block.starts, mode="clip") if len(data) else np.zeros(len(block), np.uint8)


def blank_lines(block: LineBlock) -> npt.NDArray[np.bool_]:
    """Which lines hold nothing but blanks and tabs."""
    blank: npt.NDArray[np.bool_] = block.starts == block.ends
    suspected = np.flatnonzero(_IS_BLANK[first_bytes(block)] & ~blank)
    if len(suspected):
        data = np.frombuffer(block.buffer, np.uint8)
        suspected = suspected[_IS_BLANK[data[block.ends[suspected] - 1]]]
        blank[suspected] = [not block.raw(line).strip(_BLANKS) for line in suspected.tolist()]
    return blank


def merged(blocks: list[LineBlock]) -> LineBlock:
    """One block of the lines of several, each of which ends with a line end."""
    buffer = b"".join([block.buffer for block in blocks])
    shifts = np.cumsum([0, *(len(block.buffer) for block in blocks)])
    firsts = np.cumsum([0, *(len(block) for block in blocks)]).tolist()
    return LineBlock(
        buffer,
        np.concatenate([b.starts + shift for b, shift in zip(blocks, shifts, strict=False)]),
        np.concatenate([b.ends + shift for b, shift in zip(blocks, shifts, strict=False)]),
        np.concatenate([b.positions for b in blocks]),
        [bad for b in blocks for bad in b.bad],
        {first + n: raw for b, first in zip(blocks, firsts, strict=False) for n, raw in b.originals.items()},
    )


class _LongLine:
    """A line that is not held: its beginning, and how far it goes."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.head = b""
        self.length = 0
        self.last = b""

    def feed(self, piece: bytes) -> None:
        if piece:
            self.head += piece[: RAW_LIMIT - len(self.head)]
            self.length += len(piece)
            self.last = piece[-1:]

    def bad(self, limit: int, ended: bool) -> Bad:
        length = self.length - (ended and self.last == b"\r")
        return Bad(self.position, self.head, length, _too_long(limit))


def _too_long(limit: int) -> str:
    return f"line: longer than {limit} bytes"


def cut_lines(
    stream: Stream, max_line_bytes: int = MAX_LINE_BYTES, block_bytes: int = BLOCK_BYTES
) -> Iterator[LineBlock]:
    """All lines of a stream in order. What cannot be held or was cut off is in the blocks' `bad`."""
    pieces: list[bytes] = []
    held = whole = offset = 0  # bytes in pieces; of these, bytes up to the last line end; offset of pieces[0]
    long: _LongLine | None = None
    bad: list[Bad] = []
    for chunk in stream:
        if long is not None:
            end = chunk.find(b"\n")
            long.feed(chunk if end < 0 else chunk[:end])
            if end < 0:
                continue
            bad.append(long.bad(max_line_bytes, ended=True))
            offset = long.position + long.length + 1
            chunk, long = chunk[end + 1 :], None
        pieces.append(chunk)
        last = chunk.rfind(b"\n") + 1
        whole = held + last if last else whole
        held += len(chunk)
        if whole and held >= block_bytes:
            buffer, rest = _cut(pieces, whole)
            yield from _in_parts(_block(buffer, offset, max_line_bytes, bad))
            pieces, bad = [rest], []
            offset, held, whole = offset + whole, held - whole, 0
        if not whole and held > max_line_bytes + 1:  # one more: a \r at the end is not part of the line
            long = _LongLine(offset)
            for piece in pieces:
                long.feed(piece)
            pieces, held = [], 0
    grows = growing(stream)
    begun = long.position if long is not None else offset + whole
    is_left = grows is not None and (long is not None or held > whole) and grows.leaves(begun)
    if long is not None and not is_left:
        bad.append(long.bad(max_line_bytes, ended=False))
    buffer, tail = _cut(pieces, whole if stream.truncated or is_left else held)
    if tail and not is_left:
        bad.append(Bad(offset + whole, tail[:RAW_LIMIT], len(tail), "line: truncated"))
    if buffer or bad:
        yield from _in_parts(_block(buffer, offset, max_line_bytes, bad))


def _in_parts(block: LineBlock) -> Iterator[LineBlock]:
    """The block; where it is made of next to nothing but line ends, in parts that take no more memory than others."""
    if len(block) <= MOST_LINES:
        yield block
        return
    bad = block.bad
    for first in range(0, len(block), MOST_LINES):
        part = block.narrowed(np.arange(first, min(first + MOST_LINES, len(block))))
        part.bad, bad = bad, []
        yield part


def _cut(pieces: list[bytes], size: int) -> tuple[bytes, bytes]:
    """The first `size` bytes of all pieces together, and those after; each byte is copied once."""
    before: list[memoryview] = []
    after: list[memoryview] = []
    for chunk in pieces:
        piece = memoryview(chunk)
        before.append(piece[:size])
        after.append(piece[size:])
        size = max(size - len(piece), 0)
    return b"".join(before), b"".join(after)


def _block(buffer: bytes, offset: int, max_line_bytes: int, bad: list[Bad]) -> LineBlock:
    data = np.frombuffer(buffer, np.uint8)
    ends = _line_ends(data)
    starts = np.empty(len(ends) + 1, np.int64)
    starts[0] = 0
    np.add(ends, 1, out=starts[1:])
    if buffer.endswith(b"\n") or not buffer:
        starts = starts[:-1]
    if b"\r" in buffer and len(ends):
        returned = (ends > starts[: len(ends)]) & (data[ends - 1] == _RETURN)
        ends = ends - returned
    if len(ends) < len(starts):
        ends = np.append(ends, len(buffer))
    block = LineBlock(buffer, starts, ends, starts + offset, bad)
    if len(buffer) > max_line_bytes:
        block = _without_long(block, max_line_bytes)
    return block if _is_utf8(block.buffer) else _repaired(block)


def _line_ends(data: Bytes) -> Positions:
    """Where the line ends are: eight bytes at a time, in half the time that it takes byte by byte."""
    found = data == _NEWLINE
    whole = len(data) // 8 * 8
    words = found[:whole].view(np.uint64)
    places = np.flatnonzero(words != 0)
    marked = words[places]
    if (marked & (marked - 1)).any():  # two in one word
        return np.flatnonzero(found)
    ends = places * 8 + (np.bitwise_count(marked - 1) >> 3)
    return np.concatenate((ends, whole + np.flatnonzero(found[whole:])))


def _without_long(block: LineBlock, limit: int) -> LineBlock:
    long = block.ends - block.starts > limit
    if not long.any():
        return block
    bad = [block.refuse(int(line), _too_long(limit)) for line in np.flatnonzero(long)]
    kept = block.narrowed(np.flatnonzero(~long))
    kept.bad = block.bad + bad
    return kept


def _is_utf8(buffer: bytes) -> bool:
    if buffer.isascii():
        return True
    try:
        buffer.decode()
    except UnicodeDecodeError:
        return False
    return True


def _repaired(block: LineBlock) -> LineBlock:
    """The same lines with U+FFFD for what is not UTF-8, packed into a new buffer."""
    data = np.frombuffer(block.buffer, np.uint8)
    strange = np.unique(np.searchsorted(block.starts, np.flatnonzero(data > 127), side="right") - 1)
    parts: list[bytes] = []
    originals: dict[int, bytes] = {}
    grown = np.zeros(len(block), np.int64)
    copied = 0
    for line in strange.tolist():
        start, end = int(block.starts[line]), int(block.ends[line])
        raw = block.buffer[start:end]
        if _is_utf8(raw):
            continue
        text = raw.decode(errors="replace").encode()
        parts += (block.buffer[copied:start], text)
        copied = end
        grown[line] = len(text) - len(raw)
        originals[line] = raw
    buffer = b"".join((*parts, block.buffer[copied:]))
    after = np.cumsum(grown)
    return LineBlock(buffer, block.starts + after - grown, block.ends + after, block.positions, block.bad, originals)
