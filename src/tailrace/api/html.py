"""Rows as a notebook shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_STYLE = "text-align: left; white-space: pre-wrap; vertical-align: top"
LONGEST = 300
"Characters of a cell."


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """A table; whatever a log holds is text in it and nothing else."""
    head = "".join(f'<th style="{_STYLE}">{escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in rows)
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>{below}"


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return f'<td style="{_STYLE}">{escape(shown)}</td>'
