"""Layouts as regular expressions: for lines that a tokenizer cannot read, and layouts that have no words."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.dialects import Field, Literal, Token
from tailrace.formats.fit import REST, Texts

_STRICT = {"quoted": r'(?:"(?P<{0}>(?:[^"\\]|\\.)*)"|(?P<{0}dash>-))', "bracketed": r"\[(?P<{}>[^\]]*)\]"}
_LOOSE = {"quoted": r'(?:"(?P<{0}>.*?)"|(?P<{0}dash>-))', "bracketed": r"\[(?P<{}>.*?)\]"}
_LIST = r"(?P<{}>[^ ]*(?:(?:, | : )[^ ]+)*)"
_STRICT |= {"list": _LIST, "address": r"(?P<{}>[^ -][^ ]*(?:, [^ ]+)*)"}
_LOOSE |= {"list": _LIST, "address": r"(?P<{}>[^ ]*(?:, [^ ]+)*)"}
_NAME = r"(?P<{}>[^ ]*|[^ -].*?)"
"User names may hold blanks; where a line has a word too many, the one before is `-` or a name."


class LinePattern:
    """A whole line; `strict` about quotes and brackets; with a `surplus` behind the last field.

    `whole`: a value outside quotes holds none, so that those inside a quoted one are told from its own, and a
    surplus stands only behind a line that has all its optional fields.
    """

    def __init__(
        self, tokens: tuple[Token, ...], *, strict: bool = True, surplus: bool = False, whole: bool = False
    ) -> None:
        if whole and surplus:
            tokens = tuple(replace(t, optional=False) if isinstance(t, Field) else t for t in tokens)
        self.fields = [token for token in tokens if isinstance(token, Field)]
        self.bare = r'(?P<{}>[^ "]*)' if whole else "(?P<{}>[^ ]*)"
        self.digits = r"(?P<{}>\d+|-)" if surplus else self.bare
        written = "".join(self._pieces(tokens, strict))
        self.surplus = surplus
        self.text = f"(?s)^{written}" + ("(?P<o> (?P<r>.*))$" if surplus else "$")

    def _pieces(self, tokens: tuple[Token, ...], strict: bool) -> list[str]:
        pieces: list[str] = []
        number = 0
        for place, token in enumerate(tokens):
            after = tokens[place + 1] if place + 1 < len(tokens) else None
            if not isinstance(token, Field):
                optional = isinstance(after, Field) and after.optional
                pieces.append(re.escape(token.text[:-1] if optional else token.text))
                continue
            bare = self.digits if token.kind == "digits" else self.bare
            value = _value(token, tokens[place + 1 :], strict, bare).format(f"f{number}")
            # The blank is captured with an optional field: a group that did not match is '' in RE2's answer.
            pieces.append(f"(?P<o{number}> {value})?" if token.optional else value)
            number += 1
        return pieces

    def extract(self, lines: pa.Array) -> tuple[Texts, npt.NDArray[np.bool_]]:
        """The fields of the lines that match, and which do."""
        found = pc.extract_regex(lines, self.text)
        matched: npt.NDArray[np.bool_] = found.is_valid().to_numpy(zero_copy_only=False)
        found = found.filter(pa.array(matched))
        fields: Texts = {}
        for number, field in enumerate(self.fields):
            values = found.field(f"f{number}")
            if field.kind == "quoted":  # some writers leave the quotes out where there is nothing
                values = pc.if_else(pc.equal(found.field(f"f{number}dash"), "-"), "-", values)
            fields[field.name] = _present(values, found.field(f"o{number}")) if field.optional else values
        if self.surplus:
            fields[REST] = _present(found.field("r"), found.field("r"))
        return fields, matched


def _value(field: Field, rest: tuple[Token, ...], strict: bool, bare: str) -> str:
    """A value without delimiters of its own ends where what follows begins."""
    kinds = _STRICT if strict else _LOOSE
    after = rest[0] if rest else None
    if field.kind in ("quoted", "bracketed"):
        return kinds[field.kind]
    if isinstance(after, Literal) and not after.text.startswith(" "):
        excluded = re.escape(after.text[0]) + ("" if field.kind == "spaced" else " ")
        return f"(?P<{{}}>[^{excluded}]*)"
    if field.kind == "spaced":
        return "(?P<{}>.*?)"
    before_bracket = after == Literal(" ") and isinstance(rest[1], Field) and rest[1].kind == "bracketed"
    if field.kind == "bare" and before_bracket and not strict:
        return _NAME
    return kinds.get(field.kind, bare)


def _present(values: pa.Array, group: pa.Array) -> pa.Array:
    """Null where the group around a value did not match."""
    return pc.if_else(pc.equal(group, ""), pa.scalar(None, pa.string()), values)
