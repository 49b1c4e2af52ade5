"""Names that can be completed: tables, columns, fields of structs, functions and words of SQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from tailrace.core.errors import TailraceError
from tailrace.core.registry import ALIASES
from tailrace.query.views import QUARANTINE

if TYPE_CHECKING:
    import pyarrow as pa

    from tailrace.query.engine import Engine


class Names(Protocol):
    """What there is to be named. Names of tables are in small letters, as they are looked for."""

    def schemas(self) -> Sequence[str]: ...
    def tables(self, schema: str | None = None) -> Sequence[str]: ...
    def fields(self, table: str, path: Sequence[str] = ()) -> Sequence[tuple[str, str]]:
        """Columns of a table, or fields of a struct in it, and their types."""
        ...

    def functions(self) -> Sequence[str]: ...
    def keywords(self) -> Sequence[str]: ...


class LakeNames:
    """Those of an engine. Nobody waits for a name that cannot be found out: it is just not offered."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def schemas(self) -> list[str]:
        return sorted({*self.engine.views.schemas} - {"main"})

    def tables(self, schema: str | None = None) -> list[str]:
        chosen = self.engine.views.known.get((schema or self.engine.tables.scope.schema).lower())
        shown = self.engine.views.schemas[chosen] if chosen else None
        try:
            stored = {*shown.names(), *(a for a, t in ALIASES.items() if t in shown.names())} if shown else set()
        except TailraceError:
            stored = set()
        own = () if schema else self._rows("SELECT DISTINCT table_name FROM duckdb_tables() WHERE NOT internal")
        return sorted({*stored, *own, *(() if schema else (QUARANTINE,))})

    def fields(self, table: str, path: Sequence[str] = ()) -> list[tuple[str, str]]:
        fields = self._columns(table)
        for name in path:
            field = next((f for f in fields if f.name.lower() == name.lower()), None)
            fields = _inside(field)
        from tailrace.lake.sql import duckdb_type

        return [(field.name, duckdb_type(field)) for field in fields]

    @cached_property
    def _functions(self) -> list[str]:
        return self._rows("SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_name ~ '^[a-z]\\w*$'")

    def functions(self) -> list[str]:
        return self._functions

    @cached_property
    def _keywords(self) -> list[str]:
        return self._rows("SELECT keyword_name FROM duckdb_keywords()")

    def keywords(self) -> list[str]:
        return self._keywords

    def _columns(self, table: str) -> list[pa.Field]:
        shown = self.engine.views.schemas[self.engine.tables.scope.schema]
        names = {name.lower(): name for name in shown.names()}
        known = names.get(ALIASES.get(table.lower(), table.lower()))
        try:
            if table.lower() == QUARANTINE:
                from tailrace.lake.quarantine import SHOWN_SCHEMA

                return list(SHOWN_SCHEMA)
            return list(shown.columns(known).arrow()) if known else []
        except TailraceError:
            return []

    def _rows(self, sql: str) -> list[str]:
        # Beside the connection that statements run on.
        with self.engine.connection.cursor() as cursor:
            return [str(name) for (name,) in cursor.execute(sql).fetchall()]


def _inside(field: pa.Field | None) -> list[pa.Field]:
    import pyarrow.types as pt

    kind = field.type if field is not None else None
    return list(kind.fields) if kind is not None and pt.is_struct(kind) else []
