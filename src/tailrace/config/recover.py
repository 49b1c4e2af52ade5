"""Where the grammar gets stuck: what is wrong is named, and the blocks around it are left out."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from tailrace.config.places import Problem, Report
from tailrace.config.scan import MAX_PROBLEMS, Scanned

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_PAIRS = {b"{": b"}", b"[": b"]", b"(": b")"}
_SLIPS = (
    (
        re.compile(rb'^\s*(?P<word>[A-Za-z_]\w*)(?:[ \t]+"_*")+[ \t]*(?P<here>=)[ \t]*\{'),
        "a block takes no '='",
        'write {} "…" {{ … }}',
    ),
    (
        re.compile(rb'^\s*(?P<word>[A-Za-z_]\w*)[ \t]*(?P<here>=)[ \t]*"_*"[ \t]*\{'),
        "a block takes no '='",
        'write {} "…" {{ … }}',
    ),
    (
        re.compile(rb"[=\[,][ \t]*(?P<here>(?P<word>(~|\.{1,2})?/[\w./*?~-]*))"),
        "a path stands between double quotes",
        'write "{}"',
    ),
    (
        re.compile(rb"(?P<here>'(?P<word>[^'\n]*)')"),
        "a text stands between double quotes",
        'write "{}"',
    ),
    (
        re.compile(rb'^\s*(?P<word>[A-Za-z_][\w-]*)[ \t]+(?P<here>"_*")[ \t]*$'),
        "expected '=' after '{}'",
        "write {} = …",
    ),
    (
        re.compile(rb'^\s*(?P<here>"_*")[ \t]*[=:]'),
        "the name of an attribute stands without quotes",
        "write name = value",
    ),
    (re.compile(rb"^\s*(?P<word>[A-Za-z_][\w-]*)[ \t]*(?P<here>:)"), "expected '=' after '{}'", "write {} = …"),
    (
        re.compile(rb'["\])}][ \t]+(?P<here>"_*")[ \t]*[,\]]'),
        "expected ',' before this",
        "items of a list stand between commas",
    ),
    (
        re.compile(rb"=[ \t]*(?P<here>[A-Za-z_]\w*)[ \t]+[A-Za-z_][\w \t]*$"),
        "expected one value",
        "put a text between double quotes",
    ),
)
"Mistakes that many make, as they look in a masked line: where, what is said, and what helps."
_SHORT = 4096
_PIECE = 1024
_PATIENCE = 30_000
"Bytes of wrong text that are read over and over: the grammar takes its time with them."


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_hcl

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_hcl.language()))


def grammar(masked: bytes) -> Node:
    """The tree of a text without strings and comments."""
    if len(masked) <= _SHORT:
        return _parser().parse(masked).root_node
    # In long texts that are wrong the grammar goes to and fro for ever: after some time it finds that they end.
    left = 4 * len(masked) // _PIECE + 100

    def piece(at: int, _: object) -> bytes:
        nonlocal left
        left -= 1
        return masked[at : at + _PIECE] if left > 0 else b""

    root = _parser().parse(piece).root_node
    return root if left > 0 or root.has_error else _parser().parse(b"{").root_node


class Recovery:
    """Of one file in which the grammar got stuck."""

    def __init__(self, scanned: Scanned, report: Report) -> None:
        self.scanned = scanned
        self.report = report
        self.patience = _PATIENCE

    def root(self) -> Node:
        """The file without the blocks that the grammar cannot place; what is wrong in them is noted."""
        scanned, size = self.scanned, len(self.scanned.masked)
        noted = 0
        for start, end in zip([0, *scanned.tops], [*scanned.tops, size], strict=True):
            noted += self._block(start, end, MAX_PROBLEMS - noted)
        if not noted:
            self._block(0, size, 1)
        root = grammar(bytes(scanned.masked))
        if root.has_error:
            scanned.leave_out(0, size)
            root = grammar(bytes(scanned.masked))
        return root

    def _block(self, start: int, end: int, most: int) -> int:
        """Note what is wrong in a block and leave it out; gives the number of problems."""
        seen: set[tuple[int, int]] = set()
        while len(seen) < most and (line := self._stuck_line(start, end)) and line not in seen:
            seen.add(line)
            self.report.add(self._problem(start, line))
            whole = bytes(self.scanned.masked[slice(*line)])
            if _closed(whole) != whole or self.patience < 0:
                break  # without the line that opens it, the end of a block would be the next riddle
            self.scanned.blank(*line)
        if seen:
            self.scanned.leave_out(start, end)
        return len(seen)

    def _grammar(self, text: bytes) -> Node:
        root = grammar(text)
        self.patience -= len(text) if root.has_error else 0
        return root

    def _stuck_line(self, start: int, end: int) -> tuple[int, int] | None:
        """The first line of a stretch of text that the grammar cannot place."""
        block = bytes(self.scanned.masked[start:end])
        root = self._grammar(block)
        if not root.has_error:
            return None
        ends = [match.start() for match in re.finditer(rb"\n|\Z", block)]
        if self.patience > len(block) * len(ends).bit_length():
            line = bisect_left(ends, True, key=lambda stop: self._grammar(_closed(block[:stop])).has_error)
        else:
            wrong = (node.start_byte for node in _walk(root) if node.is_error or node.is_missing)
            line = bisect_left(ends, next(wrong, 0))
        return start + (ends[line - 1] + 1 if line else 0), start + ends[min(line, len(ends) - 1)]

    def _problem(self, start: int, line: tuple[int, int]) -> Problem:
        """Points at the line, and at the word in it if that is known."""
        text, (first, last) = self.scanned.text, line
        for slip, message, hint in _SLIPS:
            if found := slip.search(bytes(self.scanned.masked[first:last])):
                word = found["word"].decode() if "word" in found.groupdict() else ""
                where = text.where(first + found.start("here"))
                return self.report.make(where, message.format(word), "syntax", hint.format(word))
        at = self._stuck_word(start, line)
        known = at > first
        while text.data[at : at + 1].isspace():
            at += 1
        words = text.data[at : at + 40].decode(errors="ignore").split() or ["the end of the file"]
        hint = 'expected name = value, or: kind "label" { … }'
        if words[0].startswith("..."):
            return self.report.make(text.where(at), "'...' stands for nothing", "syntax", "write out what is meant")
        if words[0].startswith("'"):
            hint = "a text stands between double quotes"
        word = words[0].strip("'\"")
        message = f"unexpected '{word}'" if known else "this cannot be read"
        return self.report.make(text.where(at), message, "syntax", hint)

    def _stuck_word(self, start: int, line: tuple[int, int]) -> int:
        """Where in the line the grammar got stuck; the line's beginning if it does not say."""
        first, last = line
        if self.patience < 0:
            return first
        nodes = list(_walk(self._grammar(_closed(bytes(self.scanned.masked[start:last])))))
        # Masked text holds no heredocs: the grammar tries one only where it got stuck.
        stuck = [start + node.start_byte for node in nodes if node.type == "heredoc_identifier"]
        stuck += [start + node.start_byte for node in nodes if node.is_error]
        return next((offset for offset in stuck if first < offset < last), first)


def _closed(masked: bytes) -> bytes:
    """The beginning of a text with what is open in it closed."""
    opened: list[bytes] = []
    for match in re.finditer(rb"[{\[(]|[}\])]", masked):
        if match[0] in _PAIRS:
            opened.append(_PAIRS[match[0]])
        elif opened:
            opened.pop()
    return masked + b"".join(reversed(opened))


def _walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text, without recursion."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))
