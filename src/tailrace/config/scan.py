"""First pass over a file: takes strings and comments out, so that the grammar never sees inside them.

HCL reads `%{` and `${` in every string and knows no backticks; log layouts are full of the former.
Unbalanced brackets and open strings are found on the way: they can be named better here than by a grammar.
A block in which something is wrong is left out, so that what is wrong in the others is found as well.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from tailrace.config.places import Problem, Report, Text
from tailrace.config.strings import Pieces, Strings

RAW_ATTRIBUTES = frozenset({b"layout", b"file_layout", b"log_format", b"source_format"})
"Attributes whose texts hold `%{…}` and `${…}` of their own: kept as written."
RAW_MAPS = frozenset({b"patterns"})
MAX_DEPTH = 100
MAX_PROBLEMS = 20
"Of one file; who has that many wants to see the first ones first."

_TOKEN = re.compile(
    rb"""(?P<comment>(?:\#|//)[^\n]*)|(?P<long>/\*)
    |(?P<heredoc><<(?P<strip>-?)(?P<tag>[A-Za-z_][\w-]*)[ \t]*\r?\n)
    |(?P<power>(?<![\w.])\d+[eE][+-]?\d+\b)
    |(?P<quote>")|(?P<backtick>`)|(?P<open>[{\[(])|(?P<close>[}\])])
    |(?P<name>(?<![\w-])[A-Za-z_][\w-]*+)[ \t]*+(?P<sign>[=:])(?![=>])[ \t]*""",
    re.VERBOSE,
)
_NOT_LINE_END = re.compile(rb"[^\n]")
_NOTHING = re.compile(rb"\r?\n|#|//|\Z")
_STRAY = "closes nothing"
_CLOSING = {b"{": b"}", b"[": b"]", b"(": b")"}
_BLOCK_START = re.compile(rb'^[A-Za-z_][\w-]*+(?:[ \t]++[A-Za-z_][\w-]*+)*+[ \t]*+["{]', re.MULTILINE)
"Where a top-level block seems to begin: at the margin."


@dataclass(slots=True)
class Scanned:
    """What the grammar gets to see, and the strings it does not, by the offset at which each begins."""

    text: Text
    masked: bytearray
    strings: dict[int, Pieces]
    broken: set[tuple[int, int]] = field(default_factory=set)
    "Stretches of text that cannot be read."
    tops: list[int] = field(default_factory=list)
    "Where top-level blocks end."
    _starts: list[int] = field(default_factory=list)

    def around(self, at: int) -> tuple[int, int]:
        """The top-level block around an offset, as far as it can be told: blocks begin at the margin."""
        if not self._starts:
            self._starts = [0, *(m.start() for m in _BLOCK_START.finditer(self.text.data)), len(self.text.data)]
        after = bisect_right(self._starts, at)
        return self._starts[after - 1], self._starts[min(after, len(self._starts) - 1)]

    def leave_out(self, start: int, end: int) -> None:
        """The grammar is not to see this."""
        self.broken.add((start, end))
        self.blank(start, end)

    def blank(self, start: int, end: int) -> None:
        self.masked[start:end] = _NOT_LINE_END.sub(b" ", self.text.data[start:end])


@dataclass(frozen=True, slots=True)
class _Bracket:
    sign: bytes
    at: int
    raw: bool


def scan(text: Text, report: Report) -> Scanned:
    """Mask all strings of a file; blocks that cannot be read are noted and left out."""
    scanner = _Scanner(text, report)
    scanned = scanner.scanned
    at = 0
    for number in range(MAX_PROBLEMS):
        try:
            scanner.code(at, None, 0)
            return scanned
        except Problem as problem:
            # After another fault a bracket too many is most likely its consequence.
            if not number or not problem.message.endswith(_STRAY):
                report.add(problem)
            found = text.offset(problem.place)
            start, end = scanned.around(found)
            if scanner.goes_on:
                scanner.note_more(found, end)
            scanned.leave_out(max(start, at), end)
            scanned.masked[end:] = text.data[end:]
            scanner.strings.raw_spans.clear()
            scanned.tops = [*(top for top in scanned.tops if top <= start), end]
            at = end
    scanned.leave_out(at, len(text.data))
    return scanned


class _Scanner:
    def __init__(self, text: Text, report: Report) -> None:
        self.text = text
        self.data = text.data
        self.report = report
        masked = bytearray(text.data)
        self.strings = Strings(text, report, masked, self.code)
        self.scanned = Scanned(text, masked, self.strings.found)
        self.end = len(text.data)
        self.goes_on = False
        "Is the last problem one of its own line?"
        self.counts_brackets = True
        self.commas_missing = 0

    def note_more(self, at: int, end: int) -> None:
        """Note what else is wrong with single lines of a block; its brackets do not count any more."""
        self.end, self.counts_brackets = end, False
        for _ in range(MAX_PROBLEMS):
            line_end = self.data.find(b"\n", at, end)
            if line_end < 0:
                break
            try:
                self.code(line_end + 1, None, 0)
                break
            except Problem as problem:
                if not self.goes_on:
                    break
                self.report.add(problem)
                at = self.text.offset(problem.place)
        self.end, self.counts_brackets = len(self.data), True

    def problem(self, at: int, message: str, hint: str | None = None, *, goes_on: bool = False) -> Problem:
        self.goes_on = goes_on
        return self.report.make(self.text.where(at), message, "syntax", hint)

    def code(self, at: int, interpolation: int | None, depth: int) -> int:
        """Scan code up to the end of the file, or of the interpolation that began at that offset."""
        if depth > MAX_DEPTH:
            raise self.problem(at, "nested too deeply")
        opened: list[_Bracket] = []
        raw_at = raw_map_at = string_end = -1
        while match := _TOKEN.search(self.data, at, self.end):
            start, at = match.start(), match.end()
            inside_raw = bool(opened) and opened[-1].raw
            match match.lastgroup:
                case "comment":
                    self.scanned.masked[start:at] = b" " * (at - start)
                case "power":  # the grammar knows 1.0e3, but not 1e3
                    self.scanned.masked[start:at] = b"1" * (at - start)
                case "long":
                    at = self._comment(start)
                case "quote":
                    self._comma(opened, string_end, start)
                    self.goes_on = True
                    at = string_end = self.strings.quoted(start, inside_raw or start == raw_at, interpolation, depth)
                case "backtick":
                    self._comma(opened, string_end, start)
                    self.goes_on = False
                    at = string_end = self.strings.raw(start)
                case "tag" | "heredoc":
                    self.goes_on = False
                    at = self.strings.heredoc(match, inside_raw or start == raw_at, depth)
                case "open":
                    opened.append(_Bracket(match[0], start, inside_raw or start == raw_map_at))
                    if len(opened) > MAX_DEPTH:
                        raise self.problem(start, "nested too deeply")
                case "close":
                    if not opened and interpolation is not None and match[0] == b"}":
                        return at
                    self._close(opened, match[0], start)
                    if not opened and interpolation is None:
                        self.scanned.tops.append(at)
                case _:
                    self._name(match)
                    raw_at = at if match["name"] in RAW_ATTRIBUTES else -1
                    raw_map_at = at if match["name"] in RAW_MAPS else -1
        if interpolation is not None:
            raise self.strings.never_closed(interpolation)
        if opened and self.counts_brackets:
            sign = opened[-1].sign
            hint = f"add the '{_CLOSING[sign].decode()}' that ends it"
            raise self.problem(opened[-1].at, f"'{sign.decode()}' is never closed", hint)
        return self.end

    def _comma(self, opened: list[_Bracket], before: int, at: int) -> None:
        """Two texts in a list need something between them. The grammar says so too, but takes long over many."""
        if before >= 0 and opened and opened[-1].sign != b"{" and not self.data[before:at].strip():
            self.commas_missing += 1
            if self.commas_missing > MAX_PROBLEMS:
                raise self.problem(at, "expected ',' before this", "items of a list stand between commas")

    def _name(self, match: re.Match[bytes]) -> None:
        if match["sign"] == b"=" and _NOTHING.match(self.data, match.end()):
            name = match["name"].decode()
            raise self.problem(match.start(), f"'{name}' has no value", f"write {name} = … on one line", goes_on=True)

    def _close(self, opened: list[_Bracket], sign: bytes, at: int) -> None:
        if not self.counts_brackets:
            del opened[-1:]
            return
        if not opened:
            raise self.problem(at, f"'{sign.decode()}' {_STRAY}", "take it away, or see what is closed twice above")
        bracket = opened.pop()
        if _CLOSING[bracket.sign] != sign:
            line = self.text.where(bracket.at).line
            wanted = _CLOSING[bracket.sign].decode()
            found, opening = sign.decode(), bracket.sign.decode()
            message = f"expected '{wanted}' for the '{opening}' of line {line}, found '{found}'"
            raise self.problem(at, message, f"write '{wanted}' before it, or see what is open above")

    def _comment(self, start: int) -> int:
        end = self.data.find(b"*/", start + 2)
        if end < 0:
            raise self.problem(start, "comment is never closed", "add '*/'")
        self.scanned.masked[start : end + 2] = _NOT_LINE_END.sub(b" ", self.data[start : end + 2])
        return end + 2
