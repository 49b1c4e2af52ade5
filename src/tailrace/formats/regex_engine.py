"""Lines by regular expression or grok, with the matcher that proves cheapest on the first lines."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Grok, Regex, Table, col
from tailrace.formats.base import Batch, Decoder, Positions, Stream, moment_of
from tailrace.formats.casts import cast_texts
from tailrace.formats.cutting import Cutting
from tailrace.formats.fit import Fitter
from tailrace.formats.grok import Expression, expressions_of
from tailrace.formats.lines import LineBlock, cut_lines
from tailrace.formats.matchers import LINE_SECONDS, Backtracking, Matched, Matcher, Re2, portable
from tailrace.formats.multiline import Starts, records, texts_of
from tailrace.formats.regex_split import split
from tailrace.formats.years import is_yearless, with_years

SAMPLE = 1000
"Lines on which the matchers are timed."
_FEW = 100
_RETURN = 13


def regex_decoder(table: Table, format: Regex | Grok) -> Decoder:
    """The engine for lines that an expression describes."""
    skip = format.skip if isinstance(format, Regex) else None
    return RegexDecoder(table, expressions_of(format), format.start, skip)


def matchers(expression: Expression) -> list[Matcher]:
    """All that can run the expression; the one most likely cheapest first, and the reference last."""
    names = [capture.group for capture in expression.captures]
    text = portable(expression.text)
    found: list[Matcher] = []
    re2 = None
    with suppress(pa.ArrowInvalid):
        re2 = Re2(text, names)
        found.append(re2)
    backtracking = Backtracking(expression, re2)
    cut = split(text)
    if cut is not None:
        with suppress(pa.ArrowInvalid):
            found.insert(0, Cutting(cut, names, backtracking))
    return [*found, backtracking]


def cheapest(candidates: list[Matcher], lines: pa.StringArray) -> Matcher:
    """The matcher that took the least CPU time of those that agree with the reference."""
    reference, expected, least = candidates[-1], None, float("inf")
    best = reference
    for matcher in reversed(candidates):
        started = time.thread_time()
        found = matcher.match(lines)
        took = time.thread_time() - started
        if expected is None:
            expected = found
        if took < least and _same(found, expected):
            best, least = matcher, took
    return best


def _same(one: Matched, other: Matched) -> bool:
    return (
        not one.slow
        and bool((one.ok == other.ok).all())
        and all(texts.equals(other.groups[name]) for name, texts in one.groups.items())
    )


class Way:
    """One expression, and what its fields become."""

    def __init__(self, table: Table, expression: Expression, multiline: bool) -> None:
        self.expression = expression
        self.fitter = Fitter(table, expression.fields)
        self.candidates = _multiline_matchers(expression) if multiline else matchers(expression)
        self.chosen: Matcher | None = None if len(self.candidates) > 1 else self.candidates[0]

    def match(self, lines: pa.StringArray) -> Matched:
        if self.chosen is None and len(lines) >= _FEW:
            self.chosen = cheapest(self.candidates, lines[:SAMPLE])
        return (self.chosen or self.candidates[0]).match(lines)

    def fields(self, matched: Matched) -> dict[str, pa.Array]:
        """Texts by field, of the lines that match; of groups with one field the first that took part."""
        ok = pa.array(matched.ok)
        all_match = bool(matched.ok.all())
        fields: dict[str, pa.Array] = {}
        for capture in self.expression.captures:
            texts = matched.groups[capture.group]
            texts = texts if all_match else texts.filter(ok)
            before = fields.get(capture.field)
            fields[capture.field] = texts if before is None else pc.coalesce(before, texts)
        return fields

    def typed(self, fields: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """Fields without a column in the type of their capture, if all fit: numbers in `tp_extra` then."""
        for name, type in self.expression.types.items():
            if name in self.fitter.kept:
                values = cast_texts(col(name, type), fields[name])
                if values.null_count == fields[name].null_count:
                    fields[name] = values
        return fields

    def reason(self, slow: bool) -> str:
        return f"{self.expression.kind}: {f'no answer within {LINE_SECONDS} s' if slow else 'no match'}"


class RegexDecoder:
    """Expressions over the lines or records of any number of artifacts; the first that is found wins."""

    def __init__(
        self, table: Table, expressions: Sequence[Expression], start: str | None = None, skip: str | None = None
    ) -> None:
        self.skip = skip
        self.starts = Starts(start) if start is not None else None
        yearless = [c for c in table.columns if c.type == "timestamp" and is_yearless(c.time)]
        self.yearless = {c.src or c.name for c in yearless}
        columns = tuple(replace(c, time=None) if c in yearless else c for c in table.columns)
        table = replace(table, columns=columns)
        self.ways = [Way(table, expression, start is not None) for expression in expressions]

    def decode(self, stream: Stream) -> Iterator[Batch]:
        for block in cut_lines(stream) if self.starts is None else records(stream, self.starts):
            yield from self._batches(block, stream)

    def prepared(self, fields: dict[str, pa.Array], stream: Stream) -> dict[str, pa.Array]:
        """Times get their year. Formats that know more of their fields than an expression can say add to it."""
        found = self.yearless & fields.keys()
        return fields | {name: with_years(fields[name], moment_of(stream)) for name in found}

    def _batches(self, block: LineBlock, stream: Stream) -> Iterator[Batch]:
        lines, filled = _texts(block) if self.starts is None else _filled(texts_of(block))
        skipped, bad, batches = len(block) - len(filled), list(block.bad), []
        for number, way in enumerate(self.ways):
            matched = way.match(lines)
            if number == 0 or matched.ok.any():
                fields = way.typed(self.prepared(way.fields(matched), stream))
                batches.append(_batch(block, filled[matched.ok], way.fitter, fields))
            if matched.ok.all() or number + 1 == len(self.ways):
                break
            rest = ~matched.ok
            lines, filled = lines.filter(pa.array(rest)), filled[rest]
        slow = set(matched.slow)
        refused = np.flatnonzero(~matched.ok).tolist()
        if self.skip and refused:
            nothing = pc.match_substring_regex(lines.take(pa.array(refused)), self.skip).to_pylist()
            refused = [i for i, none in zip(refused, nothing, strict=True) if not none]
            skipped += sum(nothing)
        bad += [block.refuse(int(filled[i]), way.reason(i in slow)) for i in refused]
        batches[0].bad, batches[0].skipped = sorted(bad, key=lambda entry: entry.position), skipped
        yield from batches


def _batch(block: LineBlock, rows: Positions, fitter: Fitter, fields: dict[str, pa.Array]) -> Batch:
    place = {int(line): row for row, line in enumerate(rows)} if block.originals else {}
    invalid = [place[line] for line in block.originals if line in place]
    columns, extra, flagged = fitter.fit(fields, len(rows), invalid=invalid)
    return Batch(columns, block.positions[rows], lambda row: block.raw(int(rows[row])), extra, flagged)


def _multiline_matchers(expression: Expression) -> list[Matcher]:
    """As `matchers`, where a dot is any character, a line end too."""
    whole = replace(expression, text=f"(?s){expression.text}")
    try:
        return [Re2(whole.text, [capture.group for capture in whole.captures])]
    except pa.ArrowInvalid:
        return [Backtracking(whole, None)]


def _texts(block: LineBlock) -> tuple[pa.StringArray, Positions]:
    """The lines that are not blank as Arrow strings, and which they are: `texts_of` for lines without gaps."""
    lengths = block.ends - block.starts
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = np.frombuffer(block.buffer, np.uint8)
    kept = np.ones(len(data), bool)
    ended = block.ends[block.ends < len(data)]
    kept[ended] = False
    kept[ended[data[ended] == _RETURN] + 1] = False
    texts = pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(data[kept]))
    return _filled(texts)


def _filled(texts: pa.StringArray) -> tuple[pa.StringArray, Positions]:
    """Those that are not blank, and which they are."""
    blank = pc.match_substring_regex(texts, r"^[ \t]*$")
    if not pc.any(blank).as_py():
        return texts, np.arange(len(texts))
    filled = np.flatnonzero(~blank.to_numpy(zero_copy_only=False))
    return texts.take(pa.array(filled)), filled
