"""The engine for OpenTelemetry's logs: JSON or protobuf, known by the first bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from tailrace.core import Table
from tailrace.formats.base import Batch, Stream
from tailrace.formats.feed import BLOCK
from tailrace.formats.fit import Fitter
from tailrace.formats.otlp_json import JsonRecords
from tailrace.formats.otlp_proto import read_messages
from tailrace.formats.otlp_rows import DOCUMENTS, FIELDS, Rows

_BLANKS = b" \t\r\n"
_ENOUGH = 16
_JSON = re.compile(rb'\s*(?:\{\s*["}]|\[\s*[{\[\]])|[{\["](?!\n)')
"Protobuf may begin with a line end or a brace too (a tag, a length), but not go on like this."
_LINE = re.compile(rb"\s*\{[^\n]*\}[ \t\r]*\n")


class OtlpDecoder:
    """One row per log record; positions are their numbers in the stream."""

    def __init__(self, table: Table) -> None:
        self._fitter = Fitter(table, FIELDS, documents=DOCUMENTS)
        self._documents = JsonRecords()

    def decode(self, stream: Stream) -> Iterator[Batch]:
        """Batches in order of the stream."""
        ordinal = 0
        for rows in self._rows(stream):
            batch = self._batch(rows, ordinal)
            ordinal += rows.size + len(rows.bad)
            yield batch

    def _rows(self, stream: Stream) -> Iterable[Rows]:
        blocks = iter(stream)
        head = b""
        for block in blocks:
            head += block
            # The first line tells how to read the others, also where it comes in pieces.
            if len(head.strip(_BLANKS)) >= _ENOUGH and (b"\n" in head.lstrip(_BLANKS) or len(head) >= BLOCK):
                break
        rest = Again(chain((head,), blocks), stream)
        if begins_json(head):
            read = self._documents.read_lines if _LINE.match(head) else self._documents.read
            return (records.rows() for records in read(rest))
        return read_messages(rest) if head.strip(_BLANKS) else ()

    def _batch(self, rows: Rows, first: int) -> Batch:
        columns, extra, flagged = self._fitter.fit(rows.fields, rows.size, misfits=rows.misfits, beside=rows.beside)
        bad = [replace(b, position=first + rows.size + number) for number, b in enumerate(rows.bad)]
        positions = np.arange(first, first + rows.size, dtype=np.int64)
        return Batch(columns, positions, rows.raw, extra, flagged, bad, rows.skipped)


def begins_json(head: bytes) -> bool:
    """Do messages in JSON begin like this? Else they are protobuf."""
    return _JSON.match(head) is not None


class Again:
    """A stream whose first blocks have been looked at."""

    def __init__(self, blocks: Iterator[bytes], stream: Stream) -> None:
        self._blocks = blocks
        self._stream = stream

    @property
    def truncated(self) -> bool:
        return self._stream.truncated

    def __iter__(self) -> Iterator[bytes]:
        return self._blocks
