"""Tables of character-separated values in which a column holds the record itself, as JSON."""

from __future__ import annotations

import codecs
import csv
import sys
from collections.abc import Collection, Iterator

import msgspec

from tailrace.formats.base import Stream
from tailrace.formats.sniffing import Again

_TYPE = "#TYPE "
"What PowerShell writes before the header."
_TOGETHER = 1024 * 1024
csv.field_size_limit(min(sys.maxsize, 2**31 - 1))


def records_in(stream: Stream, keys: Collection[str]) -> Stream:
    """The stream; where it begins with a header that has one of the keys, its rows as objects in JSON, a line each."""
    if not keys:
        return stream
    whole = Again(stream)
    head = whole.head().decode(errors="replace").removeprefix("\ufeff").lstrip()
    if head[:1] in ("{", "["):
        return whole
    header = head.partition("\n")[2] if head.startswith(_TYPE) else head
    first = next(_rows(iter([header.partition("\n")[0]])), [])
    return Rows(whole) if len(first) > 1 and not set(keys).isdisjoint(first) else whole


class Rows:
    """The rows below a header; one with another number of fields is an array, which is no record."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    @property
    def truncated(self) -> bool:
        return self.stream.truncated

    def __iter__(self) -> Iterator[bytes]:
        rows = _rows(_lines(self.stream))
        header = next(rows, [])
        if header and header[0].startswith(_TYPE):
            header = next(rows, [])
        held: list[bytes] = []
        size = 0
        for row in rows:
            record = dict(zip(header, row, strict=True)) if len(row) == len(header) else row
            if row:
                held.append(msgspec.json.encode(record))
                size += len(held[-1])
            if size > _TOGETHER:
                yield b"\n".join((*held, b""))
                held, size = [], 0
        if held:
            yield b"\n".join((*held, b""))


def _rows(lines: Iterator[str]) -> Iterator[list[str]]:
    """The values of each row; what cannot be one is a row of what is wrong with it."""
    reader = csv.reader(lines)
    while True:
        try:
            yield next(reader)
        except csv.Error as error:
            yield [str(error)]
        except StopIteration:
            return


def _lines(stream: Stream) -> Iterator[str]:
    """Texts up to the end of a line each, as they come."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    for block in stream:
        *whole, rest = (rest + decoder.decode(block)).split("\n")
        yield from (f"{line}\n" for line in whole)
    rest += decoder.decode(b"", final=True)
    if rest:
        yield rest
