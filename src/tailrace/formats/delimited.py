"""The delimited engine: character-separated values → batches of a table's columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Delimited, Struct, Table
from tailrace.formats.arrow_nested import plain_name
from tailrace.formats.base import Bad, Batch, Positions, Stream, growing
from tailrace.formats.casts import native_type
from tailrace.formats.csv_reader import CsvReader
from tailrace.formats.delimited_text import free, grammar, single
from tailrace.formats.feed import Once
from tailrace.formats.fit import Fitter, Texts
from tailrace.formats.json_struct import source_keys
from tailrace.formats.lines import LineBlock, blank_lines, cut_lines, first_bytes, merged
from tailrace.formats.records import record_block, records_of


def delimited_decoder(table: Table, fmt: Delimited) -> DelimitedDecoder:
    """The decoder of a table's records written as `fmt` says."""
    from tailrace.formats.delimited_options import OptionsDecoder, has_options

    return OptionsDecoder(table, fmt) if has_options(fmt) else DelimitedDecoder(table, fmt)


class DelimitedDecoder:
    """Reads streams of delimited records; each may have a header of its own."""

    def __init__(self, table: Table, fmt: Delimited) -> None:
        sources = dict(fmt.field_map)
        columns = tuple(replace(c, src=sources.get(c.name, c.src)) for c in table.columns)
        self.table = replace(table, columns=columns)
        # An escape that is the usual quote means nothing where there are no quotes.
        self.fmt = fmt if fmt.quote or fmt.escape != '"' else replace(fmt, escape="")
        self.proper = re.compile(grammar(self.fmt))
        self.expected = fmt.fields or tuple(
            c.src or c.name for c in columns if c.sql is None and not isinstance(c.type, Struct)
        )

    def decode(self, stream: Stream) -> Iterator[Batch]:
        """Batches in order of the stream."""
        reading = self.reading()
        grows = growing(stream)
        if grows and grows.ruling:
            reading.begin(grows.ruling)
        held: LineBlock | None = None
        for block in self.lines(stream):
            block = block if held is None else merged([held, block])
            held, batches = reading.read(block, final=False)
            yield from batches
        if grows:
            grows.ruling = reading.first
        if held is not None and not (grows and grows.leaves(int(held.positions[0]))):
            if grows:
                grows.goes_on = False  # inside a quote that nothing has closed
            yield from reading.read(held, final=True)[1]

    def reading(self) -> Reading:
        return Reading(self)

    def lines(self, stream: Stream) -> Iterator[LineBlock]:
        return cut_lines(stream)


