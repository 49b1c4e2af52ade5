"""Rows as a notebook shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from html import escape

_NAME = "tailrace-rows"
_STYLE = (
    f".{_NAME} th, .{_NAME} td {{ text-align: left; white-space: pre-wrap; vertical-align: top }}\n"
    f".{_NAME} td.n {{ text-align: right }}"
)
LONGEST = 300
"Characters of a cell."


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """A table; whatever a log holds is text in it and nothing else."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in rows)
    below = f"<p>{escape(note)}</p>" if note else ""
    shown = f'<table class="{_NAME}">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>'
    return f"<style>\n{_STYLE}\n</style>\n{shown}{below}"


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return f'<td class="n">{escape(shown)}</td>' if is_number else f"<td>{escape(shown)}</td>"
