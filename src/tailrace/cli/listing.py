"""Lists and single things, for people and for programs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence

import click

from tailrace.cli.summary import size
from tailrace.core.registry import nearest


def show_rows(rows: Sequence[dict[str, object]], columns: Sequence[str], output: str) -> None:
    """A list: aligned columns, or JSON with everything that is known."""
    if output == "json":
        click.echo(json.dumps(list(rows), indent=2, default=str))
        return
    cells = [[_text(column, row.get(column)) for column in columns] for row in rows]
    heads = [column.upper().replace("_", " ") for column in columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for line in (heads, *cells):
        padded = (cell.ljust(wide) for cell, wide in zip(line, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


def show_one(facts: dict[str, object], output: str) -> None:
    """One thing: a line per fact, lists of records as small tables below."""
    if output == "json":
        click.echo(json.dumps(facts, indent=2, default=str))
        return
    plain = {k: v for k, v in facts.items() if not _is_records(v)}
    wide = max(map(len, plain), default=0)
    for name, value in plain.items():
        click.echo(f"{name.ljust(wide)}  {_text(name, value)}".rstrip())
    for name, value in facts.items():
        if _is_records(value) and isinstance(value, list):
            click.echo(f"\n{name}:")
            show_rows(value, list(value[0]), "table")


def hint_at(name: str, known: Iterable[str], everything: str) -> str:
    """What to try for a name that does not exist."""
    known = sorted(known)
    guess = nearest(name, known)
    if guess:
        return f"did you mean '{guess}'?"
    some = ", ".join(difflib.get_close_matches(name, known, n=3, cutoff=0.3))
    return f"nearest: {some}; `{everything}` shows all" if some else f"`{everything}` shows all"


def _is_records(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _text(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return size(value) if name == "size" else f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(_text(name, item) for item in value) or "-"
    return str(value)
