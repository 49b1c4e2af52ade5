"""All rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailrace.api.answer import Answer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tailrace.api.filters import Filters
    from tailrace.api.lake import Lake
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
        from tailrace.cli.sink_tables import PREFIX
        from tailrace.query.spark.frames import frame_of
        from tailrace.query.views import Held

        if self.schema.lower().startswith(PREFIX):
            # What a sink holds waits in part to be in a file.
            return super().spark()
        views = self.lake.engine(self.filters).views
        shown, table = self._shown(views)
        snapshot = shown.snapshot(table)
        if snapshot is not None and not all(map(snapshot.root.has_near, snapshot.files.paths)):
            # Without further packages Spark reaches no object store.
            return super().spark()
        names = snapshot.files.paths if snapshot is not None else ()
        paths = tuple(snapshot.root.address(name) for name in names) if snapshot is not None else ()
        return frame_of(self.lake.session.get(), Held(paths, shown.columns(table)), views.scope.window)

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
