"""Which statements go to Spark of themselves: those that DuckDB could only run with rows on disk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tailrace.query.duck import duckdb

SMALL = 64_000_000
"Bytes: so much fits into any memory."
_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50}
_AMOUNT = re.compile(r"([\d.]+) (\w+)")
_HOLDING = re.compile(r"(HASH_GROUP_BY|PARTITIONED_AGGREGATE|ORDER_BY|WINDOW|\w*JOIN|CROSS_PRODUCT|\w*DISTINCT\w*)")
"Operators that keep rows, or groups of them, until they have seen all."


def memory_of(connection: duckdb.DuckDBPyConnection) -> int:
    """Bytes that DuckDB may take before it puts rows on disk."""
    ((told,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    found = _AMOUNT.fullmatch(told)
    return int(float(found[1]) * _UNITS[found[2]]) if found and found[2] in _UNITS else 0


def holds_rows(connection: duckdb.DuckDBPyConnection, sql: str) -> bool:
    """Must DuckDB keep what it reads to answer this? A count or a filter lets rows pass."""
    try:
        ((_, plan),) = connection.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
    except duckdb.Error:
        return False
    return any(_HOLDING.fullmatch(name) for node in json.loads(plan) for name in _operators(node))


def _operators(node: Mapping[str, Any]) -> Iterator[str]:
    yield str(node.get("name", "")).strip().upper()
    for child in node.get("children", ()):
        yield from _operators(child)
