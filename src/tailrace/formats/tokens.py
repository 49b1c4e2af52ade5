"""Lines of fields between single blanks, quotes and brackets → columns, by Arrow's CSV tokenizer.

The tokenizer believes every quote it sees, so numpy proves the quoting of each line first. Lines that cannot
be proved, or do not come out as the layout says, are left to the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.base import Positions
from tailrace.formats.csv_reader import CsvReader
from tailrace.formats.dialects import Field, Token
from tailrace.formats.fit import Texts, null_where
from tailrace.formats.lines import LineBlock
from tailrace.formats.quoting import (
    BLANK,
    Mask,
    brackets_in,
    packed,
    prove,
    quoted_in,
    requote_brackets,
    without_inner,
)

PROTOCOL = "HTTP/"


@dataclass(frozen=True, slots=True)
class Word:
    """What stands between two blanks of a layout: a field, or a fixed text."""

    kind: str
    name: str = ""
    text: str = ""


Plan = list[tuple[Word, int]]


@dataclass(frozen=True, slots=True)
class Request:
    """A quoted field that holds an HTTP request line, and the names of its three parts."""

    name: str
    parts: tuple[str, str, str]


@dataclass(slots=True)
class Tokenized:
    """Rows of which `lines` are the numbers in the block; texts, or typed where the reader was told so."""

    lines: Positions
    fields: Texts


def words_of(tokens: tuple[Token, ...]) -> tuple[Word, ...] | None:
    """The layout as words between single blanks, or None if it is written otherwise."""
    words: list[Word] = []
    for place, token in enumerate(tokens):
        if isinstance(token, Field):
            if token.kind == "spaced" or (place and isinstance(tokens[place - 1], Field)):
                return None
            words.append(Word(token.kind, token.name))
            continue
        first, last = place == 0, place == len(tokens) - 1
        if not (first or token.text.startswith(" ")) or not (last or token.text.endswith(" ")):
            return None
        inner = token.text[0 if first else 1 : None if last else -1] if token.text != " " else ""
        texts = inner.split(" ") if inner else []
        if any(not text or set(text) & set('"[]') for text in texts):
            return None
        words += [Word("text", text=text) for text in texts]
    return tuple(words)


class Tokenizer:
    """Reads lines that have exactly these words."""

    def __init__(
        self,
        words: tuple[Word, ...],
        types: dict[str, pa.DataType],
        null: str | None,
        request: Request | None = None,
    ) -> None:
        self.words = words
        self.null = null
        self.request = request
        self.types = dict(types)
        # Before a list, a word that ends with a comma is a part of it.
        before_lists = {a.name for a, b in pairwise(words) if b.kind in ("address", "list")}
        self.before_lists = before_lists - types.keys()
        quoted = [word.name for word in words if word.kind == "quoted"]
        self.quotes = 2 * len(quoted)
        self.request_quote = 2 * quoted.index(request.name) if request else 0
        after_brackets = [b.name for a, b in pairwise(words) if a.kind == "bracketed" and b.kind == "quoted"]
        alone = sum(word.kind == "bracketed" for word in words) == 1 and len(after_brackets) == 1
        self.bracket_quote = 2 * quoted.index(after_brackets[0]) if alone else None

    def expects(self, line: bytes) -> bool:
        """Has this line as many words as the layout?"""
        quoted = quoted_in(line)
        if 2 * len(quoted) != self.quotes:
            return False
        if self.request and quoted[self.request_quote // 2].count(b" ") != 2:
            return False
        return without_inner(line).count(b" ") == len(self.words) - 1

    def read(self, block: LineBlock, lines: Positions) -> tuple[Tokenized | None, Positions]:
        """The rows it could read, and the lines it could not."""
        data = np.frombuffer(block.buffer, np.uint8)
        proved, quotes = prove(block, data, lines, self.quotes)
        taken = lines if proved.all() else lines[proved]
        if not len(taken):
            return None, lines
        brackets = brackets_in(block.raw(int(taken[0])))
        requoted = False
        if self.request or self.bracket_quote is not None:
            data = data.copy()
        if self.bracket_quote is not None and len(brackets) == 1:
            requoted = requote_brackets(data, quotes, self.bracket_quote, len(brackets[0]))
        if self.request:
            # Blanks for its quotes: the three parts come out as columns, between two empty ones.
            data[quotes[:, self.request_quote]] = BLANK
            data[quotes[:, self.request_quote + 1]] = BLANK
        plan = self._plan(brackets, requoted)
        columns, kept = self._columns(packed(data, block, taken), len(taken), plan)
        if kept is None:
            return Tokenized(taken, columns), lines[~proved]
        proved[proved] = kept
        done = Tokenized(taken[kept], columns)
        return (done if len(done.lines) else None), lines[~proved]

    def _columns(self, buffer: pa.Buffer, count: int, plan: Plan) -> tuple[Texts, Mask | None]:
        """Fields, and which lines they stand for (None = all)."""
        cells, refused = self._csv(buffer, plan)
        kept = np.ones(count, bool)
        kept[list(refused)] = False
        if len(cells[0][0]) != count - len(refused):
            return {}, np.zeros(count, bool)
        fields: Texts = {}
        fitting: list[pa.Array] = []
        for (word, _), arrays in zip(plan, cells, strict=True):
            self._collect(word, arrays, fields, fitting)
        failing = [_bools(mask) for mask in fitting if mask.true_count < len(mask)]
        if failing:
            wanted = np.logical_and.reduce(failing)
            kept[kept] = wanted
            fields = {name: array.filter(pa.array(wanted)) for name, array in fields.items()}
        return fields, kept if refused or failing else None

    def _plan(self, brackets: list[bytes], requoted: bool) -> Plan:
        """Each word with the number of CSV columns it takes; brackets are as wide as in the first line."""
        found = iter(brackets)
        plan: Plan = []
        for word in self.words:
            width = 1
            if word.kind == "bracketed" and requoted:
                word = Word("quoted", word.name)
            elif word.kind == "bracketed":
                width = next(found, b"").count(b" ") + 1
            elif self.request and word.name == self.request.name:
                width = 5
            plan.append((word, width))
        return plan

    def _csv(self, buffer: pa.Buffer, plan: Plan) -> tuple[list[list[pa.Array]], dict[int, int]]:
        """Per word the arrays of its columns, and the rows that have another number of columns."""
        cells = [[f"{n}.{part}" for part in range(width)] for n, (_, width) in enumerate(plan)]
        single = {cell[0]: word.name for cell, (word, width) in zip(cells, plan, strict=True) if width == 1}
        types = {cell: self.types[name] for cell, name in single.items() if name in self.types}
        asked = self.request.name if self.request else None
        around = [cell for cell, (word, _) in zip(cells, plan, strict=True) if word.name == asked]
        unread = {cell[part] for cell in around for part in (0, 4)}
        reader = CsvReader(
            [name for cell in cells for name in cell],
            types,
            [] if self.null is None else [self.null],
            unread,
            delimiter=" ",
            double_quote=False,
            escape_char=False,
        )
        arrays, refused = reader.read(buffer)
        for cell in types:
            if pa.types.is_string(reader.types[cell]):
                del self.types[single[cell]]
        return [[arrays[name] for name in cell if name in arrays] for cell in cells], refused

    def _collect(self, word: Word, arrays: list[pa.Array], fields: Texts, fitting: list[pa.Array]) -> None:
        """Adds the word's field or fields, and what must hold for a row to be as the layout says."""
        if word.kind == "text":
            if word.text == self.null:
                fitting.append(arrays[0].is_null())
            else:
                fitting.append(pc.equal(arrays[0], word.text).fill_null(False))
        elif word.kind == "bracketed":
            fitting.append(pc.starts_with(arrays[0], "[").fill_null(False))
            fitting.append(pc.ends_with(arrays[-1], "]").fill_null(False))
            whole = arrays[0] if len(arrays) == 1 else pc.binary_join_element_wise(*arrays, " ")
            fields[word.name] = null_where(pc.utf8_slice_codeunits(whole, 1, -1), self.null)
        elif self.request and word.name == self.request.name:
            fitting.append(pc.starts_with(arrays[2], PROTOCOL).fill_null(False))
            fields.update(zip(self.request.parts, arrays, strict=True))
        else:
            if word.kind == "address":
                fitting.append(arrays[0].is_valid())
            if word.name in self.before_lists:
                fitting.append(pc.invert(pc.ends_with(arrays[0], ",").fill_null(False)))
            fields[word.name] = arrays[0]


def _bools(mask: pa.Array) -> Mask:
    bools: Mask = mask.to_numpy(zero_copy_only=False)
    return bools
