"""Lists and single things, for people and for programs."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

import click

from tailrace.cli.redact import HIDDEN, escaped, redacted
from tailrace.cli.summary import size
from tailrace.config.values import Secret

Row = dict[str, object]
_IDS = frozenset({"id", "pid", "port"})
"Numbers that are names: nobody counts by them."
WIDEST = 100
"Characters of a cell that is not the last of its line, on a terminal."


def show_rows(
    rows: Sequence[Row], columns: Sequence[str], output: str, *, nothing: str = "", folds: bool = False
) -> None:
    """A list: `columns` for people, and everything that is known in JSON.

    `nothing`: what people are told in place of a head without rows. `folds`: where a terminal is too narrow, each row
    becomes some lines.
    """
    if output == "json":
        _say(as_json(list(rows), indent=2))
    elif output == "jsonl":
        for row in rows:
            _say(as_json(row))
    elif output == "csv":
        _csv(columns, [[row.get(column) for column in columns] for row in rows])
    elif nothing and not rows:
        click.echo(nothing, err=True)
    elif output == "line":
        for number, row in enumerate(rows, 1):
            _say(f"-[ {number} ]{'-' * 20}")
            _lines({column: row.get(column) for column in columns}, " | ")
    else:
        cells = [[_text(column, row.get(column)) for column in columns] for row in rows]
        heads = [column.upper().replace("_", " ") for column in columns]
        numeric = [any(_is_number(row.get(column)) for row in rows) for column in columns]
        drawn = list(_grid([heads, *cells], numeric, lines=output != "plain"))
        if folds and _is_too_wide(drawn):
            _fold(rows, columns)
        else:
            _say("\n".join(drawn))


def show_one(facts: Row, output: str) -> None:
    """One thing: a line per fact, lists of records as small tables below."""
    if output in ("json", "jsonl"):
        _say(as_json(facts, indent=2 if output == "json" else None))
        return
    if output == "csv":
        _csv(["name", "value"], [[name, value] for name, value in facts.items()])
        return
    _lines({k: v for k, v in facts.items() if not _is_records(v)}, " | " if output == "line" else "  ")
    for name, value in facts.items():
        if _is_records(value) and isinstance(value, list):
            _say(f"\n{name}:")
            show_rows(value, list(dict.fromkeys(key for row in value for key in row)), output, folds=True)


def show_several(things: Sequence[Row], output: str, *, as_list: bool) -> None:
    """What a name or pattern found: one thing, or one after the other."""
    if as_list and output in ("json", "jsonl"):
        show_rows(things, [], output)
        return
    for number, facts in enumerate(things):
        if number:
            _say()
        show_one(facts, output)


def _say(text: str = "", nl: bool = True) -> None:
    """On stdout; a secret that has become part of another text is hidden too."""
    click.echo(redacted(text), nl=nl)


def as_json(value: object, indent: int | None = None) -> str:
    """JSON of anything that a configuration or lake holds; secrets show themselves as stars."""
    return json.dumps(value, indent=indent, default=plain, ensure_ascii=False)


def plain(value: object) -> object:
    """A value that JSON lacks as one that it has."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Secret):
        return HIDDEN
    return list(value) if isinstance(value, set | frozenset) else str(value)


def _csv(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_value(cell) for cell in row] for row in rows)
    _say(text.getvalue(), nl=False)


def _value(value: object) -> str:
    """A value in CSV: as it is, without anything that helps the eye."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return as_json(value) if isinstance(value, list | tuple | Mapping) else str(plain(value))


def _lines(facts: Row, between: str, indent: str = "") -> None:
    wide = max(map(len, facts), default=0)
    for name, value in facts.items():
        _say(f"{indent}{name.ljust(wide)}{between}{_text(name, value)}".rstrip())


def _fold(rows: Sequence[Row], columns: Sequence[str]) -> None:
    """What is known of each, a line per fact."""
    for number, row in enumerate(rows):
        if number:
            _say()
        known = {column: row.get(column) for column in columns if row.get(column) not in (None, "", [], {})}
        _lines(known, "  ", indent="  ")


def _is_too_wide(drawn: Sequence[str]) -> bool:
    return sys.stdout.isatty() and max(map(_width, drawn)) > _columns()


def _columns() -> int:
    return os.get_terminal_size(sys.stdout.fileno()).columns


def _grid(lines_of_cells: Sequence[Sequence[str]], numeric: Sequence[bool], *, lines: bool) -> Iterator[str]:
    """Aligned columns; with lines, a box as around the answer of a query."""
    cells = _fitted(lines_of_cells)
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    if not lines:
        for row in cells:
            yield "  ".join(_padded(row, widths, numeric)).rstrip()
        return
    rule = ["─" * (wide + 2) for wide in widths]
    yield f"┌{'┬'.join(rule)}┐"
    for number, row in enumerate(cells):
        yield f"│ {' │ '.join(_padded(row, widths, numeric if number else [False] * len(widths)))} │"
        if number == 0:
            yield f"├{'┼'.join(rule)}┤"
    yield f"└{'┴'.join(rule)}┘"


def _fitted(rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """On a terminal a long cell is cut, the last of a line to what is left: a wrapped box cannot be read."""
    if not sys.stdout.isatty() or not rows[0]:
        return rows
    cut = [[_cut(cell, WIDEST) for cell in row[:-1]] + [row[-1]] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*cut, strict=True)]
    left = _columns() - sum(widths[:-1]) - 3 * len(widths) - 1
    return [[*row[:-1], _cut(row[-1], max(left, 20))] for row in cut]


def _cut(cell: str, wide: int) -> str:
    return cell if len(cell) <= wide else f"{cell[: wide - 1]}…"


def _padded(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> Iterator[str]:
    for cell, wide, is_right in zip(row, widths, right, strict=True):
        space = " " * (wide - _width(cell))
        yield space + cell if is_right else cell + space


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_records(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _text(name: str, value: object) -> str:
    return escaped(_words(name, value))


def _words(name: str, value: object) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        if not _IDS.isdisjoint(name.split("_")):
            return str(value)
        return size(value) if "size" in name.split("_") else f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(_words(name, item) for item in value) or "-"
    if isinstance(value, Mapping):
        return as_json(value)
    return str(plain(value))
