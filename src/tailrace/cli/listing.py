"""Lists and single things, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click


def show_rows(rows: Sequence[dict[str, object]], columns: Sequence[str], output: str) -> None:
    """A list: aligned columns, or JSON with everything that is known."""
    if output == "json":
        click.echo(json.dumps(list(rows), indent=2, default=str))
        return
    cells = [[_text(row.get(column)) for column in columns] for row in rows]
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
        click.echo(f"{name.ljust(wide)}  {_text(value)}".rstrip())
    for name, value in facts.items():
        if _is_records(value) and isinstance(value, list):
            click.echo(f"\n{name}:")
            show_rows(value, list(value[0]), "table")


def _is_records(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "-"
    return str(value)
