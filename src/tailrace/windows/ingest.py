"""OTLP logs of any kind → OTAP tables: JSON, JSON lines or protobuf, plain, compressed or in archives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from tailrace.formats.base import Bad, CorruptStream, Stream
from tailrace.formats.otlp import Again, begins_json
from tailrace.formats.otlp_frames import resources
from tailrace.formats.stream import open_streams
from tailrace.windows.from_json import json_resources
from tailrace.windows.from_proto import Read, read_resources
from tailrace.windows.schema import Tables

_BLANKS = b" \t\r\n"
_ENOUGH = 16
_CUT_OFF = "otlp: the compressed data is cut off"


def read_file(raw: BinaryIO, name: str) -> Iterator[Read]:
    """The logs of one file, a run of resources at a time; what cannot be read is told beside them."""
    streams = open_streams(raw, name)
    try:
        for _, stream in streams:
            yield from read_stream(stream)
            if stream.truncated:
                yield Read(Tables.empty(), [Bad(0, b"", 0, _CUT_OFF)])
    except CorruptStream as error:
        yield Read(Tables.empty(), [Bad(0, b"", 0, f"otlp: {error}")])


def read_stream(stream: Stream) -> Iterator[Read]:
    """The logs of one stream, known by its first bytes."""
    blocks = iter(stream)
    head = b""
    for block in blocks:
        head += block
        if len(head.strip(_BLANKS)) >= _ENOUGH:
            break
    if not head.strip(_BLANKS):
        return
    whole = Again(chain((head,), blocks), stream)
    found = json_resources(whole) if begins_json(head) else resources(whole)
    yield from map(read_resources, found)
