"""Which of a table's formats a stream is written in, told by how it begins, where none was asked for."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain

from tailrace.core import Delimited, Format, Json, Jsonl, Pairs, Parquet, Table, Xml
from tailrace.formats.base import Batch, Decoder, Stream, growing
from tailrace.formats.continuing import continues

_HEAD = 4096


def others(table: Table, fmt: Format) -> tuple[Format, ...]:
    """Further formats of a table that a first look tells from its own; none where another was asked for."""
    if fmt != table.format:
        return ()
    return tuple(p.format for p in table.presets if _kind(p.format) not in (None, _kind(fmt)))


def _kind(fmt: Format) -> object:
    if isinstance(fmt, Json | Jsonl):
        return Json
    if isinstance(fmt, Delimited):
        return Delimited if fmt.fields else None
    return fmt.dialect if isinstance(fmt, Pairs) else type(fmt) if isinstance(fmt, Parquet | Xml) else None


class SniffingDecoder:
    """Streams in the table's own format, or in one of the others that they begin like."""

    def __init__(self, table: Table, own: Decoder, others: tuple[Format, ...]) -> None:
        self.table, self.own, self.others = table, own, others
        self.made: dict[int, Decoder] = {}

    def decode(self, stream: Stream) -> Iterator[Batch]:
        whole = Again(stream)
        head = whole.head()
        likely = [n for n, other in enumerate(self.others) if begins_as(other, head)]
        if not likely:
            return self.own.decode(whole)
        number = max(likely, key=lambda n: _marks(self.others[n], head))
        grows = growing(stream)
        if grows and not continues(self.others[number]):
            grows.goes_on = False
        if number not in self.made:
            from tailrace.formats import decoder

            self.made[number] = decoder(self.table, self.others[number])
        return self.made[number].decode(whole)


def begins_as(fmt: Format, head: bytes) -> bool:
    """Does the beginning of a stream show that it is in this format?"""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if isinstance(fmt, Parquet):
        return head.startswith(b"PAR1")
    if isinstance(fmt, Xml):
        return text.startswith(b"<")
    if isinstance(fmt, Jsonl):
        line, end, _ = text.partition(b"\n")
        return text.startswith(b"{") and (not end or line.rstrip().endswith(b"}"))
    if isinstance(fmt, Json):
        return text.startswith(b"{") or (text.startswith(b"[") and text[1:].lstrip().startswith(b"{"))
    if isinstance(fmt, Pairs):
        line = text.partition(b"\n")[0]
        sign = f"{fmt.dialect.upper()}:".encode()
        return sign in line and (sign != b"CEF:" or b"LEEF:" not in line)
    return isinstance(fmt, Delimited) and len(fmt.delimiter) == 1 and _has_the_fields(fmt, text)


def _marks(fmt: Format, head: bytes) -> int:
    """How many of the keys that only records in this format have are there: it tells several of one kind apart."""
    keys = [*fmt.unwrap, *(key for _, key in fmt.field_map)] if isinstance(fmt, Json | Jsonl) else []
    return sum(f'"{key.partition(".")[0]}"'.encode() in head for key in keys)


def _has_the_fields(fmt: Delimited, text: bytes) -> bool:
    """A first record with as many values as there are fields; without quotes lines of text may have as many commas."""
    lines = text.decode(errors="replace").splitlines(keepends=True)
    try:
        first = next(csv.reader(lines, delimiter=fmt.delimiter), [])
    except csv.Error:
        return False
    return len(fmt.fields) - fmt.optional <= len(first) <= len(fmt.fields)


class Again:
    """A stream whose beginning can be looked at before it is read."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.blocks = iter(stream)
        self.first: list[bytes] = []

    @property
    def truncated(self) -> bool:
        return self.stream.truncated

    def head(self) -> bytes:
        for block in self.blocks:
            self.first.append(block)
            if sum(map(len, self.first)) >= _HEAD:
                break
        return b"".join(self.first)[:_HEAD]

    def __iter__(self) -> Iterator[bytes]:
        return chain(self.first, self.blocks)
