"""First pass over a file: takes strings and comments out, so that the grammar never sees inside them.

HCL reads `%{` and `${` in every string and knows no backticks; log layouts are full of the former. So every
string is decoded, then overwritten byte for byte by a harmless quoted one, so that all offsets stay true.
Unbalanced brackets and open strings are found on the way: they can be named better here than by a grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tailrace.config.places import Problem, Report, Text

RAW_ATTRIBUTES = frozenset({b"layout", b"file_layout", b"log_format", b"source_format"})
"Attributes whose texts hold `%{…}` and `${…}` of their own: kept as written."
RAW_MAPS = frozenset({b"patterns"})
MAX_DEPTH = 100

_TOKEN = re.compile(
    rb"""(?P<comment>(?:\#|//)[^\n]*)|(?P<long>/\*)
    |(?P<heredoc><<(?P<strip>-?)(?P<tag>[A-Za-z_][\w-]*)[ \t]*\r?\n)
    |(?P<quote>")|(?P<backtick>`)|(?P<open>[{\[(])|(?P<close>[}\])])
    |(?P<name>[A-Za-z_][\w-]*)[ \t]*(?P<sign>[=:])(?![=>])[ \t]*""",
    re.VERBOSE,
)
_NOT_LINE_END = re.compile(rb"[^\n]")
_NOTHING = re.compile(rb"\r?\n|#|//|\Z")
_PIECE = re.compile(rb'"|\\|\$\$\{|%%\{|\$\{|%\{|\r?\n')
_HEREDOC_PIECE = re.compile(rb"\$\$\{|%%\{|\$\{|%\{")
_ESCAPES = {b"n": "\n", b"r": "\r", b"t": "\t", b'"': '"', b"\\": "\\"}
_CODE_POINT = re.compile(rb"u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})")
_CLOSING = {b"{": b"}", b"[": b"]", b"(": b")"}

Pieces = tuple["str | None", ...]
"A string in parts; None stands for an interpolated expression."


@dataclass(slots=True)
class Scanned:
    """What the grammar gets to see, and the strings it does not, by the offset at which each begins."""

    masked: bytearray
    strings: dict[int, Pieces] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Bracket:
    sign: bytes
    at: int
    raw: bool


def scan(text: Text, report: Report) -> Scanned:
    """Mask all strings of a file; raises the first problem that makes the rest unreadable."""
    scanner = _Scanner(text, report)
    scanner.code(0, None, 0)
    return scanner.scanned


class _Scanner:
    def __init__(self, text: Text, report: Report) -> None:
        self.text = text
        self.data = text.data
        self.report = report
        self.scanned = Scanned(bytearray(text.data))

    def problem(self, at: int, message: str, hint: str | None = None) -> Problem:
        return self.report.make(self.text.where(at), message, "syntax", hint)

    def _open_interpolation(self, at: int) -> Problem:
        return self.problem(at, "'${' is never closed", "add '}', or write '$${' for a plain '${'")

    def code(self, at: int, interpolation: int | None, depth: int) -> int:
        """Scan code up to the end of the file, or of the interpolation that began at that offset."""
        if depth > MAX_DEPTH:
            raise self.problem(at, "nested too deeply")
        opened: list[_Bracket] = []
        raw_at = raw_map_at = -1
        while match := _TOKEN.search(self.data, at):
            start, at = match.start(), match.end()
            inside_raw = bool(opened) and opened[-1].raw
            match match.lastgroup:
                case "comment":
                    self.scanned.masked[start:at] = b" " * (at - start)
                case "long":
                    at = self._comment(start)
                case "quote":
                    at = self._quoted(start, inside_raw or start == raw_at, interpolation, depth)
                case "backtick":
                    at = self._backtick(start)
                case "tag" | "heredoc":
                    at = self._heredoc(match, inside_raw or start == raw_at, depth)
                case "open":
                    opened.append(_Bracket(match[0], start, inside_raw or start == raw_map_at))
                    if len(opened) > MAX_DEPTH:
                        raise self.problem(start, "nested too deeply")
                case "close":
                    if not opened and interpolation is not None and match[0] == b"}":
                        return at
                    self._close(opened, match[0], start)
                case _:
                    if match["sign"] == b"=" and _NOTHING.match(self.data, at):
                        name = match["name"].decode()
                        raise self.problem(start, f"'{name}' has no value", f"write {name} = … on one line")
                    raw_at = at if match["name"] in RAW_ATTRIBUTES else -1
                    raw_map_at = at if match["name"] in RAW_MAPS else -1
        if opened:
            sign = opened[-1].sign.decode()
            raise self.problem(opened[-1].at, f"'{sign}' is never closed", f"add the '{_pair(sign)}' that ends it")
        if interpolation is not None:
            raise self._open_interpolation(interpolation)
        return len(self.data)

    def _close(self, opened: list[_Bracket], sign: bytes, at: int) -> None:
        if not opened:
            raise self.problem(at, f"'{sign.decode()}' closes nothing")
        bracket = opened.pop()
        if _CLOSING[bracket.sign] != sign:
            line = self.text.where(bracket.at).line
            wanted = _CLOSING[bracket.sign].decode()
            found, opening = sign.decode(), bracket.sign.decode()
            raise self.problem(at, f"expected '{wanted}' for the '{opening}' of line {line}, found '{found}'")

    def _comment(self, start: int) -> int:
        end = self.data.find(b"*/", start + 2)
        if end < 0:
            raise self.problem(start, "comment is never closed", "add '*/'")
        self.scanned.masked[start : end + 2] = _NOT_LINE_END.sub(b" ", self.data[start : end + 2])
        return end + 2

    def _backtick(self, start: int) -> int:
        end = self.data.find(b"`", start + 1)
        if end < 0:
            raise self.problem(start, "raw text is never closed", "add '`' at its end")
        self._mask(start, end + 1)
        self.scanned.strings[start] = (self.data[start + 1 : end].decode(),)
        return end + 1

    def _quoted(self, start: int, raw: bool, interpolation: int | None, depth: int) -> int:
        pieces: list[str | None] = []
        holes: list[tuple[int, int]] = []
        literal = ""
        at = start + 1
        while True:
            match = _PIECE.search(self.data, at)
            if match is None or match[0].endswith(b"\n"):
                if interpolation is not None:
                    raise self._open_interpolation(interpolation)
                raise self.problem(start, "text is never closed", "add '\"' at its end; write \\\" for a quote inside")
            literal += self.data[at : match.start()].decode()
            at = match.end()
            if match[0] == b'"':
                break
            if match[0] == b"\\":
                escaped, at = self._escape(at, raw)
                literal += escaped
            elif match[0] == b"${" and not raw:
                at = self.code(at, match.start(), depth + 1)
                holes.append((match.start(), at))
                pieces += [literal, None]
                literal = ""
            else:
                literal += self._plain(match, raw)
        self._mask(start, at, holes)
        self.scanned.strings[start] = (*pieces, literal)
        return at

    def _plain(self, match: re.Match[bytes], raw: bool) -> str:
        """`$${` and `%%{` are the escaped forms of `${` and `%{`."""
        if len(match[0]) == 3:
            return match[0][1:].decode()
        if not raw:
            raise self.problem(
                match.start(), "'%{' begins a template directive, which is not supported",
                "put the text between backticks to keep it as it is, or write '%%{'",
            )  # fmt: skip
        return match[0].decode()

    def _escape(self, at: int, raw: bool) -> tuple[str, int]:
        sign = self.data[at : at + 1]
        if sign in _ESCAPES:
            return _ESCAPES[sign], at + 1
        code = _CODE_POINT.match(self.data, at)
        if code:
            number = int(code[1] or code[2], 16)
            if number > 0x10FFFF or 0xD800 <= number < 0xE000:
                raise self.problem(at - 1, f"there is no character {number:X}")
            return chr(number), code.end()
        if not raw:
            shown = self.data[at - 1 : at + 1].decode(errors="replace")
            self.report.warn(
                self.text.where(at - 1), f"'{shown}' is not an escape; it is read as it stands", "escape",
                f"write '\\{shown}', or put the text between backticks",
            )  # fmt: skip
        return "\\", at

    def _heredoc(self, head: re.Match[bytes], raw: bool, depth: int) -> int:
        tag = head["tag"]
        last = re.compile(rb"^[ \t]*" + re.escape(tag) + rb"(?=[ \t]*\r?$)", re.MULTILINE).search(self.data, head.end())
        if last is None:
            raise self.problem(head.start(), "heredoc is never closed", f"add a line that holds only {tag.decode()}")
        body = self.data[head.end() : last.start()]
        indent = _indent(body) if head["strip"] else 0
        pieces: list[str | None] = []
        holes: list[tuple[int, int]] = []
        literal = b""
        at = head.end()
        while (match := _HEREDOC_PIECE.search(self.data, at, last.start())) is not None:
            literal += self.data[at : match.start()]
            at = match.end()
            if match[0] == b"${" and not raw:
                at = self.code(at, match.start(), depth + 1)
                if at > last.start():
                    raise self._open_interpolation(match.start())
                holes.append((match.start(), at))
                pieces += [_outdent(literal, indent, first=not pieces), None]
                literal = b""
            else:
                literal += self._plain(match, raw).encode()
        literal += self.data[at : last.start()]
        self._mask(head.start(), last.end(), holes)
        self.scanned.strings[head.start()] = (*pieces, _outdent(literal, indent, first=not pieces))
        return last.end()

    def _mask(self, start: int, end: int, holes: list[tuple[int, int]] | None = None) -> None:
        at = start
        for hole_start, hole_end in [*(holes or []), (end, end)]:
            self.scanned.masked[at:hole_start] = b"_" * (hole_start - at)
            at = hole_end
        self.scanned.masked[start : start + 1] = self.scanned.masked[end - 1 : end] = b'"'


def _pair(sign: str) -> str:
    return _CLOSING[sign.encode()].decode()


def _indent(body: bytes) -> int:
    margins = [len(line) - len(line.lstrip(b" \t")) for line in body.splitlines() if line.strip()]
    return min(margins, default=0)


def _outdent(literal: bytes, indent: int, *, first: bool) -> str:
    """Remove the common margin; a piece after an interpolation does not begin at a margin."""
    if indent:
        margin = rb"[ \t]{0,%d}" % indent
        literal = re.sub(rb"(?<=\n)" + margin, b"", literal)
        literal = re.sub(rb"\A" + margin, b"", literal) if first else literal
    return literal.decode()
