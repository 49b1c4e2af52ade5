"""SQL over the lake with DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from tailrace.core.errors import LakeError, QueryError
from tailrace.core.registry import holding, nearest
from tailrace.core.table import DEFAULT_SCHEMA
from tailrace.query.filters import Schema, Scope
from tailrace.query.local import Announce, LocalFiles
from tailrace.query.quoting import quoted
from tailrace.query.statement import Statement, with_now
from tailrace.query.tables import Tables
from tailrace.query.views import Views

if TYPE_CHECKING:
    from tailrace.core import Table
    from tailrace.lake.paths import Lake

_GUESS = re.compile(r'\nDid you mean "[^"\n]*"\?')
"DuckDB's own; it does not know tables that no statement has named yet."
_NO_TABLE = re.compile(r'Table with name (\S+) does not exist(?: because schema "([^"]+)")?')
_NO_SYNTAX = re.compile(r'syntax error at or near "([^"]+)"')


@dataclass(frozen=True, slots=True)
class Result:
    """One statement's answer; rows are fetched as they are asked for."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class Engine:
    """One DuckDB connection over one lake."""

    def __init__(
        self,
        lake: Lake,
        declared: Callable[[], Mapping[str, Table]] = dict,
        schemas: Callable[[], Iterable[Schema]] = tuple,
        scope: Scope | None = None,
        announce: Announce | None = None,
    ) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        # Times are stored without zone and mean UTC: `now()` has to be of the same kind to be compared with them.
        self.connection.execute("CREATE MACRO now() AS (get_current_timestamp() AT TIME ZONE 'UTC')")
        self.tables = Tables(lake, declared, scope or Scope())
        self.views = Views(self.connection, self.tables, schemas, LocalFiles(lake, announce))

    @property
    def warnings(self) -> list[str]:
        """What had to be left out so far, in words for people."""
        return self.views.warnings

    def run(self, sql: str) -> Iterator[Result]:
        """The answers of all statements, one after the other."""
        try:
            statements = [s.query for s in self.connection.extract_statements(with_now(sql))]
        except duckdb.Error as error:
            raise _refused(error, self._misread(str(error), sql)) from None
        for statement in statements:
            yield self._answer(Statement.of(statement))

    def _answer(self, statement: Statement) -> Result:
        try:
            self.views.make(statement)
            cursor = self.connection.execute(statement.text)
            described = cursor.description or []
            if statement.moves:
                self.views.stay_in_path()
            names, types = tuple(d[0] for d in described), tuple(str(d[1]) for d in described)
            return Result(names, types, self._rows(cursor))
        except duckdb.CatalogException as error:
            raise _refused(_GUESS.sub("", str(error)), self._guess(str(error))) from None
        except LakeError as error:
            raise QueryError(error.message, code=error.code, where=error.where, hint=error.hint) from error
        except duckdb.Error as error:
            raise _refused(error) from None

    def _rows(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
        try:
            while rows := cursor.fetchmany(2_000):
                yield from rows
        except duckdb.Error as error:
            raise _refused(error) from None

    def _guess(self, message: str) -> str | None:
        """What may be meant by a table that does not exist."""
        missing = _NO_TABLE.search(message)
        if missing and missing[2]:
            guess = nearest(missing[2], self.views.schemas)
            return f"did you mean '{guess}'?" if guess else "`tailrace schema list` shows what there is"
        names = self.tables.names if missing else frozenset()
        if missing and missing[1] in names:
            return f"the schema leaves it out; {DEFAULT_SCHEMA}.{missing[1]} has all of it"
        guess = nearest(missing[1], names) or holding(missing[1], names) if missing else None
        return f"did you mean '{guess}'?" if guess else "`tailrace table list` shows what there is"

    def _misread(self, message: str, sql: str) -> str | None:
        """A schema that is called as a word of SQL needs quotes."""
        found = _NO_SYNTAX.search(message)
        word = found[1].lower() if found else ""
        if not re.search(rf"\b{re.escape(word)}\s*\.", sql, re.IGNORECASE) or word not in self.views.known:
            return None
        return f"{word} is a word of SQL: write {quoted(word)}, or choose the schema with --schema {word}"


def _refused(error: duckdb.Error | str, hint: str | None = None) -> QueryError:
    return QueryError(str(error).strip(), hint=hint)
