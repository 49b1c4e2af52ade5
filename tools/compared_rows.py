"""Are two answers the same? Rows in any order, lists that have none too, real numbers up to their ninth digit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

MISSING = "rows are missing"


def counted(rows: Iterable[tuple[Any, ...]]) -> Counter[str]:
    """Each row with how often it is there."""
    return Counter(repr(tuple(map(_plain, row))) for row in rows)


def difference(first: Counter[str], second: Counter[str]) -> str:
    """Rows that only one of two answers has, in words; empty where there are none."""
    missing, more = first - second, second - first
    if not missing and not more:
        return ""
    example = next(iter((missing or more).elements()))
    return f"{missing.total()} {MISSING} and {more.total()} are new, such as {example[:200]}"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, list):
        return sorted(repr(_plain(inner)) for inner in value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return value
