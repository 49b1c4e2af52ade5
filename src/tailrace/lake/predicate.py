"""A condition on stored rows, in DuckDB's SQL: which of them it holds for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tailrace.core.errors import UsageError, one_line
from tailrace.lake.words import words_of

if TYPE_CHECKING:
    import duckdb

_ROW = "tailrace row"
"A column that numbers the rows: DuckDB may answer in any order."


@dataclass(frozen=True)
class Predicate:
    """What a `WHERE` says of the rows of a table."""

    sql: str
    schema: pa.Schema
    "Of the table: a file may lack columns, which are null then."

    def __post_init__(self) -> None:
        """Refuses what is no condition on these columns, before anything is done by it."""
        self.marks(self.schema.empty_table())
        # Without a row some mistakes are none, such as no condition at all; kept, it would refuse every later row.
        self.marks(pa.table([pa.nulls(1, field.type) for field in self.schema], self.schema.names))

    @cached_property
    def columns(self) -> list[str]:
        """Columns of the table that it may look at."""
        words = {word.lower() for word in words_of(self.sql)}
        return [name for name in self.schema.names if name.lower() in words]

    def marks(self, rows: pa.Table) -> pa.ChunkedArray:
        """True for each row that fulfils it; null counts as no."""
        import duckdb

        there = set(rows.column_names)
        # Without rows, with all columns: who misspells one is told those that there are.
        given = {
            name: self._column(rows, name) if name in there else pa.nulls(rows.num_rows, self.schema.field(name).type)
            for name in (self.columns if rows.num_rows else self.schema.names)
        }
        self._connection.register("given", pa.table({**given, _ROW: np.arange(rows.num_rows)}))
        try:
            found = self._connection.sql(f'SELECT "{_ROW}" FROM given WHERE ({self.sql}\n)').to_arrow_table()
        except duckdb.Error as error:
            raise UsageError(
                f"the condition cannot be put to the rows: {one_line(error)}",
                code="usage.bad-condition",
                hint="write what would stand after WHERE in a query; where a value may not fit, `try_cast` gives null",
            ) from None
        finally:
            self._connection.unregister("given")
        marked = np.zeros(rows.num_rows, bool)
        marked[found.column(0).to_numpy()] = True
        return pa.chunked_array([pa.array(marked)])

    def _column(self, rows: pa.Table, name: str) -> pa.ChunkedArray:
        """With the fields of today: those that a struct of an earlier file lacks are null, too."""
        column, wanted = rows.column(name), self.schema.field(name).type
        return column.cast(wanted) if pa.types.is_nested(wanted) and column.type != wanted else column

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        connection = duckdb.connect(config={"threads": 1, "enable_external_access": "false"})
        connection.execute("SET TimeZone = 'UTC'")
        return connection
