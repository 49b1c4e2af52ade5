"""Spans of time in answers that are text: DuckDB writes them, for Python counts 30 days for a month."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailrace.query.tokens import tokens

SPAN = "INTERVAL"


def in_words(sql: str, described: Sequence[Sequence[Any]]) -> str | None:
    """A select of the same rows in which spans are texts, `1 year 2 months`; None where it has no column of them."""
    kinds = [str(column[1]) for column in described]
    if SPAN not in kinds:
        return None
    names = [f"c{place}" for place in range(len(kinds))]
    parts = ", ".join(f"{name}::VARCHAR" if kind == SPAN else name for name, kind in zip(names, kinds, strict=True))
    return f"SELECT {parts} FROM ({_whole(sql)}) AS answer({', '.join(names)})"


def _whole(sql: str) -> str:
    """A statement up to its semicolon, and without what is remarked behind it."""
    end = max(token.end for token in tokens(sql) if token.text != ";")
    return sql.encode()[:end].decode()
