"""Templates of log lines as people write them (nginx, apache, VPC flow, plain words) → tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from tailrace.core import ConfigError, Layout
from tailrace.core.errors import PatternError
from tailrace.core.patterns import LONGEST, too_long
from tailrace.core.registry import nearest
from tailrace.formats.layout_apache import apache_field, joined_times
from tailrace.formats.layout_names import NGINX, NGINX_FAMILIES, VPC, VPC_NUMBERS, VPC_RENAMES, nginx_kind


@dataclass(frozen=True, slots=True)
class Field:
    """A value in a line."""

    name: str
    kind: str = "bare"
    """`bare`; `list` (bare, or several with `, ` between); `address` (a list that is null only where nothing else
    fits); `digits` (a number or `-`, where a line has more words than the layout); `spaced` (may hold blanks);
    `quoted`; `bracketed`."""
    optional: bool = False
    "May be missing together with the blank before it."
    time: str | None = None
    "How the token itself writes its time; otherwise the column says."


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that stands between values, blanks included."""

    text: str


Token = Field | Literal
_WORDS = re.compile(r"(\?)?(?<![\w.-])([A-Za-z_][\w.-]*)|(\?)?(\"|\[)([A-Za-z_][\w.-]*)(\"|\])")
_NGINX = re.compile(r"\$\{(\w+)\}|\$(\w+)")
_APACHE = re.compile(r"%(?:[<>]|!?\d{3}(?:,\d{3})*)*(?:\{([^}]*)\})?(\^t[io]|[A-Za-z%])")
_VPC = re.compile(r"\$\{([^}]*)\}|([^\s,]+)")
_SLIP = 0.85
"How alike a name and a known one are when one letter is wrong."
_CLOSING = {'"': '"', "[": "]"}
_KINDS = {'"': "quoted", "[": "bracketed"}


def parse_layout(fmt: Layout) -> tuple[Token, ...]:
    """The tokens of a layout's `text`; a ConfigError names all that are unknown and the nearest known."""
    if fmt.dialect not in _DIALECTS:
        known = ", ".join(sorted(_DIALECTS))
        raise ConfigError(f"unknown dialect '{fmt.dialect}'", code="config.layout", hint=f"known: {known}")
    if len(fmt.text) > LONGEST:
        raise too_long("the layout", fmt.text, "config.layout")
    rename = dict(fmt.rename)
    tokens = _enclosed(_DIALECTS[fmt.dialect](fmt.text))
    tokens = [replace(t, name=rename.get(t.name, t.name)) if isinstance(t, Field) else t for t in tokens]
    if not any(isinstance(t, Field) for t in tokens):
        raise ConfigError("the layout names no field", code="config.layout", hint=f"layout: {fmt.text}")
    return tuple(_distinct(tokens))


def header_fields(fmt: Layout, line: str) -> tuple[Token, ...]:
    """The tokens that a header line defines: unknown names are fields like any other."""
    rename = dict(fmt.rename)
    names = [_vpc_name(word) if fmt.dialect == "vpc" else word for word in line.split()]
    tokens: list[Token] = []
    for name in names:
        tokens += [Literal(" "), Field(rename.get(name, name))]
    return tuple(_distinct(tokens[1:]))


def _words(text: str) -> Iterator[Token]:
    at = 0
    for found in _WORDS.finditer(text):
        yield Literal(text[at : found.start()])
        if found[2]:
            yield Field(found[2], optional=found[1] is not None)
        else:
            yield Field(found[5], _KINDS[found[4]], optional=found[3] is not None)
        at = found.end()
    yield Literal(text[at:])


def _nginx(text: str) -> Iterator[Token]:
    names = [a or b for a, b in _NGINX.findall(text)]
    # `map`, `set` and modules make variables of any name: only one that looks like a slip is refused.
    strange = [n for n in names if n not in NGINX and not n.startswith(NGINX_FAMILIES)]
    _refuse(text, [n for n in strange if nearest(n, NGINX, _SLIP)], NGINX, "$")
    at = 0
    for found in _NGINX.finditer(text):
        name = found[1] or found[2]
        yield Literal(text[at : found.start()])
        yield Field(name, nginx_kind(name))
        at = found.end()
    yield Literal(text[at:])


def _apache(layout: str) -> Iterator[Token]:
    text = joined_times(layout.replace('\\"', '"').replace("\\t", "\t"))
    found = list(_APACHE.finditer(text))
    fields = [None if f[2] == "%" else apache_field(f[1], f[2]) for f in found]
    _refuse(layout, [f[0] for f, field in zip(found, fields, strict=True) if field is None and f[2] != "%"], (), "")
    at = 0
    for match, field in zip(found, fields, strict=True):
        yield Literal(text[at : match.start()])
        yield Literal("%") if field is None else Field(field.name, field.kind, time=field.time)
        at = match.end()
    yield Literal(text[at:])


def _vpc(text: str) -> Iterator[Token]:
    names = [a or b for a, b in _VPC.findall(text)]
    _refuse(text, [n for n in names if n.replace("_", "-") not in VPC], VPC, "")
    for place, name in enumerate(names):
        if place:
            yield Literal(" ")
        yield Field(_vpc_name(name), "digits" if name in VPC_NUMBERS else "bare")


def _vpc_name(word: str) -> str:
    return VPC_RENAMES.get(word, word.replace("-", "_"))


_DIALECTS: dict[str, Callable[[str], Iterator[Token]]] = {
    "words": _words,
    "nginx": _nginx,
    "apache": _apache,
    "vpc": _vpc,
}


def _refuse(layout: str, unknown: list[str], known: Iterable[str], sign: str) -> None:
    if not unknown:
        return
    told = []
    for name in dict.fromkeys(unknown):
        guess = nearest(name, known)
        told.append(f"{sign}{name}" + (f" (did you mean {sign}{guess}?)" if guess else ""))
    raise PatternError(
        f"the layout has tokens that are not known: {', '.join(told)}",
        pattern=layout,
        at=max(layout.find(sign + unknown[0]) if sign + unknown[0] in layout else layout.find(unknown[0]), 0),
        code="config.layout",
        hint="correct the layout, or describe the lines with a `grok` or `regex` format",
    )


def _enclosed(tokens: Iterable[Token]) -> list[Token]:
    """Joins literals, and moves quotes or brackets around a single field into the field's kind."""
    merged: list[Token] = []
    for token in tokens:
        if isinstance(token, Literal) and merged and isinstance(merged[-1], Literal):
            merged[-1] = Literal(merged[-1].text + token.text)
        else:
            merged.append(token)
    for i in range(1, len(merged) - 1):
        before, field, after = merged[i - 1 : i + 2]
        if not (isinstance(before, Literal) and isinstance(field, Field) and isinstance(after, Literal)):
            continue
        opening = before.text[-1:]
        if opening in _CLOSING and after.text.startswith(_CLOSING[opening]) and field.kind != "bracketed":
            merged[i - 1] = Literal(before.text[:-1])
            merged[i] = replace(field, kind=_KINDS[opening])
            merged[i + 1] = Literal(after.text[1:])
    return [t for t in merged if not (isinstance(t, Literal) and not t.text)]


def _distinct(tokens: Iterable[Token]) -> Iterator[Token]:
    """A name that comes again is numbered: `remote_addr`, `remote_addr_2`."""
    seen: dict[str, int] = {}
    for token in tokens:
        if isinstance(token, Field):
            seen[token.name] = number = seen.get(token.name, 0) + 1
            yield token if number == 1 else replace(token, name=f"{token.name}_{number}")
        else:
            yield token
