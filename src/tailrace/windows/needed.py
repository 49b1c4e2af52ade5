"""What a query looks at, found before any row is read: it is bound to tables without rows, and the plan is read.

DuckDB leaves out branches of `otap_temporal` by `_table_type` by itself, and puts conditions on `_part_id` to scans.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import duckdb

from tailrace.lake.quoting import quoted
from tailrace.windows.schema import ATTRIBUTES, PART_ID, TABLES
from tailrace.windows.views import BARE, HIDDEN, VIEW_SCHEMAS, views

UNKNOWN = "CAST('window' AS BIGINT)"
"Stands for a time of the window: no plan computes it, as it would fail, so nothing is left out for its value."
_NO_ROWS = "statistics_propagation"
"The optimizer that would find that an empty table has no rows."
_OWN, _OF_VIEWS = "own", "rows"
"A table has two names here: one for queries, and one for views, where attributes follow the logs they are joined to."
_WORDS = {PART_ID, "AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "prefix", "suffix", "contains"}
_TEXT = re.compile(r"'(?:[^']|'')*'")
_ODD = re.compile(
    r"\b(try|age)\s*\(|\b(now|today|localtime\w*|(get_)?current_\w+|transaction_timestamp|txid_current|getvariable)\b",
    re.IGNORECASE,
)
"`try` hides that a time is not known; what the others give the plan takes for good, and it may be asked another day."


@dataclass(frozen=True, slots=True)
class Needed:
    """What has to be read for an answer."""

    tables: frozenset[str] = frozenset(ATTRIBUTES)
    "Of attributes; logs always are."
    parts: str | None = None
    "Condition on `_part_id`; None: all."
    columns: frozenset[str] = frozenset((PART_ID, "parent_id"))
    "Names of the answer's columns."

    def kept(self, part_ids: Iterable[str]) -> set[str]:
        """Those of these partitions that have to be read."""
        given = set(part_ids)
        if self.parts is None or not given:
            return given
        rows = f"SELECT {PART_ID} FROM (SELECT unnest(?::VARCHAR[]) AS {PART_ID}) WHERE {self.parts}"
        return {name for (name,) in _apart().cursor().execute(rows, [list(given)]).fetchall()}


EVERYTHING = Needed()


@lru_cache(maxsize=64)
def needed(texts: tuple[str, ...], *, sentinels: bool = True) -> Needed:
    """For queries as DuckDB takes them, each of which may know the answer of the one before; in doubt everything."""
    if any(_ODD.search(text) for text in texts):
        return EVERYTHING
    with _empty(sentinels) as connection:
        try:
            found = [_bound(connection, text) for text in texts]
        except duckdb.Error:
            # It cannot be asked, which is told when it is; or it wants numbers that are not known yet.
            return EVERYTHING
    scans = [scan for plans, _ in found for plan in plans for scan in _scans(plan, [])]
    tables = {table for table, _, _ in scans if table in ATTRIBUTES}
    if any(BARE in told for _, told, _ in scans):
        tables.add("log_attrs")
    conditions = [condition for _, _, condition in scans if condition is not None]
    parts = None if "" in conditions else " OR ".join(dict.fromkeys(conditions)) or None
    return Needed(frozenset(tables), parts, frozenset(found[-1][1]))


def _bound(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Plan and columns of a query; its answer, without rows, is then there as it is after a query."""
    plan = json.loads(connection.execute(f"EXPLAIN (FORMAT json) {text}").fetchall()[0][1])
    columns = {name: kind for name, kind, *_ in connection.execute(f"DESCRIBE {text}").fetchall()}
    answer = ", ".join(f"NULL::{kind} AS {quoted(name)}" for name, kind in columns.items())
    connection.execute(f"CREATE OR REPLACE TABLE result AS SELECT {answer} LIMIT 0")
    return plan, list(columns)


def _empty(sentinels: bool) -> duckdb.DuckDBPyConnection:
    """A database that knows what a window's does, and holds no rows."""
    connection = duckdb.connect(config={"enable_external_access": False, "threads": 1})
    connection.execute(f"SET disabled_optimizers = '{_NO_ROWS}'")
    for name in TABLES:
        connection.register("given", VIEW_SCHEMAS[name].empty_table())
        for use in (_OWN, _OF_VIEWS):
            connection.execute(f"CREATE TABLE {name}_{use} AS FROM given")
        connection.execute(f"CREATE VIEW {name} AS SELECT * EXCLUDE ({', '.join(HIDDEN[name])}) FROM {name}_{_OWN}")
    connection.unregister("given")
    for name, query in views(sentinels=sentinels, prepared=True).items():
        connection.execute(f"CREATE VIEW {name} AS {query}")
    connection.execute("CREATE MACRO wrs_invalid(weight) AS random()")
    connection.execute(f"CREATE TABLE result AS SELECT {PART_ID}, id AS parent_id FROM logs")
    connection.execute(f"CREATE VIEW selected_ids AS SELECT DISTINCT {PART_ID}, parent_id AS sampled_id FROM result")
    return connection


def _scans(plan: Mapping[str, Any], above: list[str]) -> Iterator[tuple[str, str, str | None]]:
    """Table, all that is told of its scan, and its condition on `_part_id`: "" for none, None where logs decide."""
    info = plan.get("extra_info", {})
    name, _, use = str(info.get("Table", "")).rpartition(".")[2].rpartition("_")
    if name in TABLES:
        told = [*above, *_listed(info.get("Filters"))]
        follows = use == _OF_VIEWS and name in ATTRIBUTES[1:]
        yield name, f"{info} {above}", None if follows else _condition(told)
    filters = _listed(info.get("Expression")) if plan.get("name") == "FILTER" else []
    for child in plan.get("children", []):
        yield from _scans(child, filters)


def _listed(told: str | list[str] | None) -> list[str]:
    return [told] if isinstance(told, str) else list(told or ())


def _condition(filters: list[str]) -> str:
    # A text with line ends is told in pieces, of which one may look like a condition; the first has its quote alone.
    if any(text.count("'") % 2 for text in filters):
        return ""
    bare = [text.removeprefix("optional: ") for text in filters]
    return " AND ".join(f"({text})" for text in bare if _is_of_part(text))


def _is_of_part(text: str) -> bool:
    """Does it speak of nothing but `_part_id` and texts, in words that always mean the same?"""
    words = set(re.findall(r"\w+", _TEXT.sub("", text)))
    return PART_ID in words and words <= _WORDS


@cache
def _apart() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"enable_external_access": False, "threads": 1})
