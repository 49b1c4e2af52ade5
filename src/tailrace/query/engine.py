"""SQL over the lake with DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailrace.core.errors import LakeError, QueryError
from tailrace.core.registry import holding, nearest
from tailrace.core.schemas import DEFAULT_SCHEMA
from tailrace.lake.kept import KeptDamaged
from tailrace.lake.quoting import quoted
from tailrace.query.changing import hint_for
from tailrace.query.duck import duckdb, with_arrow
from tailrace.query.failures import damaged_file, of_lake, placed, refused
from tailrace.query.filters import Schema, Scope
from tailrace.query.limits import Clock, Limits, confine, hide, readable_of
from tailrace.query.local import Announce, LocalFiles
from tailrace.query.networks import register, without_inet
from tailrace.query.opening import opened
from tailrace.query.parameters import with_values
from tailrace.query.permission import Permission
from tailrace.query.plan import planner
from tailrace.query.spans import in_words
from tailrace.query.sql_file import no_text
from tailrace.query.statement import Statement, judged, lines_before, with_now
from tailrace.query.tables import Tables
from tailrace.query.views import Views

if TYPE_CHECKING:
    import pyarrow as pa

    from tailrace.core import Table
    from tailrace.lake.paths import Lake, Tier
    from tailrace.query.beside import Beside

    Batches = tuple[pa.Schema, Iterator[pa.RecordBatch]]

_NO_FUNCTION = re.compile(r"Function with name \"?(\S+?)\"? does not exist")
_SUGGESTED = re.compile(r'Did you mean "(\w+)"')
_GUESS = re.compile(r'\nDid you mean "[^"\n]*"\?')
"DuckDB's own; it does not know tables that no statement has named yet."
_NO_TABLE = re.compile(r'Table with name (\S+) does not exist(?: because schema "([^"]+)")?')
FETCHED = 2_000
"Rows at a time."
STEP = 2_048
"Rows that DuckDB computes at once."
BATCH_ROWS, BATCH_BYTES = 122_880, 32 << 20
"Of an Arrow batch, which is a row group in Parquet: whichever comes first, for some rows are hundreds of kilobytes."
Told = Callable[[Exception], QueryError]
"What to say of an error that DuckDB raises."
_NO_SYNTAX = re.compile(r'syntax error at or near "([^"]+)"')


@dataclass(frozen=True, slots=True)
class Result:
    """One statement's answer; rows are fetched as they are asked for."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]
    clock: Clock | None = None
    "How long it has taken so far, without whoever looks at it."
    batches: Callable[[], Batches] | None = None
    "The same rows as Arrow has them, instead."


