"""Tables beside the lake, such as files of sinks: each a view in a schema of its own, made when it is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailrace.lake.quoting import quoted
from tailrace.query import bodies
from tailrace.query.plan import CATALOG, Key, address
from tailrace.query.statement import Statement

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class BesideTable:
    """Parquet files that lie somewhere else, as they are now."""

    schema: str
    name: str
    columns: pa.Schema
    paths: Callable[[], Sequence[str]]


class Beside:
    """All of them; `declared` is asked only when a statement may mean one."""

    def __init__(self) -> None:
        self.declared: Callable[[], Iterable[BesideTable]] = tuple
        self.prefix = ""
        "How the names of their schemas begin; nothing is asked before a statement has it."

    def told(self, schema: str) -> str | None:
        """Which schemas there are, for whoever means one of these; None where another kind is meant."""
        if not self.prefix or not schema.lower().startswith(self.prefix):
            return None
        names = ", ".join(dict.fromkeys(table.schema for table in self.declared()))
        others = "`tailrace window query DIR` asks the tables of a sink of OTAP"
        return f"of sinks there are {names}; {others}" if names else f"no sink has a schema here; {others}"

    def make(self, connection: duckdb.DuckDBPyConnection, statement: Statement) -> set[Key]:
        """Views that the statement names, or that are to be listed."""
        if not self.prefix or not (self.prefix in statement.lowered or statement.lists_all_schemas):
            return set()
        from tailrace.lake.sql import columns_of

        found: set[Key] = set()
        with connection.cursor() as cursor:  # beside any transaction of the user's
            for table in self.declared():
                if not (statement.mentions_prefix(table.schema) or statement.lists_all_schemas):
                    continue
                key = (table.schema, table.name)
                paths, columns = table.paths(), columns_of(table.columns)
                body = bodies.rows_of(paths, columns) if paths else bodies.nothing(columns)
                cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {CATALOG}.{quoted(table.schema)}")
                cursor.execute(f"CREATE OR REPLACE VIEW {address(key)} AS {body}")
                found.add(key)
        return found
