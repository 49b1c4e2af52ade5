"""Answers as text. Rows are written as they come, but for `table`, whose widths need them all."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from itertools import chain, islice
from typing import Any, TextIO

from tailrace.query.engine import Result

WIDTH_FROM = 10_000
"Rows that are looked at to find the widths of a table's columns."
_PLAIN = re.compile(r'[^",\r\n]+')


def render(result: Result, output: str, out: TextIO) -> None:
    """Writes one answer in the format of that name."""
    RENDERERS[output](result, out)


def _table(result: Result, out: TextIO) -> None:
    first = [[_cell(v) for v in row] for row in islice(result.rows, WIDTH_FROM)]
    names = [_cell(name) for name in result.columns]
    widths = [max(map(width, column)) for column in zip(names, *first, strict=True)]
    numeric = [t in _NUMBERS or t.startswith("DECIMAL") for t in result.types]
    rule = ["─" * (w + 2) for w in widths]
    out.write(f"┌{'┬'.join(rule)}┐\n")
    out.write(_line(names, widths, [False] * len(widths)))
    out.write(f"├{'┼'.join(rule)}┤\n")
    count = 0
    for row in _all(first, result.rows):
        out.write(_line(row, widths, numeric))
        count += 1
    out.write(f"└{'┴'.join(rule)}┘\n{count:,} row{'' if count == 1 else 's'}\n")


def _all(first: list[list[str]], rest: Iterator[tuple[Any, ...]]) -> Iterator[list[str]]:
    yield from first
    for row in rest:
        yield [_cell(v) for v in row]


def _plain(result: Result, out: TextIO) -> None:
    """The same without lines."""
    first = [[_cell(v) for v in row] for row in islice(result.rows, WIDTH_FROM)]
    names = [_cell(name) for name in result.columns]
    widths = [max(map(width, column)) for column in zip(names, *first, strict=True)]
    for row in chain([names], _all(first, result.rows)):
        out.write("  ".join(cell + " " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=True)).rstrip())
        out.write("\n")


def _line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    padded = []
    for cell, wide, is_right in zip(cells, widths, right, strict=True):
        space = " " * (wide - width(cell))
        padded.append(f" {space}{cell} " if is_right else f" {cell}{space} ")
    return f"│{'│'.join(padded)}│\n"


def _json(result: Result, out: TextIO) -> None:
    separator = "[\n  "
    for line in _objects(result):
        out.write(separator + line)
        separator = ",\n  "
    out.write("[]\n" if separator.startswith("[") else "\n]\n")


def _jsonl(result: Result, out: TextIO) -> None:
    for line in _objects(result):
        out.write(line + "\n")


def _objects(result: Result) -> Iterator[str]:
    keys = [json.dumps(name, ensure_ascii=False) for name in _distinct(result.columns)]
    writers = [_embedded if t == "JSON" else as_json for t in result.types]
    for row in result.rows:
        pairs = (f"{key}: {write(value)}" for key, write, value in zip(keys, writers, row, strict=True))
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


def _csv(result: Result, out: TextIO) -> None:
    out.write(",".join(map(_field, result.columns)) + "\n")
    for row in result.rows:
        out.write(",".join("" if v is None else _field(_text(v)) for v in row) + "\n")


def _field(text: str) -> str:
    """Quoted where RFC 4180 asks for it, and where it is empty: null is nothing at all."""
    return text if text and _PLAIN.fullmatch(text) else '"' + text.replace('"', '""') + '"'


def _lines(result: Result, out: TextIO) -> None:
    names = [_cell(name) for name in result.columns]
    wide = max(map(width, names), default=0)
    for number, row in enumerate(result.rows, 1):
        out.write(f"-[ row {number} ]{'-' * 20}\n")
        for name, value in zip(names, row, strict=True):
            out.write(f"{name}{' ' * (wide - width(name))} | {_cell(value)}\n")


RENDERERS: dict[str, Callable[[Result, TextIO], None]] = {
    "table": _table,
    "pretty": _table,
    "plain": _plain,
    "json": _json,
    "jsonl": _jsonl,
    "csv": _csv,
    "line": _lines,
}
_NUMBERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    "FLOAT", "DOUBLE", "NUMBER",
}  # fmt: skip


def _embedded(value: Any) -> str:
    """A JSON column inside JSON output is a value, not a text; digits and order stay as they were sent."""
    try:
        json.loads(value, parse_constant=_no_constant)
    except (TypeError, ValueError, RecursionError):
        return as_json(value)
    # Line ends lie between values only; `jsonl` cannot have them.
    return str(value).replace("\r", " ").replace("\n", " ")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def as_json(value: Any) -> str:
    """Any value that DuckDB gives. Decimals keep their digits; NaN and infinity, which JSON lacks, are null."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "null"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_json(_text(k))}: {as_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(as_json, value)) + "]"
    text = value.isoformat() if isinstance(value, datetime) else _text(value)
    return json.dumps(text, ensure_ascii=False)


def _text(value: Any) -> str:
    """A value as it is, whatever characters it holds."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return as_json(value) if isinstance(value, dict | list | tuple) else str(value)


def _cell(value: Any) -> str:
    """A value on a terminal: control characters would move the cursor, and a log may hold any."""
    text = "" if value is None else _text(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(char: str) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char) or f"\\u{ord(char):04x}"


def width(text: str) -> int:
    """Columns a terminal needs for a text."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)