class Engine:
    """One DuckDB connection over one lake."""

    def __init__(
        self,
        lake: Lake,
        declared: Callable[[], Mapping[str, Table]] = dict,
        schemas: Callable[[], Iterable[Schema]] = tuple,
        scope: Scope | None = None,
        announce: Announce | None = None,
        limits: Limits | None = None,
        tiers: Callable[[], Sequence[Tier]] = tuple,
        beside: Beside | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.connection = opened()
        self.tables = tables = Tables(lake, declared, scope or Scope(), tiers)
        self.views = views = Views(self.connection, tables, schemas, LocalFiles(lake, announce), beside)
        # Of the engine itself it must not know: what is attached is let go with the engine, at once.
        names = lambda: (*tables.names, *views.known)  # noqa: E731
        self.permission = Permission(self.limits, lake, self.connection, names)
        self.has_networks = False
        readable: Sequence[str] = ()
        if self.limits.sandboxed:
            views.planner = planner(tables.scope.schema, self.limits)
            hide(self.connection, {tables.scope.schema, "main"})
            readable = [*readable_of(lake, tiers()), *views.beside.readable()]
        confine(self.connection, self.limits, readable)

    @property
    def warnings(self) -> list[str]:
        """What had to be left out so far, in words for people."""
        return self.views.warnings

    def run(self, sql: str, parameters: Mapping[str, Any] | None = None, *, as_arrow: bool = False) -> Iterator[Result]:
        """The answers of all statements, one after the other; `$name` and `$1` in them stand for parameters.

        Where their batches are wanted that is to be said: otherwise all rows are held to make them.
        """
        for statement, kind, answers, lines in self._statements(sql, parameters or {}):
            self.permission.require(statement, kind)
            with placed(lines), self._read_only(statement):
                result = self._answer(Statement.of(statement), as_arrow)
            yield result if answers else Result((), (), result.rows, result.clock)

    def answering(self, sql: str, parameters: Mapping[str, Any] | None = None) -> int:
        """How many of the statements give rows."""
        return sum(answers for _, _, answers, _ in self._statements(sql, parameters or {}))

    def abandon(self) -> None:
        """The rest of an answer is not wanted."""
        # One step may still be under way where time ran out: that it did is what is to be told.
        with suppress(duckdb.ResourceInUseException):
            self.connection.abort()

    def refresh(self) -> None:
        """Statements to come see what has been collected meanwhile."""
        self.tables.forget()
        self.views.forget()

    def _statements(self, sql: str, parameters: Mapping[str, Any]) -> list[tuple[str, str, bool, int]]:
        """Text and kind of each, whether it answers anything, and how many lines stand before it."""
        try:
            sql.encode()  # half a character would be no text for DuckDB, which says so less clearly
            text = self._with_networks(with_now(with_values(sql, parameters)))
            found = self.connection.extract_statements(text)
            return [(s.query, *judged(s), n) for s, n in zip(found, lines_before(text, found), strict=True)]
        except duckdb.Error as error:
            raise refused(error, self._misread(str(error), sql)) from None
        except UnicodeEncodeError:
            raise no_text() from None

    def _with_networks(self, sql: str) -> str:
        text = without_inet(sql)
        if text != sql and not self.has_networks:
            register(self.connection)
            self.has_networks = True
        return text

    def _answer(self, statement: Statement, as_arrow: bool = False) -> Result:
        clock = self._clock()
        with self._explained():
            with clock.counted() as proceed:
                self._make_views(statement, proceed)
            text = self._prepared(statement, clock, as_arrow)
            # A cursor would gather all rows before it has the first of them for Arrow; a relation does not.
            if as_arrow and statement.selects:
                with_arrow()
                relation = clock.run(lambda: self.connection.sql(text))
                rows, described = self._rows_later(text, clock), relation.description
                return Result(*_columns(described), rows, clock, lambda: _batches(relation, clock, self._told))
            cursor = clock.run(lambda: self.connection.execute(text))
            described = cursor.description or []
            if statement.selects and (worded := in_words(text, described)) is not None:
                cursor = clock.run(lambda: self.connection.execute(worded))
            if statement.moves:
                self.views.stay_in_path()
            return Result(
                *_columns(described),
                _rows(cursor, clock, self._told),
                clock,
                lambda: _batches(cursor, clock, self._told),
            )

    def _make_views(self, statement: Statement, proceed: Callable[[], None]) -> None:
        """Where what was kept of a table turns out to be damaged, its log is read."""
        try:
            self.views.make(statement, proceed)
        except KeptDamaged:
            self.refresh()
            self.views.make(statement, proceed)

    def _rows_later(self, text: str, clock: Clock) -> Iterator[tuple[Any, ...]]:
        with self._explained():
            cursor = clock.run(lambda: self.connection.execute(text))
        yield from _rows(cursor, clock, self._told)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What DuckDB and the lake refuse, with what may be done about it."""
        try:
            yield
        except duckdb.CatalogException as error:
            raise refused(_GUESS.sub("", str(error)), self._guess(str(error))) from None
        except LakeError as error:
            raise of_lake(error) from error
        except duckdb.Error as error:
            raise self._told(error) from None

    def _told(self, error: Exception) -> QueryError:
        """Why a statement failed whose views are made."""
        held = [self.views.held[key] for key in self.views.read if key in self.views.held]
        damaged = damaged_file(error, (path for one in held for path in one.paths), sum(one.size for one in held))
        return refused(error) if damaged is None else of_lake(damaged)

    @contextmanager
    def _read_only(self, sql: str) -> Iterator[None]:
        """DuckDB only says that a table of the lake is a view."""
        try:
            yield
        except QueryError as error:
            hint = hint_for(sql, self.tables.names) if error.code == QueryError.code else None
            if hint is None:
                raise
            raise QueryError(error.message, where=error.where, hint=hint) from None

    def _clock(self) -> Clock:
        return Clock(self.connection.interrupt, self.limits.seconds)

    def _prepared(self, statement: Statement, clock: Clock, as_arrow: bool) -> str:
        """What DuckDB has to run for a statement whose views are made."""
        return statement.text

    def _guess(self, message: str) -> str | None:
        """What may be meant by a table or function that does not exist."""
        if function := _NO_FUNCTION.search(message):
            guess = nearest(function[1].lower(), _SUGGESTED.findall(message))  # DuckDB suggests some in any case
            return f"did you mean '{guess}'?" if guess else "`from duckdb_functions()` lists what there is"
        missing = _NO_TABLE.search(message)
        if missing and missing[2]:
            beside = self.views.beside.told(missing[2])
            guess = nearest(missing[2], self.views.schemas) if beside is None else None
            return beside or (f"did you mean '{guess}'?" if guess else "`tailrace schema list` shows what there is")
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


def _columns(described: Sequence[Sequence[Any]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and types."""
    return tuple(column[0] for column in described), tuple(str(column[1]) for column in described)


def _rows(cursor: duckdb.DuckDBPyConnection, clock: Clock, told: Told) -> Iterator[tuple[Any, ...]]:
    try:
        while rows := clock.run(lambda: cursor.fetchmany(FETCHED)):
            yield from rows
    except duckdb.Error as error:
        raise told(error) from None


def _batches(begun: duckdb.DuckDBPyConnection | duckdb.DuckDBPyRelation, clock: Clock, told: Told) -> Batches:
    with_arrow()
    try:
        reader: pa.RecordBatchReader = clock.run(lambda: begun.to_arrow_reader(STEP))
    except duckdb.Error as error:
        raise told(error) from None
    return reader.schema, _gathered(_each(reader, clock, told))


def _each(reader: pa.RecordBatchReader, clock: Clock, told: Told) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    def following() -> pa.RecordBatch | None:
        try:
            return next(reader, None)
        except (duckdb.Error, pa.ArrowException, OSError) as error:  # which of them, Arrow decides
            raise told(error) from None

    while (batch := clock.run(following)) is not None:
        yield batch


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Few large ones instead of many small ones; hardly more is held than one of them."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= BATCH_ROWS or size >= BATCH_BYTES:
            yield pa.concat_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.concat_batches(held)
