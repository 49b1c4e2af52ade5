"""The layout engine: lines written by a template → batches of a table's columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import regex

from tailrace.core import ConfigError, Layout, Table
from tailrace.formats.base import Bad, Batch, Positions, Stream, growing
from tailrace.formats.casts import native_type
from tailrace.formats.dialects import Field, Token, header_fields, parse_layout
from tailrace.formats.fit import REST, Fitter, Texts
from tailrace.formats.layout_address import AddressPort, split_address
from tailrace.formats.layout_regex import LinePattern
from tailrace.formats.layout_request import split_request
from tailrace.formats.lines import LineBlock, blank_lines, cut_lines, first_bytes, merged
from tailrace.formats.subscriptions import Messages
from tailrace.formats.tokens import Request, Tokenizer, Word, words_of

_MANY_LINES, _MANY_BYTES = 8192, 4 * 1024 * 1024
"So many odd lines are worth a reading of their own."
_FEW_LINES = 100
"So few odd lines are read by patterns alone, which find what tokenizers find and cost less to set up."


def layout_decoder(table: Table, fmt: Layout) -> LayoutDecoder:
    """The decoder of a table's lines written as `fmt` says."""
    return LayoutDecoder(table, fmt)


@dataclass(slots=True)
class Reading:
    """Lines of a block that wait to be read, and what was read of it so far."""

    block: LineBlock
    lines: Positions
    batches: list[Batch]

    def first(self) -> bytes:
        return self.block.raw(int(self.lines[0]))

    def take(self, batch: Batch, rest: Positions) -> None:
        self.batches.append(batch)
        self.lines = rest
        if 2 * len(rest) < len(self.block):  # the few that are left should not cost a walk over all
            self.block, self.lines = self.block.narrowed(rest), np.arange(len(rest))


class Template:
    """One way to write a line: how to read it, fast and slowly, and how its fields fit the table."""

    def __init__(self, table: Table, fmt: Layout, tokens: tuple[Token, ...]) -> None:
        fields = {token.name: token for token in tokens if isinstance(token, Field)}
        self.null = table.null
        divided = [(n, parts) for n, parts in fmt.split if n in fields and not any(part in fields for part in parts)]
        self.requests = [Request(name, parts) for name, parts in divided if len(parts) == 3]
        self.addresses = [AddressPort(name, parts) for name, parts in divided if len(parts) == 2]
        names = [*fields, *(part for _, parts in divided for part in parts), REST]
        always = (REST, *(name for name, _ in divided))
        times = {name: field.time for name, field in fields.items() if field.time}
        self.fitter = Fitter(table, names, times=times, always=always)
        self.strict = LinePattern(tokens)
        self.loose = [
            LinePattern(tokens, surplus=True, whole=True),
            LinePattern(tokens, strict=False, whole=True),
            LinePattern(tokens, surplus=True),
            LinePattern(tokens, strict=False),
        ]
        self.tokenizers = list(self._tokenizers(table, tokens, fields))

    def _tokenizers(self, table: Table, tokens: tuple[Token, ...], fields: dict[str, Field]) -> Iterator[Tokenizer]:
        """One per number of words that a line may have, and per way its request line may be cut."""
        words = words_of(tokens)
        if words is None:
            return
        types = {name: kind for name in fields if (kind := self._native(table, fields[name])) is not None}
        required = len(words)
        while required and (last := fields.get(words[required - 1].name)) and last.optional:
            required -= 1
        if any(f.optional for w in words[:required] if (f := fields.get(w.name))):
            return
        splittable = [r for r in self.requests if Word("quoted", r.name) in words and r.name in self.fitter.kept]
        for width in range(len(words), required - 1, -1):
            for request in (*splittable[:1], None):
                if request is None or Word("quoted", request.name) in words[:width]:
                    yield Tokenizer(words[:width], types, table.null, request)

    def _native(self, table: Table, field: Field) -> pa.DataType | None:
        column = self.fitter.column_of(field.name)
        if column is None or column.null_if not in (None, table.null):
            return None
        return native_type(replace(column, time=field.time) if field.time else column)

    def tokenize(self, tokenizer: Tokenizer, reading: Reading) -> None:
        """Takes the lines that have the tokenizer's words."""
        block = reading.block
        done, rest = tokenizer.read(block, reading.lines)
        if done is not None:
            reading.take(self._batch(block, done.lines, done.fields, marked=True), rest)

    def match(self, pattern: LinePattern, reading: Reading) -> None:
        """Takes the lines that match."""
        block, lines = reading.block, reading.lines
        spans = zip(block.starts[lines].tolist(), block.ends[lines].tolist(), strict=True)
        texts = pa.array([block.buffer[a:b] for a, b in spans], pa.binary()).cast(pa.string())
        fields, matched = pattern.extract(texts)
        if matched.any():
            reading.take(self._batch(block, lines[matched], fields, marked=False), lines[~matched])

    def _batch(self, block: LineBlock, lines: Positions, fields: Texts, *, marked: bool) -> Batch:
        for request in self.requests:
            if request.name in fields:
                parts = split_request(fields[request.name], request, self.null)
                if request.name not in self.fitter.kept:
                    del parts[request.name]
                fields |= parts
        for split in self.addresses:
            if split.name in fields:
                fields |= split_address(fields[split.name], split, self.null)
        invalid = _rows_of(block.originals, lines) if block.originals else []
        columns, extra, flagged = self.fitter.fit(fields, len(lines), marked=marked, invalid=invalid)
        return Batch(columns, block.positions[lines], lambda row: block.raw(int(lines[row])), extra, flagged)