class Reading:
    """One stream: what its header says, and the reader made from it."""

    kind = "delimited"

    def __init__(self, decoder: DelimitedDecoder) -> None:
        self.table = decoder.table
        self.fmt = decoder.fmt
        self.expected = decoder.expected
        self.proper = decoder.proper
        self.names: tuple[str, ...] = ()
        self.first = b""
        "The record that told the names of the fields."
        self.header = b""
        self.fitter = Fitter(self.table, ())
        self.types: dict[str, pa.DataType] = {}

    def read(self, block: LineBlock, final: bool) -> tuple[LineBlock | None, list[Batch]]:
        """What has to wait for the next block, and the batches of the rest."""
        fmt = self.fmt
        found = records_of(block, fmt.quote, fmt.escape, fmt.comment, final)
        held = None
        if found.waiting < len(block):
            held = block.narrowed(np.arange(found.waiting, len(block)))
        bad = block.bad + [block.refuse(line, f"{self.kind}: quote not closed") for line in found.unclosed]
        records = record_block(block, found.firsts, found.lasts)
        values = self._values(records)
        skipped = len(records) - len(values)
        batches: list[Batch] = []
        if len(values):
            several = np.flatnonzero((found.lasts - found.firsts)[values]).tolist()
            apart = [n for n in several if not self.proper.fullmatch(records.raw(int(values[n])))]
            whole = records.narrowed(np.delete(values, apart))
            batches, refused = self._rows(whole, newlines=len(several) > len(apart))
            bad += [whole.refuse(n, reason) for n, reason in refused.items()]
            for n in apart:  # not a record of several lines after all: each line for itself
                more, wrong = self._lines_of(records, int(values[n]))
                batches += more
                bad += wrong
        if bad or skipped:
            batches.append(Batch({}, np.empty(0, np.int64), block.raw, bad=bad, skipped=skipped))
        return held, batches

    def _lines_of(self, whole: LineBlock, record: int) -> tuple[list[Batch], list[Bad]]:
        raw = whole.raw(record)
        block = next(cut_lines(Once(raw)))
        block.positions = block.positions + whole.positions[record]
        odd = [n for n in range(len(block)) if block.raw(n).count(self.fmt.quote.encode()) % 2]
        bad = [block.refuse(n, f"{self.kind}: quote not closed") for n in odd]
        even = np.setdiff1d(np.arange(len(block)), odd)
        if not len(even):
            return [], bad
        lines = block.narrowed(even)
        batches, refused = self._rows(lines, newlines=False)
        return batches, bad + [lines.refuse(n, reason) for n, reason in refused.items()]

    def _values(self, records: LineBlock) -> Positions:
        """Records that hold values: no blank lines, comments or headers."""
        skip = blank_lines(records)
        if self.fmt.comment:
            mark = self.fmt.comment.encode()
            for line in np.flatnonzero((first_bytes(records) == mark[0]) & ~skip).tolist():
                skip[line] = records.raw(line).startswith(mark)
        if not self.names and not skip.all():
            self.begin(records.raw(int(np.argmin(skip))))
        if self.header:  # files that were joined repeat it
            same = np.flatnonzero((records.ends - records.starts == len(self.header)) & ~skip)
            skip[[line for line in same.tolist() if records.raw(line) == self.header]] = True
        return np.flatnonzero(~skip)

    def begin(self, first: bytes) -> None:
        """Takes the names of the fields from the first record, or from what the format says."""
        self.first = first
        words = self._split(first)
        plain = plain_name if self.fmt.loose else str.casefold
        known = {plain(name): name for name in self.expected}
        read = {plain(name): name for name in source_keys(self.table)}
        named = sum(plain(word.strip()) in known for word in words)
        has_header = self.fmt.header if self.fmt.header is not None else 2 * named >= max(len(self.expected), 1)
        if has_header:
            self.header = first
            given = {plain(word.strip()) for word in words}
            others = {plain(other): name for other, name in self.fmt.other_names if plain(name) not in given}
            names = [(others | read | known).get(plain(word.strip()), word.strip()) for word in words]
        elif self.fmt.fields:
            names = list(self.fmt.fields[: max(len(words), len(self.fmt.fields) - self.fmt.optional)])
        else:
            names = [*self.expected, *(f"field_{n + 1}" for n in range(len(self.expected), len(words)))]
            names = names[: len(words)]
        self.use(tuple(distinct(names)), ())

    def use(self, names: tuple[str, ...], made: Collection[str]) -> None:
        """Sets the names of the fields, and of those that are made from them before they are fitted."""
        self.names = names
        self.fitter = Fitter(self.table, (*names, *made))
        for name in self.names:
            column = self.fitter.column_of(name)
            kind = native_type(column) if column is not None and column.null_if is None else None
            if kind is not None:
                self.types[name] = kind

    def _split(self, record: bytes) -> list[str]:
        """The fields of one record, read by Python's own module."""
        fmt = self.fmt
        (separator,), (text,) = single(fmt, [record])
        lines = text.decode(errors="replace").splitlines(keepends=True)
        escape = fmt.escape if fmt.escape and fmt.escape != fmt.quote else None
        reader = csv.reader(
            lines,
            delimiter=chr(separator),
            quotechar=fmt.quote or None,
            escapechar=escape,
            quoting=csv.QUOTE_MINIMAL if fmt.quote else csv.QUOTE_NONE,
        )
        return next(reader, [])

    def _rows(self, block: LineBlock, newlines: bool) -> tuple[list[Batch], dict[int, str]]:
        """Batches of the records that have the right fields, and the others with the reason."""
        if not len(block):
            return [], {}
        separator, (buffer,) = single(self.fmt, [block.buffer])
        hidden = free(buffer) if _has_returns(block) and not newlines else b""
        if hidden:
            buffer = re.sub(rb"\r(?!\n)", hidden, buffer)
        fmt = self.fmt
        doubled = fmt.escape == fmt.quote
        reader = CsvReader(
            self.names,
            self.types,
            [text for text in (fmt.null_str or "", self.table.null) if text is not None],
            delimiter=separator.decode(),
            quote_char=fmt.quote or False,
            double_quote=doubled,
            escape_char=False if doubled or not fmt.escape else fmt.escape,
            newlines_in_values=newlines,
            quoted_nulls=fmt.allow_quoted_nulls,
        )
        try:
            fields, refused = reader.read(buffer)
            rows = len(block) - len(refused)
            if any(len(array) != rows for array in fields.values()):
                return self._halves(block, newlines)
        except pa.ArrowInvalid:
            return self._halves(block, newlines)
        self.types = {n: t for n, t in reader.types.items() if not pa.types.is_string(t)}
        wanted = len(self.names)
        reasons = {n: f"{self.kind}: {_fields(count)} instead of {wanted}" for n, count in refused.items()}
        more, reasons = self.mended(block, refused, reasons, newlines)
        kept = np.setdiff1d(np.arange(len(block)), list(refused)) if refused else np.arange(len(block))
        if not len(kept):
            return more, reasons
        if hidden:
            fields = {name: _shown(array, hidden) for name, array in fields.items()}
        return [self._batch(block, kept, fields), *more], reasons

    def mended(
        self, block: LineBlock, refused: dict[int, int], reasons: dict[int, str], newlines: bool
    ) -> tuple[list[Batch], dict[int, str]]:
        """For formats that take records with another number of fields."""
        return [], reasons

    def _halves(self, block: LineBlock, newlines: bool) -> tuple[list[Batch], dict[int, str]]:
        """Finds the record that the reader cannot take, and reads the others without it."""
        if len(block) == 1:
            return [], {0: f"{self.kind}: invalid"}
        batches: list[Batch] = []
        reasons: dict[int, str] = {}
        middle = len(block) // 2
        for start, end in ((0, middle), (middle, len(block))):
            done, refused = self._rows(block.narrowed(np.arange(start, end)), newlines)
            batches += done
            reasons |= {start + n: reason for n, reason in refused.items()}
        return batches, reasons

    def made(self, fields: Texts) -> Texts:
        """For formats that make fields from others."""
        return fields

    def _batch(self, block: LineBlock, kept: Positions, fields: Texts) -> Batch:
        fields = self.made(fields)
        invalid = np.flatnonzero(np.isin(kept, list(block.originals))).tolist() if block.originals else []
        columns, extra, flagged = self.fitter.fit(fields, len(kept), marked=True, invalid=invalid)
        raw = block.raw
        # Other kinds make fields of their own, by names that nobody has written.
        named = tuple(fields) if self.kind == Reading.kind else None
        return Batch(columns, block.positions[kept], lambda row: raw(int(kept[row])), extra, flagged, fields=named)


def _fields(count: int) -> str:
    return f"{count} field{'' if count == 1 else 's'}"


def _has_returns(block: LineBlock) -> bool:
    """Is there a return inside a record? The reader would end the record there."""
    return b"\r" in block.buffer and re.search(rb"\r(?!\n)", block.buffer) is not None


def _shown(array: pa.Array, hidden: bytes) -> pa.Array:
    return pc.replace_substring(array, hidden.decode(), "\r") if pa.types.is_string(array.type) else array


def distinct(names: Iterable[str]) -> Iterator[str]:
    """A name that comes again is numbered, one that is missing is called by its place."""
    taken: set[str] = set()
    for place, name in enumerate(names):
        name = name or f"field_{place + 1}"
        numbered = (f"{name}_{number}" for number in count(2))
        chosen = name if name not in taken else next(other for other in numbered if other not in taken)
        taken.add(chosen)
        yield chosen
