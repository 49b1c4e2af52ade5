"""Answers as text. Rows are written as they come; the widths of a table are taken from the first of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from itertools import chain, islice
from typing import Any, TextIO

from tailrace.query.engine import Result
from tailrace.query.singles import shortened

WIDTH_FROM = 10_000
"Rows that are looked at to find the widths of a table's columns."
_PLAN = ("explain_key", "explain_value")
"Columns of what `explain` says."
COUNTING = ("table", "pretty")
"Forms that end with the number of rows."
_DRAWN = ("table", "pretty", "plain")
_PLAIN = re.compile(r'[^",\r\n]+')
_AS_TEXT = json.encoder.encode_basestring
"What `json.dumps` does to a text, without looking for anything else in it."
_BYTES = tuple(chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\x{byte:02X}" for byte in range(256))
"Bytes as DuckDB reads them: `'\\xC3\\xBC'::blob`."
_BREAKS = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True, slots=True)
class Style:
    """What can be chosen about `csv` and `tsv`."""

    header: bool = True
    separator: str = ","


AS_USUAL = Style()


def render(result: Result, output: str, out: TextIO, style: Style = AS_USUAL) -> None:
    """Writes one answer in the form of that name."""
    result = replace(result, rows=shortened(result.types, result.rows))
    if output == "csv":
        _csv(result, out, style)
    elif output == "tsv":
        _tsv(result, out, style)
    elif output == "chart":
        from tailrace.query.chart import draw

        draw(result, out)
    elif output in _DRAWN and result.columns == _PLAN:
        _plan(result, out)
    else:
        RENDERERS[output](result, out)


def _table(result: Result, out: TextIO) -> None:
    first = [[cell(v) for v in row] for row in islice(result.rows, WIDTH_FROM)]
    names = [cell(name) for name in result.columns]
    widths = [max(map(width, column)) for column in zip(names, *first, strict=True)]
    numeric = [is_number(kind) for kind in result.types]
    rule = ["─" * (w + 2) for w in widths]
    out.write(f"┌{'┬'.join(rule)}┐\n")
    out.write(_line(names, widths, [False] * len(widths)))
    out.write(f"├{'┼'.join(rule)}┤\n")
    count = 0
    for row in _all(first, result.rows):
        out.write(_line(row, widths, numeric))
        count += 1
    out.write(f"└{'┴'.join(rule)}┘\n{count:,} row{'' if count == 1 else 's'}\n")


def _plan(result: Result, out: TextIO) -> None:
    """A plan is a drawing of several lines already."""
    for _, drawing in result.rows:
        out.writelines(f"{cell(line)}\n" for line in drawing.splitlines())


def _all(first: list[list[str]], rest: Iterator[tuple[Any, ...]]) -> Iterator[list[str]]:
    yield from first
    for row in rest:
        yield [cell(v) for v in row]


def _plain(result: Result, out: TextIO) -> None:
    """The same without lines."""
    first = [[cell(v) for v in row] for row in islice(result.rows, WIDTH_FROM)]
    names = [cell(name) for name in result.columns]
    widths = [max(map(width, column)) for column in zip(names, *first, strict=True)]
    for row in chain([names], _all(first, result.rows)):
        out.write("  ".join(text + " " * (wide - width(text)) for text, wide in zip(row, widths, strict=True)).rstrip())
        out.write("\n")


def _line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    padded = []
    for text, wide, is_right in zip(cells, widths, right, strict=True):
        space = " " * (wide - width(text))
        padded.append(f" {space}{text} " if is_right else f" {text}{space} ")
    return f"│{'│'.join(padded)}│\n"


def _json(result: Result, out: TextIO) -> None:
    separator = "[\n  "
    for line in _objects(result):
        out.write(separator + line)
        separator = ",\n  "
    out.write("[]\n" if separator.startswith("[") else "\n]\n")


def _jsonl(result: Result, out: TextIO) -> None:
    out.writelines(f"{line}\n" for line in _objects(result))


def _objects(result: Result) -> Iterator[str]:
    keys = [json.dumps(name, ensure_ascii=False) for name in _distinct(result.columns)]
    writers = [_embedded if t == "JSON" else as_json for t in result.types]
    for row in result.rows:
        pairs = [f"{key}: {write(value)}" for key, write, value in zip(keys, writers, row, strict=True)]
        yield f"{{{', '.join(pairs)}}}"


def _distinct(names: Iterable[str]) -> list[str]:
    """An object has each key once: a second column `a` is `a_2`."""
    found: dict[str, None] = {}
    for name in names:
        spelled, number = name, 2
        while spelled in found:
            spelled, number = f"{name}_{number}", number + 1
        found[spelled] = None
    return list(found)


def _csv(result: Result, out: TextIO, style: Style = AS_USUAL) -> None:
    if style.header:
        out.write(style.separator.join(_field(name, style.separator) for name in result.columns) + "\n")
    separator = style.separator
    for row in result.rows:
        cells = ["" if value is None else _field(_text(value), separator) for value in row]
        out.write(f"{separator.join(cells)}\n")


def _field(text: str, separator: str) -> str:
    """Quoted where RFC 4180 asks for it, and where it is empty: null is nothing at all."""
    is_plain = text and separator not in text and _PLAIN.fullmatch(text)
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def _tsv(result: Result, out: TextIO, style: Style = AS_USUAL) -> None:
    """A row a line, whatever is in it: `cut` and `sort` may take it."""
    if style.header:
        out.write("\t".join(map(_unbroken, result.columns)) + "\n")
    for row in result.rows:
        out.write("\t".join("\\N" if value is None else _unbroken(_text(value)) for value in row) + "\n")


def _unbroken(text: str) -> str:
    return text.translate(_BREAKS)


def _markdown(result: Result, out: TextIO) -> None:
    out.write(f"| {' | '.join(map(_marked, result.columns))} |\n")
    out.write(f"| {' | '.join('---:' if is_number(kind) else '---' for kind in result.types)} |\n")
    for row in result.rows:
        out.write(f"| {' | '.join(map(_marked, row))} |\n")


def _marked(value: Any) -> str:
    return cell(value).replace("|", "\\|").replace("<", "&lt;")


def _lines(result: Result, out: TextIO) -> None:
    names = [cell(name) for name in result.columns]
    wide = max(map(width, names), default=0)
    for number, row in enumerate(result.rows, 1):
        out.write(f"-[ row {number} ]{'-' * 20}\n")
        for name, value in zip(names, row, strict=True):
            out.write(f"{name}{' ' * (wide - width(name))} | {cell(value)}\n")


RENDERERS: dict[str, Callable[[Result, TextIO], None]] = {
    "table": _table,
    "pretty": _table,
    "plain": _plain,
    "json": _json,
    "jsonl": _jsonl,
    "csv": _csv,
    "tsv": _tsv,
    "markdown": _markdown,
    "line": _lines,
}
_NUMBERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    "FLOAT", "DOUBLE", "NUMBER",
}  # fmt: skip


def is_number(kind: str) -> bool:
    """Is it one of DuckDB's types of numbers?"""
    return kind in _NUMBERS or kind.startswith("DECIMAL")


