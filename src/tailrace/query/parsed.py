"""What a statement is to DuckDB's own parser. A sandbox judges that too: however something is spelled, here it is told.

Where `permission.py` looks for words that must not be there, this knows what may be: selects, tables by their names,
and functions that make rows of nothing or tell of the database.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tailrace.query.duck import duckdb

_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"Parts of a query that only read; others insert, update, delete or copy."
_ROWS = frozenset({
    "generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "test_all_types", "test_vector_types",
    "unnest",
})  # fmt: skip
_ABOUT = frozenset({
    "duckdb_approx_database_count", "duckdb_available_metrics", "duckdb_columns", "duckdb_connection_count",
    "duckdb_constraints", "duckdb_coordinate_systems", "duckdb_databases", "duckdb_dependencies", "duckdb_dialects",
    "duckdb_eviction_queues", "duckdb_extension_repositories", "duckdb_extensions", "duckdb_external_file_cache",
    "duckdb_functions", "duckdb_grammar_extensions", "duckdb_indexes", "duckdb_keywords", "duckdb_log_contexts",
    "duckdb_logs", "duckdb_logs_parsed", "duckdb_memory", "duckdb_optimizers", "duckdb_prepared_statements",
    "duckdb_schemas", "duckdb_secret_type_parameters", "duckdb_secret_types", "duckdb_sequences", "duckdb_settings",
    "duckdb_table_sample", "duckdb_tables", "duckdb_temporary_files", "duckdb_triggers", "duckdb_types",
    "duckdb_variables", "duckdb_views", "icu_calendar_names", "pg_timezone_names", "pragma_collations",
    "pragma_database_size", "pragma_metadata_info", "pragma_platform", "pragma_show", "pragma_storage_info",
    "pragma_table_info", "pragma_user_agent", "pragma_version", "summary",
})  # fmt: skip
_HIDDEN = frozenset({"histogram", "histogram_values"})
"Those of `limits.BY_TEXT`, behind which a sandbox has functions of its own."
HARMLESS = _ROWS | _ABOUT | _HIDDEN
"Functions that may stand where a table does. What a later release of DuckDB adds is not among them."
_OF_FILES = frozenset("/\\*?[]~:.")
"What names of tables lack and paths have."
_SUFFIXES = frozenset({
    "arrow", "arrows", "avro", "csv", "db", "ddb", "duckdb", "feather", "geojson", "gz", "ipc", "json", "jsonl",
    "ndjson", "parquet", "sqlite", "tsv", "txt", "vortex", "xlsx", "zst",
})  # fmt: skip
"`x.csv` is a file, unless there is such a schema."
_PIVOT = re.compile(r"\bpivot", re.IGNORECASE)
_DEPTH = 20_000
IsName = Callable[[str], bool]


def objection(connection: duckdb.DuckDBPyConnection, sql: str, is_name: IsName) -> str | None:
    """Why a sandbox does not run this statement; None where nothing is wrong with it.

    `is_name` tells whether a table or a schema of the lake is called so, whatever characters it has. Of a pivot over
    values that are looked for first the parser tells nothing: its words alone are judged.
    """
    ((text,),) = connection.execute("SELECT json_serialize_sql($1)", [sql]).fetchall()
    tree = _tree(text)
    if tree.get("error"):
        return None if _PIVOT.search(sql) or tree.get("error_type") == "parser" else "DuckDB does not tell what this is"
    return next(filter(None, (_wrong(part, is_name) for part in _parts(tree))), None)


def _tree(text: str) -> Any:
    """DuckDB takes expressions a thousand deep, of several objects each, and Python no more than its limit."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEPTH))
    try:
        return json.loads(text)
    finally:
        sys.setrecursionlimit(limit)


def _parts(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object of the tree, however deep; a long statement nests further than Python calls."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _wrong(part: dict[str, Any], is_name: IsName) -> str | None:
    kind = part.get("type")
    if "info_type" in part or (isinstance(kind, str) and kind.endswith("_NODE") and kind not in _NODES):
        return "no changes"
    if kind == "TABLE_FUNCTION":
        name = str(part["function"]["function_name"]).lower()
        return None if name in HARMLESS else f"{name} reads other things"
    if "table_name" in part and _is_file([str(name) for name in part["qualified_name"]["path"]], is_name):
        return "they have names, not paths"
    return None


def _is_file(path: list[str], is_name: IsName) -> bool:
    """May DuckDB take the name for that of a file, where no table is called so?"""
    if any(not is_name(name) and not _OF_FILES.isdisjoint(name) for name in path):
        return True
    return len(path) > 1 and path[-1].lower() in _SUFFIXES and not is_name(path[-1])
