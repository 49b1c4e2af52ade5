"""Which columns an SQL expression may name."""

from __future__ import annotations

import re

_LITERAL = re.compile(r"'(?:[^']|'')*'")
_WORD = re.compile(r'[A-Za-z_][A-Za-z0-9_]*(?!\s*\(|[A-Za-z0-9_])|"(?:[^"]|"")+"')


def words_of(expression: str) -> frozenset[str]:
    """Everything in an expression that may be a column's name: no texts, no functions."""
    bare = _LITERAL.sub("''", expression)
    return frozenset(word.strip('"').replace('""', '"') for word in _WORD.findall(bare))
