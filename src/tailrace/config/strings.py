"""Strings of a file: quoted, raw and heredocs, as pieces of text and holes for expressions.

Each is overwritten in the masked text by a harmless quoted one of the same length, so that all offsets stay true.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tailrace.config.places import Problem, Report, Text

_PIECE = re.compile(rb'"|\\|\$\$\{|%%\{|\$\{|%\{|\r?\n')
_HEREDOC_PIECE = re.compile(rb"\$\$\{|%%\{|\$\{|%\{")
_DIRECTIVE = re.compile(
    rb"""[ \t]*(?:(?P<if>if)\b
    |(?P<end>else|endif|endfor)[ \t]*(?P<trim>~?)\}
    |for[ \t]+(?P<one>[A-Za-z_]\w*)[ \t]*(?:,[ \t]*(?P<two>[A-Za-z_]\w*)[ \t]*)?[ \t]in\b)""",
    re.VERBOSE,
)
_CLOSES = {"else": ("if",), "endif": ("if", "else"), "endfor": ("for",)}
_ESCAPES = {b"n": "\n", b"r": "\r", b"t": "\t", b'"': '"', b"\\": "\\"}
_CODE_POINT = re.compile(rb"u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})")
_SPACES = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Hole:
    """What is computed in a string: a value (`${…}`), or a directive (`%{if …}`) of which `word` is the first word."""

    word: str
    names: tuple[str, ...]
    trims: tuple[bool, bool]
    "Blanks before it, and after it, are left out (`~`)."
    at: int

    @property
    def computed(self) -> bool:
        """Does it hold an expression?"""
        return self.word in ("", "if", "for")


Pieces = tuple["str | Hole", ...]
"Text and holes by turns, text first and last."


@dataclass(slots=True)
class _Template:
    """A string that is being read."""

    pieces: list[str | Hole] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    "Expressions: what the grammar has to see."


class Strings:
    """Reads the strings of one file; `code` scans the expression that begins at an offset."""

    def __init__(self, text: Text, report: Report, masked: bytearray, code: Callable[[int, int, int], int]) -> None:
        self.text = text
        self.data = text.data
        self.report = report
        self.masked = masked
        self.code = code
        self.found: dict[int, Pieces] = {}
        self.raw_spans: list[tuple[int, int]] = []

    def problem(self, at: int, message: str, hint: str | None = None) -> Problem:
        return self.report.make(self.text.where(at), message, "syntax", hint)

    def never_closed(self, at: int) -> Problem:
        """An expression inside a string that has no end."""
        sign = self.data[at : at + 2].decode()
        return self.problem(
            at, f"'{sign}' is never closed", f"add '}}', or write '{sign[0]}{sign}' for a plain '{sign}'"
        )

    def raw(self, start: int) -> int:
        """Between backticks, which may span lines; returns where it ends."""
        end = self.data.find(b"`", start + 1)
        if end < 0:
            raise self.problem(self._lost_backtick(start), "raw text is never closed", "add '`' at its end")
        self._mask(start, end + 1, [])
        self.raw_spans.append((start, end))
        self.found[start] = (self.data[start + 1 : end].decode(),)
        return end + 1

    def _lost_backtick(self, start: int) -> int:
        """Of an odd number of backticks the lonely one is that whose text runs into the next block."""
        spans = (span for span in self.raw_spans if b"\n}" in self.data[span[0] : span[1]])
        return next(spans, (start, start))[0]

    def quoted(self, start: int, raw: bool, interpolation: int | None, depth: int) -> int:
        """Between double quotes, on one line; `raw`: templates in it are plain text."""
        template = _Template()
        literal: list[str] = []
        at = start + 1
        while True:
            match = _PIECE.search(self.data, at)
            if match is None or match[0].endswith(b"\n"):
                if interpolation is not None:
                    raise self.never_closed(interpolation)
                raise self.problem(start, "text is never closed", "add '\"' at its end; write \\\" for a quote inside")
            literal.append(self.data[at : match.start()].decode())
            at = match.end()
            if match[0] == b'"':
                break
            if match[0] == b"\\":
                escaped, at = self._escape(at, raw)
                literal.append(escaped)
            elif raw or len(match[0]) == 3:
                literal.append(match[0][len(match[0]) - 2 :].decode())
            else:
                template.pieces.append("".join(literal))
                literal = []
                at = self._hole(match, template, depth)
        template.pieces.append("".join(literal))
        self._keep(start, at, template)
        return at

    def heredoc(self, head: re.Match[bytes], raw: bool, depth: int) -> int:
        """`<<TAG` or `<<-TAG`, up to the line that holds only the tag."""
        tag = head["tag"]
        last = re.compile(rb"^[ \t]*" + re.escape(tag) + rb"(?=[ \t]*\r?$)", re.MULTILINE).search(self.data, head.end())
        if last is None:
            raise self.problem(head.start(), "heredoc is never closed", f"add a line that holds only {tag.decode()}")
        indent = indent_of(self.data[head.end() : last.start()]) if head["strip"] else 0
        template = _Template()
        literal: list[bytes] = []
        at = head.end()
        while (match := _HEREDOC_PIECE.search(self.data, at, last.start())) is not None:
            literal.append(self.data[at : match.start()])
            at = match.end()
            if raw or len(match[0]) == 3:
                literal.append(match[0][len(match[0]) - 2 :])
                continue
            template.pieces.append(_outdent(b"".join(literal), indent, first=not template.pieces))
            literal = []
            at = self._hole(match, template, depth)
            if at > last.start():
                raise self.never_closed(match.start())
        literal.append(self.data[at : last.start()])
        template.pieces.append(_outdent(b"".join(literal), indent, first=not template.pieces))
        self._keep(head.start(), last.end(), template)
        return last.end()

    def _hole(self, opening: re.Match[bytes], template: _Template, depth: int) -> int:
        """Reads `${…}` or `%{…}` and returns where it ends."""
        start, inner = opening.span()
        trims_before = self.data[inner : inner + 1] == b"~"
        inner += trims_before
        word = ""
        names: tuple[str, ...] = ()
        if opening[0] == b"%{":
            directive = _DIRECTIVE.match(self.data, inner)
            if directive is None:
                raise self.problem(
                    start, "'%{' begins no directive that is known: if, else, endif, for, endfor",
                    "put the text between backticks to keep it as it is, or write '%%{'",
                )  # fmt: skip
            if directive["end"]:
                trims = (trims_before, directive["trim"] == b"~")
                template.pieces.append(Hole(directive["end"].decode(), (), trims, start))
                return directive.end()
            word = "if" if directive["if"] else "for"
            names = tuple(name.decode() for name in (directive["one"], directive["two"]) if name)
            inner = directive.end()
        end = self.code(inner, start, depth + 1)
        self.masked[start:inner] = b"${" + b" " * (inner - start - 2)
        trims_after = self.data[end - 2 : end - 1] == b"~"
        if trims_after:
            self.masked[end - 2 : end - 1] = b" "
        template.pieces.append(Hole(word, names, (trims_before, trims_after), start))
        template.spans.append((start, end))
        return end

    def _keep(self, start: int, end: int, template: _Template) -> None:
        self._balanced([piece for piece in template.pieces if isinstance(piece, Hole)])
        self._mask(start, end, template.spans)
        self.found[start] = _trimmed(template.pieces)

    def _balanced(self, holes: list[Hole]) -> None:
        """Every directive ends what it should; raises a Problem otherwise."""
        opened: list[Hole] = []
        for hole in holes:
            if hole.word in _CLOSES:
                if not opened or opened[-1].word not in _CLOSES[hole.word]:
                    raise self.problem(hole.at, f"'%{{ {hole.word} }}' belongs to nothing")
                opened.pop()
            if hole.word in ("if", "else", "for"):
                opened.append(hole)
        if opened:
            ending = "endfor" if opened[-1].word == "for" else "endif"
            raise self.problem(opened[-1].at, f"'%{{ {opened[-1].word} }}' never ends", f"add %{{ {ending} }}")

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

    def _mask(self, start: int, end: int, holes: list[tuple[int, int]]) -> None:
        at = start
        for hole_start, hole_end in [*holes, (end, end)]:
            self.masked[at:hole_start] = b"_" * (hole_start - at)
            at = hole_end
        self.masked[start : start + 1] = self.masked[end - 1 : end] = b'"'


def _trimmed(pieces: list[str | Hole]) -> Pieces:
    """Without the blanks beside holes that are marked with `~`."""
    for at, piece in enumerate(pieces):
        if isinstance(piece, Hole):
            before, after = pieces[at - 1], pieces[at + 1]
            if piece.trims[0] and isinstance(before, str):
                pieces[at - 1] = before.rstrip(_SPACES)
            if piece.trims[1] and isinstance(after, str):
                pieces[at + 1] = after.lstrip(_SPACES)
    return tuple(pieces)


def indent_of(body: bytes) -> int:
    """The margin that all lines have."""
    margins = [len(line) - len(line.lstrip(b" \t")) for line in body.splitlines() if line.strip()]
    return min(margins, default=0)


def _outdent(literal: bytes, indent: int, *, first: bool) -> str:
    """Remove the common margin; a piece after an interpolation does not begin at a margin."""
    if indent:
        margin = rb"[ \t]{0,%d}" % indent
        literal = re.sub(rb"(?<=\n)" + margin, b"", literal)
        literal = re.sub(rb"\A" + margin, b"", literal) if first else literal
    return literal.decode()
