"""Lines that an expression describes as words between blanks, by Arrow's CSV tokenizer instead of the expression.

The tokenizer finds the words, their lengths prove that each stands where the expression wants it, and each is held
against its leaf. A line for which any of that fails may match all the same: it is left to the other matchers.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.base import Positions
from tailrace.formats.csv_reader import CsvReader
from tailrace.formats.leaf_check import LeafCheck, absent_of, offsets_of
from tailrace.formats.line_texts import Lines
from tailrace.formats.lines import LineBlock
from tailrace.formats.quoting import (
    BLANK,
    CLOSING,
    OPENING,
    Data,
    Mask,
    Places,
    brackets_in,
    packed,
    prove,
    requote_brackets,
)
from tailrace.formats.regex_split import Split
from tailrace.formats.regex_tree import mask
from tailrace.formats.regex_words import Cell

Texts = dict[str, pa.Array]
_NEVER = mask("\n") | mask('"')
"Not in any piece: lines end there, and all the quotes are around words."


class WordReader:
    """Reads the lines that have exactly these words."""

    def __init__(self, cut: Split, cells: tuple[Cell, ...], names: Iterable[str]) -> None:
        self.cells = cells
        self.names = list(names)
        self.quotes = cut.quotes
        self.shunned = cut.shunned.encode()
        self.checks = [[LeafCheck("", leaf, cut.to_end) for leaf in cell.leaves] for cell in cells]
        in_quotes = [cell for cell in cells if cell.in_quotes]
        before = [after for cell, after in pairwise(cells) if cell.kind == "bracketed" and after.in_quotes]
        alone = sum(cell.kind == "bracketed" for cell in cells) == 1 and len(before) == 1
        self.bracket_quote = 2 * in_quotes.index(before[0]) if alone else None
        self.opened = [2 * number for number, cell in enumerate(in_quotes) if cell.kind == "opened"]

    def read(self, lines: Lines) -> tuple[Texts, Mask]:
        """The groups of lines that match, and which lines these are."""
        block = lines.block
        mine = self._without_shunned(block, lines.numbers)
        taken = lines.numbers[mine]
        data = np.frombuffer(block.buffer, np.uint8)
        proved, quotes = prove(block, data, taken, self.quotes)
        if not proved.all():
            mine[mine] = proved
            taken = taken[proved]
        if not len(taken):
            return {}, mine
        widths = brackets_in(block.raw(int(taken[0])))
        requoted = False
        if self.bracket_quote is not None or self.opened:
            data = data.copy()
        if self.bracket_quote is not None and len(widths) == 1:
            requoted = requote_brackets(data, quotes, self.bracket_quote, len(widths[0]))
        for number in self.opened:  # the words inside come out as columns, between two empty ones
            data[quotes[:, number]] = BLANK
            data[quotes[:, number + 1]] = BLANK
        spans = iter([1] if requoted else [text.count(b" ") + 1 for text in widths])
        plan = [_columns_of(cell, spans) for cell in self.cells]
        arrays, kept = _tokenized(packed(data, block, taken), plan, len(taken))
        if not kept.all():
            mine[mine] = kept
            taken, quotes = taken[kept], quotes[kept]
        if not len(taken):
            return {}, mine
        fine = self._placed(data, block, taken, quotes, arrays, requoted)
        return self._matched(block, arrays, mine, fine, requoted)

    def _without_shunned(self, block: LineBlock, numbers: Positions) -> Mask:
        mine = np.ones(len(numbers), bool)
        for sign in self.shunned:
            if bytes([sign]) in block.buffer:
                places = np.flatnonzero(np.frombuffer(block.buffer, np.uint8) == sign)
                mine &= np.searchsorted(places, block.starts[numbers]) == np.searchsorted(places, block.ends[numbers])
        return mine

    def _placed(
        self,
        data: Data,
        block: LineBlock,
        lines: Positions,
        quotes: Places,
        arrays: list[list[pa.Array]],
        requoted: bool,
    ) -> Mask:
        """In which lines every word stands in its place: none is quoted but those that should be."""
        fine = np.ones(len(lines), bool)
        at, ends, quote = block.starts[lines], block.ends[lines], 0
        for cell, texts in zip(self.cells, arrays, strict=True):
            size = sum(np.diff(offsets_of(text)) + 1 for text in texts)  # with the blank behind each
            if cell.in_quotes:
                closing = at + size
                fine &= (at == quotes[:, quote]) & (closing == quotes[:, quote + 1])
                if cell.kind == "opened":  # behind it stands the second of the empty columns
                    fine &= (data.take(closing + 1, mode="clip") == BLANK) | (closing + 1 == ends)
                at, quote = closing + 2, quote + 2
            elif cell.kind == "bracketed" and requoted:
                at = at + size + 2
            elif cell.kind == "bracketed":
                fine &= data.take(at, mode="clip") == OPENING
                at = at + size
                fine &= data.take(at - 2, mode="clip") == CLOSING
            else:
                at = at + size
        fine &= at == ends + 1
        return fine

    def _matched(
        self, block: LineBlock, arrays: list[list[pa.Array]], mine: Mask, fine: Mask, requoted: bool
    ) -> tuple[Texts, Mask]:
        groups: Texts = {}
        nowhere = absent_of([check for checks in self.checks for check in checks], block.buffer)
        for cell, texts, checks in zip(self.cells, arrays, self.checks, strict=True):
            absent = nowhere | _NEVER | (mask(" ") if cell.kind in ("bare", "opened") else 0)
            pieces = [_joined(texts)] if cell.kind == "bracketed" and not requoted else texts
            if cell.group:
                groups[cell.group] = pc.binary_join_element_wise(pa.scalar('"'), texts[0], pa.scalar('"'), "")
            for check, piece in zip(checks, pieces, strict=True):
                if check.needed:
                    fine &= check.read(piece, groups, absent)
        groups = {name: groups[name] for name in self.names}
        if not fine.all():
            mine[mine] = fine
            groups = {name: texts.filter(pa.array(fine)) for name, texts in groups.items()}
        return groups, mine


def _columns_of(cell: Cell, spans: Iterable[int]) -> list[bool]:
    """Per CSV column whether it is read."""
    if cell.kind == "bracketed":
        return [True] * next(iter(spans), 1)
    if cell.kind == "opened":
        return [False, *[True] * len(cell.leaves), False]
    return [True]


def _tokenized(buffer: pa.Buffer, plan: list[list[bool]], count: int) -> tuple[list[list[pa.Array]], Mask]:
    """Per word its columns, and which lines they stand for."""
    cells = [[f"{number}.{part}" for part in range(len(reads))] for number, reads in enumerate(plan)]
    names = [name for cell in cells for name in cell]
    asked = dict(zip(names, (reads for cell in plan for reads in cell), strict=True))
    unread = [name for name in names if not asked[name]]
    reader = CsvReader(names, {}, [], unread, delimiter=" ", double_quote=False, escape_char=False)
    arrays, refused = reader.read(buffer)
    kept = np.ones(count, bool)
    kept[list(refused)] = False
    columns = [[arrays[name] for name in cell if asked[name]] for cell in cells]
    if len(columns[0][0]) != count - len(refused):
        kept[:] = False
    return columns, kept


def _joined(texts: list[pa.Array]) -> pa.Array:
    """What stands inside brackets."""
    whole = texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, " ")
    return pc.utf8_slice_codeunits(whole, 1, -1)
