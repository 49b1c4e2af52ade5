"""Answers as text. Rows are written as they come, but for `table`, whose widths need them all."""

from __future__ import annotations

import csv
import json
import unicodedata
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, TextIO
from uuid import UUID

from tailrace.query.engine import Result

WIDTH_FROM = 10_000
"Rows that are looked at to find the widths of a table's columns."


def render(result: Result, output: str, out: TextIO) -> None:
    """Writes one answer in the format of that name."""
    RENDERERS[output](result, out)


def _table(result: Result, out: TextIO) -> None:
    first = [[_cell(v) for v in row] for row in islice(result.rows, WIDTH_FROM)]
    widths = [max(map(width, column)) for column in zip(result.columns, *first, strict=True)]
    numeric = [t in _NUMBERS or t.startswith("DECIMAL") for t in result.types]
    rule = ["─" * (w + 2) for w in widths]
    out.write(f"┌{'┬'.join(rule)}┐\n")
    out.write(_line(list(result.columns), widths, [False] * len(widths)))
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
    embedded = [t == "JSON" for t in result.types]
    for row in result.rows:
        values = (_embedded(v) if e else v for v, e in zip(row, embedded, strict=True))
        record = dict(zip(result.columns, values, strict=True))
        yield json.dumps(record, default=_plain, ensure_ascii=False, allow_nan=False)


def _csv(result: Result, out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(result.columns)
    for row in result.rows:
        writer.writerow(["" if v is None else _cell(v) for v in row])


def _lines(result: Result, out: TextIO) -> None:
    wide = max(map(width, result.columns), default=0)
    for number, row in enumerate(result.rows, 1):
        out.write(f"-[ row {number} ]{'-' * 20}\n")
        for name, value in zip(result.columns, row, strict=True):
            out.write(f"{name}{' ' * (wide - width(name))} | {_cell(value)}\n")


RENDERERS: dict[str, Callable[[Result, TextIO], None]] = {
    "table": _table,
    "json": _json,
    "jsonl": _jsonl,
    "csv": _csv,
    "line": _lines,
}
_NUMBERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    "FLOAT", "DOUBLE", "NUMBER",
}  # fmt: skip


def _embedded(value: Any) -> Any:
    """A JSON column inside JSON output is a value, not a text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, timedelta | UUID):
        return str(value)
    return str(value)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, dict | list):
        return json.dumps(value, default=_plain, ensure_ascii=False)
    text = value if isinstance(value, str) else str(_plain(value) if isinstance(value, bytes) else value)
    return "".join(c if c.isprintable() else _escape(c) for c in text) if not text.isprintable() else text


def _escape(char: str) -> str:
    """Control characters would move the cursor; a log may hold any."""
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char) or f"\\u{ord(char):04x}"


def width(text: str) -> int:
    """Columns a terminal needs for a text."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)