class LayoutDecoder:
    """Reads lines by the templates of a layout, the first that fits wins."""

    def __init__(self, table: Table, fmt: Layout) -> None:
        self.table = table
        self.fmt = fmt
        self.main = Template(table, fmt, parse_layout(fmt))
        self.also = [Template(table, fmt, parse_layout(replace(fmt, text=text))) for text in fmt.also]
        self.headers: dict[bytes, Template] = {}
        self.header = _compiled(fmt.header)
        self.may_begin_header = _first_bytes(self.header)

    def decode(self, stream: Stream) -> Iterator[Batch]:
        """Batches in order of the stream, odd lines later; a header line rules until the next one."""
        messages = Messages(stream) if self.fmt.dialect == "vpc" else None
        yield from self._decode(messages or stream)
        if messages and messages.bad:
            yield Batch({}, np.empty(0, np.int64), lambda _row: b"", bad=messages.bad)

    def _decode(self, stream: Stream) -> Iterator[Batch]:
        grows = growing(stream)
        main = self._from_header(grows.ruling) if grows and grows.ruling else self.main
        odd: list[LineBlock] = []
        for block in cut_lines(stream):
            lines, headers = self._content(block)
            if block.bad or len(lines) < len(block):
                yield _without_rows(block, block.bad, skipped=len(block) - len(lines))
            for header, part in _parts(lines, headers):
                if header is not None:
                    yield from self._finish(main, odd)
                    main = self._from_header(block.raw(header))
                    if grows:
                        grows.ruling = block.raw(header)
                reading = Reading(block, part, [])
                _read([main, *self.also], reading, patience=len(part) // 8)
                yield from reading.batches
                odd += [reading.block.narrowed(reading.lines)] if len(reading.lines) else []
            if sum(map(len, odd)) > _MANY_LINES or sum(len(b.buffer) for b in odd) > _MANY_BYTES:
                yield from self._finish(main, odd)
        yield from self._finish(main, odd)

    def _finish(self, main: Template, odd: list[LineBlock]) -> Iterator[Batch]:
        """Reads the lines put aside by every means, and refuses what is left."""
        if not odd:
            return
        reading = Reading(merged(odd), np.arange(sum(map(len, odd))), [])
        odd.clear()
        _read([main, *self.also], reading, tokenize=len(reading.lines) > _FEW_LINES)
        yield from reading.batches
        block = reading.block
        if len(reading.lines):
            bad = [block.refuse(line, "layout: no match") for line in reading.lines.tolist()]
            yield _without_rows(block, bad)

    def _content(self, block: LineBlock) -> tuple[Positions, list[int]]:
        """Lines that hold values, and header lines; the others are blank or comments."""
        skip = blank_lines(block)
        firsts = first_bytes(block)
        if self.fmt.comment:
            mark = self.fmt.comment.encode()
            for line in np.flatnonzero((firsts == mark[0]) & ~skip).tolist():
                skip[line] = block.raw(line).startswith(mark)
        headers = []
        if self.header is not None:
            candidates = np.flatnonzero(self.may_begin_header[firsts] & ~skip)
            headers = [line for line in candidates.tolist() if self._is_header(block, line)]
            skip[headers] = True
        return np.flatnonzero(~skip), headers

    def _is_header(self, block: LineBlock, line: int) -> bool:
        assert self.header is not None
        return self.header.fullmatch(block.raw(line).decode(errors="replace")) is not None

    def _from_header(self, line: bytes) -> Template:
        if line not in self.headers:
            tokens = header_fields(self.fmt, line.decode(errors="replace"))
            self.headers[line] = Template(self.table, self.fmt, tokens)
        return self.headers[line]


def _read(templates: list[Template], reading: Reading, patience: int = 0, *, tokenize: bool = True) -> None:
    """By tokenizers, by strict patterns, at last with a surplus behind the last field or loosely.

    A template without words has only its pattern, which then keeps its turn among the tokenizers.
    Stops when no more than `patience` lines are left: each way has a price of its own, whatever the number.
    """
    for template in templates:
        waiting = list(template.tokenizers) if tokenize else []
        while waiting and len(reading.lines) > patience:
            first = reading.first()
            tokenizer = next((t for t in waiting if t.expects(first)), waiting[0])
            waiting.remove(tokenizer)
            template.tokenize(tokenizer, reading)
        if not (tokenize and template.tokenizers) and len(reading.lines) > patience:
            template.match(template.strict, reading)
    ways = [(template, template.strict) for template in templates if tokenize and template.tokenizers]
    ways += [(template, way) for template in templates for way in template.loose]
    for template, way in ways:
        if len(reading.lines) > patience:
            template.match(way, reading)


def _without_rows(block: LineBlock, bad: list[Bad], skipped: int = 0) -> Batch:
    return Batch({}, np.empty(0, np.int64), block.raw, bad=bad, skipped=skipped)


def _parts(lines: Positions, headers: list[int]) -> Iterator[tuple[int | None, Positions]]:
    """Runs of lines with the header line that stands before each."""
    cuts = np.searchsorted(lines, headers).tolist()
    for header, start, end in zip([None, *headers], [0, *cuts], [*cuts, len(lines)], strict=True):
        yield header, lines[start:end]


def _rows_of(originals: dict[int, bytes], lines: Positions) -> list[int]:
    found: list[int] = np.flatnonzero(np.isin(lines, list(originals))).tolist()
    return found


def _compiled(header: str | None) -> regex.Pattern[str] | None:
    if header is None:
        return None
    try:
        return regex.compile(header)
    except regex.error as error:
        raise ConfigError(f"the layout's header is no regular expression: {error}", code="config.layout") from None


def _first_bytes(header: regex.Pattern[str] | None) -> npt.NDArray[np.bool_]:
    """Which bytes a header line can begin with: spares the others the whole pattern."""
    if header is None:
        return np.zeros(256, bool)
    begins = [header.fullmatch(chr(byte), partial=True) is not None for byte in range(128)]
    return np.array([*begins, *[True] * 128])
