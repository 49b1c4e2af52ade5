"""Pieces of lines held against what the expression says of them: by their characters, or each distinct one by RE2."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.matchers import Mask, Re2, bools, only, portable
from tailrace.formats.outside import WHOLE
from tailrace.formats.regex_split import Leaf
from tailrace.formats.regex_tree import ALL, OTHER, free_chars, parse

_FEW = 6
"So many characters are looked for in a block one by one."


class LeafCheck:
    """One leaf: is a piece what it must be, and which texts do its groups have there?"""

    def __init__(self, name: str, leaf: Leaf, to_end: bool) -> None:
        """`to_end`: the last leaf must take all that is left of a line."""
        self.name = name
        text = portable(leaf.text)
        plain = only(text)
        to_end = to_end or leaf.until is not None
        end = "$" if to_end else ""
        body = plain[3:-1] if leaf.whole else plain
        self.needless = body == ".*" or (to_end and body == ".*?")
        self.whole = leaf.whole if to_end or self.needless else None
        inner = [n for n in leaf.captures if n != self.whole]
        self.inner = Re2(f"^(?:{text}){end}", inner) if inner or not (to_end or self.needless) else None
        self.test = f"^(?:{plain}){end}"
        self.needed = bool(leaf.captures) or not self.needless
        tree = parse(plain)
        free = free_chars(tree) if to_end and not inner else 0
        self.may_be_empty = tree.empty and not tree.edge
        self.allowed = _by_byte(free) if free else None
        self.shunned = ALL ^ free if free and (ALL ^ free).bit_count() <= _FEW else 0
        "If a block has none of these, only the empty text does not match; 0: too many, look at the texts."

    def read(self, pieces: pa.Array, groups: dict[str, pa.Array], absent: int = 0) -> Mask:
        """Which pieces match; adds the texts of the groups in them. `absent` characters are in none of them."""
        if self.whole:
            groups[self.whole] = pieces
        if (self.needless and self.inner is None) or self._plainly_fine(pieces, absent):
            return np.ones(len(pieces), bool)
        coded = pieces.dictionary_encode()
        where = coded.indices
        if self.inner is None:
            return bools(pc.match_substring_regex(coded.dictionary, self.test).take(where).fill_null(False))
        found = self.inner.found(coded.dictionary)
        ok = pa.array(found.ok)
        taken = found.groups.pop(WHOLE, None)
        if taken is not None:  # the last leaf: what it leaves of a line is for another matcher to keep
            ok = pc.and_(ok, pc.equal(taken, coded.dictionary).fill_null(False))
        groups |= {name: texts.take(where) for name, texts in found.groups.items()}
        return bools(ok.take(where).fill_null(False))

    def _plainly_fine(self, pieces: pa.Array, absent: int) -> bool:
        """Do all match, as can be seen from the characters in them?"""
        if self.allowed is None or pieces.null_count:
            return False
        offsets = offsets_of(pieces)
        if not self.may_be_empty and bool((offsets[1:] == offsets[:-1]).any()):
            return False
        if self.shunned and not self.shunned & ~absent:
            return True
        data = pieces.buffers()[2]
        if data is None:
            return True
        used = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
        return bool(self.allowed[used].all())


def offsets_of(texts: pa.Array) -> npt.NDArray[np.int32]:
    """Where each text begins, and where the last one ends."""
    return np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]


def absent_of(checks: list[LeafCheck], buffer: bytes) -> int:
    """Which of the characters that some of them shun are nowhere in a block."""
    asked = 0
    for check in checks:
        asked |= check.shunned
    chars = [c for c in range(128) if asked >> c & 1 and bytes([c]) not in buffer]
    return sum(1 << c for c in chars) | (OTHER if asked & OTHER and buffer.isascii() else 0)


def _by_byte(chars: int) -> Mask:
    allowed = np.array([bool(chars >> c & 1) for c in range(256)])
    allowed[128:] = bool(chars & OTHER)
    return allowed