def _embedded(value: Any) -> str:
    """A JSON column inside JSON output is a value, not a text; digits and order stay as they were sent."""
    try:
        _READER.decode(value)
    except (TypeError, ValueError, RecursionError):
        return as_json(value)
    # Line ends lie between values only; `jsonl` cannot have them.
    return str(value).replace("\r", " ").replace("\n", " ")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_READER = json.JSONDecoder(parse_constant=_no_constant)


def as_json(value: Any) -> str:
    """Any value that DuckDB gives. Decimals keep their digits; NaN and infinity, which JSON lacks, are null."""
    if isinstance(value, str):
        return _AS_TEXT(value)
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_json(_text(k))}: {as_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(as_json, value)) + "]"
    text = value.isoformat() if isinstance(value, datetime) else _text(value)
    return _AS_TEXT(text)


def _text(value: Any) -> str:
    """A value as it is, whatever characters it holds."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, bytes):
        return "".join(map(_BYTES.__getitem__, value))
    return as_json(value) if isinstance(value, dict | list | tuple) else str(value)


def cell(value: Any) -> str:
    """A value on a terminal: control characters would move the cursor, and a log may hold any."""
    text = "" if value is None else _text(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(char: str) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char) or f"\\u{ord(char):04x}"


def width(text: str) -> int:
    """Columns a terminal needs for a text."""
    if text.isascii():
        return len(text)
    import unicodedata  # most texts need none

    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)
