"""Protobuf files of OpenTelemetry → runs of resources: one message, or several that are told by their lengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tailrace.formats.base import RAW_LIMIT, Bad, Stream
from tailrace.formats.byte_window import ByteWindow
from tailrace.formats.protobuf_wire import SPAN, Ints, varint, walk

TAG = 0x0A
"The one field of a message: a resource with its logs."
LARGEST = 64 * 1024 * 1024
"A resource with more bytes is not held."
_RUN = 1024 * 1024
"Resources are handed on together once they have so many bytes."
_HEAD = 32
_MARK = bytes([TAG])
_RESOURCE_TAGS = (b"\x0a", b"\x12", b"\x1a")
_ALL = 2**62
_NOT_LOGS = "otlp: neither JSON nor protobuf"
_CUT = "otlp: the message ends inside a field"
_TOO_LARGE = f"otlp: a message of more than {LARGEST} bytes"


@dataclass(slots=True)
class Resources:
    """Resources with their logs, as spans of the data, and what is none."""

    data: bytes
    starts: Ints
    ends: Ints
    bad: list[Bad] = field(default_factory=list)


class _Run:
    """Resources that are gathered to be read together."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.bad: list[Bad] = []
        self.size = 0

    def add(self, resource: bytes) -> None:
        self.parts.append(resource)
        self.size += len(resource)

    def refuse(self, raw: bytes, length: int, reason: str) -> None:
        self.bad.append(Bad(0, raw[:RAW_LIMIT], length, reason))

    def done(self) -> Resources:
        ends = np.cumsum([len(part) for part in self.parts], dtype=np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) if self.parts else ends
        return Resources(b"".join(self.parts), starts, ends, self.bad)


def resources(stream: Stream) -> Iterator[Resources]:
    """Runs of resources in the order of the stream."""
    window = ByteWindow(stream)
    framing = framing_of(window.peek(_HEAD))
    run = _Run()
    while window.peek(1):
        if framing == "none":
            _take_field(window, run)
        else:
            _take_message(window, run, framing)
        if run.size >= _RUN:
            yield run.done()
            run = _Run()
    if run.parts or run.bad:
        yield run.done()


def framing_of(head: bytes) -> str:
    """How messages are told apart: `none` (there is one), `varint` or `fixed` (four bytes) lengths before each."""
    if int.from_bytes(head[:4], "big") <= LARGEST and _begins_message(head, 4, int.from_bytes(head[:4], "big")):
        return "fixed"
    length, at = varint(head, 0, len(head))
    framed = at > 0 and _begins_message(head, at, length)
    if head[:1] == _MARK:  # also the length ten: then no field of a resource stands where one should
        return "none" if not framed or head[2:3] in _RESOURCE_TAGS else "varint"
    return "varint" if framed else "none"


def _begins_message(head: bytes, at: int, length: int) -> bool:
    if length == 0:
        return len(head) > at
    inner, after = varint(head, at + 1, len(head))
    return head[at : at + 1] == _MARK and after > 0 and after - at + inner <= length


def _take_field(window: ByteWindow, run: _Run) -> None:
    """A resource of the one message that the stream is."""
    head = window.peek(_HEAD)
    length, at = varint(head, 1, len(head))
    if head[:1] != _MARK or at < 0:
        return run.refuse(head, window.skip(_ALL), _NOT_LOGS)
    window.take(at)
    body = _body(window, run, length)
    if body:
        run.add(body)


def _take_message(window: ByteWindow, run: _Run, framing: str) -> None:
    """A message with its length before it."""
    head = window.peek(_HEAD)
    length, at = varint(head, 0, len(head)) if framing == "varint" else (int.from_bytes(head[:4], "big"), 4)
    if at < 0 or len(head) < at:
        return run.refuse(head, window.skip(_ALL), _CUT)
    window.take(at)
    body = _body(window, run, length)
    fields: list[tuple[int, ...]] = []
    whole = walk(memoryview(body), 0, 0, len(body), fields) and len(body) == length
    for _, number, wire, size, start in fields:
        if (number, wire) == (TAG >> 3, SPAN):
            run.add(body[start : start + size])
    if body and not whole:
        run.refuse(body, len(body), _CUT)


def _body(window: ByteWindow, run: _Run, length: int) -> bytes:
    if length <= LARGEST:
        return window.take(length)
    head = window.peek(RAW_LIMIT)
    run.refuse(head, window.skip(length), _TOO_LARGE)
    return b""
