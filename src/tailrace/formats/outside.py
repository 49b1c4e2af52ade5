"""What a line holds before and behind the match of an expression that is not bound to both of its ends."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.regex_tree import Node, parse

BEFORE = "tp_before"
"The field that holds what a line has before the match; what it has behind is `tp_rest`, as everywhere."
WHOLE = "fwhole"
"The group around the whole expression."
_STARTS, _ENDS = ("^", r"\A"), ("$", r"\z", r"\Z")
_FLAGS = re.compile(r"\(\?[a-zA-Z]*-?[a-zA-Z]*[):]")


@dataclass(frozen=True, slots=True)
class Outside:
    """Per line what stands outside of its match, without blanks around it; null where nothing does."""

    before: pa.Array
    behind: pa.Array

    @classmethod
    def of(cls, before: pa.Array, behind: pa.Array) -> Outside | None:
        """None if nothing is outside of any match."""
        found = cls(_worded(before), _worded(behind))
        return None if found.is_nothing() else found

    def is_nothing(self) -> bool:
        return bool(self.before.null_count + self.behind.null_count == 2 * len(self.before))

    def filter(self, mask: pa.Array) -> Outside:
        return Outside(self.before.filter(mask), self.behind.filter(mask))

    @classmethod
    def spread(cls, some: Outside, where: npt.NDArray[np.bool_]) -> Outside:
        """What is known of the lines at `where`, for all lines."""
        nothing = pa.nulls(len(where), pa.string())
        return cls(nothing, nothing).replaced(pa.array(where), some)

    def replaced(self, mask: pa.Array, some: Outside) -> Outside:
        """The same but for some lines."""
        return Outside(
            pc.replace_with_mask(self.before, mask, some.before),
            pc.replace_with_mask(self.behind, mask, some.behind),
        )


def _worded(texts: pa.Array) -> pa.Array:
    texts = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def takes_all(text: str) -> bool:
    """Is every match of the expression a whole line?"""
    if any("m" in found for found in _FLAGS.findall(text.removeprefix("(?s)"))):
        return False  # its anchors stand at any line end
    root = parse(text)
    return _bound(text, root, 0, _STARTS) and _bound(text, root, -1, _ENDS)


def _bound(text: str, node: Node, side: int, anchors: tuple[str, ...]) -> bool:
    written = text[node.start : node.end]
    if written in anchors or written == ".*" or (written == ".*?" and side == 0):
        return True
    if not node.once or not node.branches or _looks_around(written):
        return False
    sides = [[n for n in branch if not _is_flags(text, n)] for branch in node.branches]
    return all(branch and _bound(text, branch[side], side, anchors) for branch in sides)


def _looks_around(written: str) -> bool:
    return written.startswith(("(?=", "(?!", "(?<=", "(?<!", "(?(", "(?P="))


def _is_flags(text: str, node: Node) -> bool:
    return text[node.start : node.end] in ("(?s)", "(?i)", "(?si)", "(?is)")


def around(text: str, lines: pa.StringArray) -> tuple[pa.Array, pa.Array]:
    """What stands before and behind the first match of an expression that RE2 knows, in lines that match."""
    found = pc.extract_regex(lines, rf"(?s)\A(?P<before>.*?)(?:(?-s:{text}))(?P<behind>.*)\z")
    before, behind = found.flatten()
    return before, behind
