"""What is said when Spark cannot run what DuckDB can."""

from __future__ import annotations

from tailrace.core.errors import QueryError

REFUSED = "leave out --engine spark: DuckDB runs it"


def refused(why: str) -> QueryError:
    """Rather than an answer that may be another one."""
    return QueryError(f"Spark cannot run this statement: {why}", code="query.not-on-spark", hint=REFUSED)
