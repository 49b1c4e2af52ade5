"""Statements that would change a table: those of the lake are views, of which DuckDB says less than helps."""

from __future__ import annotations

import re
from collections.abc import Container

HINT = "the lake is read-only; change a copy (`create table mine as from {0}`), or see `tailrace partition delete`"
_CHANGING = re.compile(
    r"\s*(?:delete\s+from|update|insert\s+(?:or\s+\w+\s+)?into|merge\s+into|truncate(?:\s+table)?|(?:drop|alter)\s+(?:table|view))"
    r"\s+(?:if\s+exists\s+)?(?:[\w\"]+\s*\.\s*)*\"?(\w+)",
    re.IGNORECASE,
)


def hint_for(sql: str, tables: Container[str]) -> str | None:
    """What helps whoever wanted to change one of these tables; None where the statement does not."""
    found = _CHANGING.match(sql)
    name = found[1].lower() if found else ""
    return HINT.format(name) if name in tables else None
