"""Lines by regular expression or grok, with the matcher that proves cheapest on the first lines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Grok, Regex, Table, col
from tailrace.formats.base import Batch, Decoder, Positions, Stream
from tailrace.formats.casts import cast_texts
from tailrace.formats.cutting import Cutting
from tailrace.formats.fit import Fitter
from tailrace.formats.grok import Expression, compiled
from tailrace.formats.lines import LineBlock, cut_lines
from tailrace.formats.matchers import LINE_SECONDS, Backtracking, Matched, Matcher, Re2, portable
from tailrace.formats.regex_split import split

SAMPLE = 1000
"Lines on which the matchers are timed."
_FEW = 100
_RETURN = 13


def regex_decoder(table: Table, format: Regex | Grok) -> Decoder:
    """The engine for lines that an expression describes."""
    return RegexDecoder(table, compiled(format))


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


class RegexDecoder:
    """One expression over the lines of any number of artifacts."""

    def __init__(self, table: Table, expression: Expression) -> None:
        self.expression = expression
        self.fitter = Fitter(table, expression.fields)
        self.candidates = matchers(expression)
        self.chosen: Matcher | None = None if len(self.candidates) > 1 else self.candidates[0]

    def decode(self, stream: Stream) -> Iterator[Batch]:
        for block in cut_lines(stream):
            yield self._batch(block)

    def _batch(self, block: LineBlock) -> Batch:
        lines, filled = _texts(block)
        matched = self._matcher(lines).match(lines)
        rows = filled[matched.ok]
        place = {int(line): row for row, line in enumerate(rows)} if block.originals else {}
        invalid = [place[line] for line in block.originals if line in place]
        fields = self._typed(self._fields(matched))
        columns, extra, flagged = self.fitter.fit(fields, len(rows), invalid=invalid)
        slow = set(matched.slow)
        refused = np.flatnonzero(~matched.ok).tolist()
        bad = [block.refuse(int(filled[i]), self._reason(i in slow)) for i in refused]
        return Batch(
            columns=columns,
            positions=block.positions[rows],
            raw=lambda row: block.raw(int(rows[row])),
            extra=extra,
            flagged=flagged,
            bad=sorted([*block.bad, *bad], key=lambda entry: entry.position),
            skipped=len(block) - len(filled),
        )

    def _matcher(self, lines: pa.StringArray) -> Matcher:
        if self.chosen is None and len(lines) >= _FEW:
            self.chosen = cheapest(self.candidates, lines[:SAMPLE])
        return self.chosen or self.candidates[0]

    def _fields(self, matched: Matched) -> dict[str, pa.Array]:
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

    def _typed(self, fields: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """Fields without a column in the type of their capture, if all fit: numbers in `tp_extra` then."""
        for name, type in self.expression.types.items():
            if name in self.fitter.kept:
                values = cast_texts(col(name, type), fields[name])
                if values.null_count == fields[name].null_count:
                    fields[name] = values
        return fields

    def _reason(self, slow: bool) -> str:
        return f"{self.expression.kind}: {f'no answer within {LINE_SECONDS} s' if slow else 'no match'}"


def _texts(block: LineBlock) -> tuple[pa.StringArray, Positions]:
    """The lines that are not blank as Arrow strings (the block is valid UTF-8), and which they are."""
    lengths = block.ends - block.starts
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = np.frombuffer(block.buffer, np.uint8)
    kept = np.ones(len(data), bool)
    ended = block.ends[block.ends < len(data)]
    kept[ended] = False
    kept[ended[data[ended] == _RETURN] + 1] = False
    texts = pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(data[kept]))
    blank = pc.match_substring_regex(texts, r"^[ \t]*$")
    if not pc.any(blank).as_py():
        return texts, np.arange(len(lengths))
    filled = np.flatnonzero(~blank.to_numpy(zero_copy_only=False))
    return texts.take(pa.array(filled)), filled
