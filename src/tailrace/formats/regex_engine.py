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
from tailrace.formats.fit import REST, Fitter
from tailrace.formats.grok import Expression, expressions_of
from tailrace.formats.line_texts import Lines
from tailrace.formats.lines import LineBlock, cut_lines
from tailrace.formats.matchers import LINE_SECONDS, Backtracking, Matched, Matcher, Re2, bools, portable
from tailrace.formats.multiline import Starts, records
from tailrace.formats.outside import BEFORE
from tailrace.formats.regex_split import split
from tailrace.formats.regex_words import words
from tailrace.formats.word_reader import WordReader
from tailrace.formats.years import is_yearless, with_years

SAMPLE = 1000
"Lines on which the matchers are timed."
_FEW = 100
Part = tuple[Lines, Matched]


def regex_decoder(table: Table, format: Regex | Grok) -> Decoder:
    """The engine for lines that an expression describes."""
    skip, lead = (format.skip, format.lead) if isinstance(format, Regex) else (None, None)
    return RegexDecoder(table, expressions_of(format), format.start, skip, lead)


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


def word_reader(expression: Expression) -> WordReader | None:
    """What reads most lines of the expression without it, if it is one of words."""
    cut = split(portable(expression.text))
    cells = words(cut) if cut is not None else None
    if cut is None or cells is None:
        return None
    try:
        return WordReader(cut, cells, [capture.group for capture in expression.captures])
    except pa.ArrowInvalid:  # of some leaf
        return None


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
        and one.outside == other.outside
    )


def _pays(words: WordReader, otherwise: Matcher, lines: Lines) -> bool:
    """Do the two together take less CPU time than the matcher alone, and find the same?"""
    texts = lines.texts
    started = time.thread_time()
    expected = otherwise.match(texts)
    alone = time.thread_time() - started
    started = time.thread_time()
    groups, found = words.read(lines)
    took = time.thread_time() - started + alone * (1 - found.mean())
    mask = pa.array(found)
    agrees = expected.ok[found].all() and all(t.equals(expected.groups[n].filter(mask)) for n, t in groups.items())
    whole = expected.outside is None or expected.outside.filter(mask).is_nothing()
    return took < alone and bool(agrees) and whole


class Way:
    """One expression, and what its fields become."""

    def __init__(self, table: Table, expression: Expression, multiline: bool) -> None:
        self.expression = expression
        fields = (*expression.fields, BEFORE, REST)
        self.fitter = Fitter(table, fields, always=(BEFORE, REST))
        self.candidates = _multiline_matchers(expression) if multiline else matchers(expression)
        self.words = None if multiline else word_reader(expression)
        self.chosen: Matcher | None = None if len(self.candidates) > 1 else self.candidates[0]

    def match(self, lines: Lines) -> list[Part]:
        """Lines with what was found in them, each line in one part; all those that do not match are in the last."""
        if len(lines) < _FEW:
            return [(lines, (self.chosen or self.candidates[0]).match(lines.texts))]
        if self.chosen is None:
            sample = lines.first(SAMPLE)
            self.chosen = cheapest(self.candidates, sample.texts)
            if self.words is not None and not _pays(self.words, self.chosen, sample):
                self.words = None
        if self.words is None:
            return [(lines, self.chosen.match(lines.texts))]
        groups, found = self.words.read(lines)
        if not found.any():
            return [(lines, self.chosen.match(lines.texts))]
        done = (lines if found.all() else lines.where(found), Matched(groups, np.ones(np.count_nonzero(found), bool)))
        rest = lines.where(~found)
        return [done, (rest, self.chosen.match(rest.texts))] if len(rest) else [done]

    def fields(self, matched: Matched) -> dict[str, pa.Array]:
        """Texts by field, of the lines that match; of groups with one field the first that took part.

        What stands outside of the matches is two fields more, if there is any.
        """
        ok = pa.array(matched.ok)
        all_match = bool(matched.ok.all())
        fields: dict[str, pa.Array] = {}
        for capture in self.expression.captures:
            texts = matched.groups[capture.group]
            texts = texts if all_match else texts.filter(ok)
            before = fields.get(capture.field)
            fields[capture.field] = texts if before is None else pc.coalesce(before, texts)
        if matched.outside is not None:
            outside = matched.outside.filter(ok)
            fields |= {BEFORE: outside.before, REST: outside.behind}
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
        self,
        table: Table,
        expressions: Sequence[Expression],
        start: str | None = None,
        skip: str | None = None,
        lead: str | None = None,
    ) -> None:
        self.skip = skip
        self.starts = Starts(start, lead) if start is not None else None
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
        lines = Lines.filled(block)
        skipped, bad = len(block) - len(lines), list(block.bad)
        batches: list[Batch] = []
        for way in self.ways:
            parts = way.match(lines)
            for part, matched in parts:
                if not batches or matched.ok.any():
                    fields = way.typed(self.prepared(way.fields(matched), stream))
                    batches.append(_batch(block, part.numbers[matched.ok], way.fitter, fields))
            if matched.ok.all():
                break
            lines = part.where(~matched.ok)
        slow = {int(part.numbers[i]) for i in matched.slow}
        refused = part.numbers[~matched.ok]
        if self.skip and len(refused):
            nothing = bools(pc.match_substring_regex(lines.texts, self.skip))
            skipped += int(np.count_nonzero(nothing))
            refused = refused[~nothing]
        bad += [block.refuse(line, way.reason(line in slow)) for line in refused.tolist()]
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
