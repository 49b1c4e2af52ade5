"""All rows of a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tailrace.api.answer import Answer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tailrace.api.filters import Filters
    from tailrace.api.lake import Lake
    from tailrace.core import TimeRange
    from tailrace.query.tables import Shown
    from tailrace.query.views import Views


class WholeTable(Answer):
    """All rows of a table, or those that filters leave. On Spark it is read there, from its files."""

    def __init__(self, lake: Lake, name: str, filters: Filters) -> None:
        from tailrace.lake.quoting import quoted

        self.schema, _, self.name = name.rpartition(".")
        full = ".".join(quoted(part) for part in (self.schema, self.name) if part)
        super().__init__(lake, f"from {full}", None, filters)

    def describe(self) -> dict[str, Any]:
        """What `tailrace table show` tells of it."""
        return self.lake.describe(self.name)

    def spark(self) -> DataFrame:
        """As a DataFrame of Spark over the table's files: nothing is read before Spark is asked for rows.

        It holds the files that the table has now; who wants to see what is collected later asks anew. Of a lake in an
        object store the rows go to Spark as those of other answers do.
        """
        from deltalake import Schema
        from pyspark.sql.types import StructType

        views = self.lake.engine(self.filters).views
        shown, table = self._shown(views)
        snapshot = shown.snapshot(table)
        columns = Schema.from_arrow(shown.columns(table)).to_json()
        schema = StructType.fromJson(json.loads(columns))
        spark = self.lake.session.get()
        if snapshot is None or not snapshot.files.num_rows:
            return spark.createDataFrame([], schema)
        if not all(map(snapshot.root.has_near, snapshot.files["path"].to_pylist())):
            # Without further packages Spark reaches no object store.
            return super().spark()
        paths = map(snapshot.root.address, snapshot.files["path"].to_pylist())
        frame = spark.read.schema(schema).parquet(*paths)
        for condition in _bounds(views.scope.window):
            frame = frame.where(condition)
        return frame

    def _shown(self, views: Views) -> tuple[Shown, str]:
        """The schema, and the table's name in it."""
        from tailrace.core.errors import QueryError
        from tailrace.core.registry import ALIASES

        schema = views.known.get((self.schema or views.scope.schema).lower())
        shown = views.schemas[schema] if schema is not None else None
        known = {name.lower(): name for name in shown.names()} if shown is not None else {}
        wanted = self.name.lower()
        table = known.get(ALIASES.get(wanted, wanted))
        if shown is None or table is None:
            raise QueryError(f"there is no table {self.text.removeprefix('from ')}", hint="`lake.tables()` shows all")
        return shown, table

    def _beginning(self, most: int) -> str:
        return f"{self.text} limit {most}"


def _bounds(window: TimeRange) -> Iterator[str]:
    """For Spark, whatever the time zone of its session is."""
    for operator, time in ((">=", window.start), ("<", window.end)):
        if time is not None:
            yield f"tp_timestamp {operator} TIMESTAMP_NTZ '{time}'"
