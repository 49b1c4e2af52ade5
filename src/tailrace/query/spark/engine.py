"""SQL over the lake with Spark: DuckDB says what a statement means and which files it needs, Spark computes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from tailrace.core.errors import QueryError, SparkError
from tailrace.lake.quoting import quoted
from tailrace.query.duck import with_arrow
from tailrace.query.engine import Engine, Result
from tailrace.query.limits import Clock
from tailrace.query.plan import Key, address
from tailrace.query.spans import SPAN
from tailrace.query.spark.choice import SMALL, holds_rows, memory_of
from tailrace.query.spark.refusal import REFUSED, refused
from tailrace.query.spark.stopping import stop, stoppable, tagged
from tailrace.query.statement import Statement

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Described = list[tuple[str, str]]

_ANSWER = "tailrace_answer"
"What Spark has answered, as DuckDB sees it."
_MEANING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
}
"Settings that a statement is read by: of sums of long decimals Spark would round away the last digits."
_WORDS = "(TIMESTAMP 'epoch' + c{0} - TIMESTAMP 'epoch')::VARCHAR"
"A span that Spark counts in microseconds alone, with its days."
Announce = Callable[[int, int], None]
_numbers = count()


class SparkEngine(Engine):
    """An engine whose selects run on Spark, all of them or those that are too large for DuckDB.

    Every other statement is DuckDB's: `describe`, but also `copy` and `create table … as`.
    """

    def __init__(
        self,
        *given: Any,
        session: Callable[[], SparkSession],
        too_large: Announce | None = None,
        give_up: Callable[[], None] | None = None,
        **named: Any,
    ) -> None:
        if too_large is None:
            with_arrow()  # loaded later, it would leave objects behind that are told of at the end of the program
        super().__init__(*given, **named)
        self.session = session
        self.too_large = too_large
        "Is told the bytes to be read and those of DuckDB's memory, where Spark is chosen for them; None: it always is."
        self.give_up = give_up
        "Ends a session that is not there yet; without it, nothing can stop one that starts."
        self.given: SparkSession | None = None
        "The session, once a statement has needed it."
        self.spark: SparkSession | None = None
        "The one in which statements are computed: it can be stopped, and leaves alone whatever else the caller has."
        self.is_starting = False
        self.tag = f"tailrace_{os.getpid()}_{next(_numbers)}"
        self.prepared: SparkSession | None = None
        "The session that the functions and views are of."
        self.has_functions = False
        self.numbers = count()
        self.in_words: frozenset[int] = frozenset()
        "Columns of the answer under way that are spans, and texts already."
        self.on_spark: dict[Key, tuple[Any, str]] = {}
        "Views that Spark has: what is in them, and their names."

    def frame(self, sql: str, parameters: Mapping[str, Any]) -> DataFrame:
        """The last statement as a DataFrame that is not computed yet, with the names and types that DuckDB has."""
        *others, (last, kind, *_) = self._statements(sql, parameters)
        for text, other, *_ in others:
            self.permission.require(text, other)
            self._answer(Statement.of(text))
        self.permission.require(last, kind)
        statement = Statement.of(last)
        if not statement.selects:
            raise refused("it is no select")
        with self._explained():
            self.views.make(statement)
            frame, columns = self._frame(self.session(), statement)
            return self._named(frame, columns)

    def _clock(self) -> Clock:
        return Clock(self._interrupt, self.limits.seconds)

    def _interrupt(self) -> None:
        self.connection.interrupt()
        with suppress(Exception):
            if self.is_starting and self.give_up is not None:
                self.give_up()
            elif self.spark is not None:
                stop(self.spark, self.tag)

    def _start(self, clock: Clock) -> None:
        """A JVM that has to start first takes the statement's time, and can be stopped meanwhile."""
        self.is_starting = self.give_up is not None
        try:
            # A session of the caller's own belongs to the caller's thread.
            spark = clock.run(self.session) if self.is_starting else self.session()
        finally:
            self.is_starting = False
        if spark is not self.given:
            self.given, self.spark = spark, stoppable(spark)

    def _answer(self, statement: Statement, as_arrow: bool = False) -> Result:
        self.in_words = frozenset()
        self.connection.unregister(_ANSWER)  # nobody shall find it among the tables
        result = super()._answer(statement, as_arrow)
        return replace(result, types=tuple(SPAN if n in self.in_words else kind for n, kind in enumerate(result.types)))

    def _prepared(self, statement: Statement, clock: Clock, as_arrow: bool) -> str:
        if not statement.selects or (self.too_large is not None and not self._is_too_large(statement)):
            return statement.text
        try:
            self._start(clock)
            answer, columns = clock.run(lambda: self._fetched(statement))
        except (QueryError, SparkError) as error:
            if self.too_large is None or error.code == "query.timeout":
                raise
            self.warnings.append(f"{error.message}; DuckDB answers")
            return statement.text
        with_arrow()
        self.connection.register(_ANSWER, answer)
        # Its rows may be there to be read once only: what is to be words has to be so at once.
        self.in_words = frozenset(n for n, (_, kind) in enumerate(columns) if kind == SPAN and not as_arrow)
        casts = [_WORDS.format(n) if n in self.in_words else f"c{n}::{kind}" for n, (_, kind) in enumerate(columns)]
        parts = ", ".join(f"{cast} AS {quoted(name)}" for cast, (name, _) in zip(casts, columns, strict=True))
        return f"SELECT {parts} FROM {_ANSWER}"

    def _is_too_large(self, statement: Statement) -> bool:
        size = sum(self.views.held[key].size for key in self.views.read if key in self.views.held)
        if size <= SMALL:
            return False
        memory = memory_of(self.connection)
        if size <= memory or not holds_rows(self.connection, statement.text):
            return False
        assert self.too_large is not None
        self.too_large(size, memory)
        return True

    def _fetched(self, statement: Statement) -> tuple[pa.Table | pa.RecordBatchReader, Described]:
        from tailrace.query.spark.dialect import most_rows
        from tailrace.query.spark.fetching import fetched

        assert self.spark is not None
        # A server reads the text of a statement again as it computes it.
        with _as_duckdb(self.spark):
            frame, columns = self._frame(self.spark, statement)
            with _spark_errors(), tagged(self.spark, self.tag):
                return fetched(frame, most_rows(statement.text)), columns

    def _frame(self, spark: SparkSession, statement: Statement) -> tuple[DataFrame, Described]:
        if spark is not self.prepared:
            self.on_spark.clear()
            self.prepared, self.has_functions = spark, False
        columns = self._described(statement.text)
        text = self._translated(spark, statement)
        with _spark_errors(), _as_duckdb(spark):
            frame = spark.sql(text)
            return frame.toDF(*(f"c{place}" for place in range(len(columns)))), columns

    def _named(self, frame: DataFrame, columns: Described) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_type

        with_arrow()
        nulls = ", ".join(f"NULL::{kind.replace('JSON', 'VARCHAR')} AS c{n}" for n, (_, kind) in enumerate(columns))
        empty: pa.Table = self.connection.execute(f"SELECT {nulls} LIMIT 0").to_arrow_table()
        kinds = [from_arrow_type(kind, prefer_timestamp_ntz=True) for kind in empty.schema.types]
        return frame.select(*(frame[f"c{n}"].cast(kind) for n, kind in enumerate(kinds))).toDF(*(c for c, _ in columns))

    def _described(self, sql: str) -> Described:
        """Names and types of an answer: DuckDB's, so that both engines give the same."""
        found = self.connection.execute(f"DESCRIBE {sql}").fetchall()
        return [(str(row[0]), str(row[1])) for row in found]

    def _translated(self, spark: SparkSession, statement: Statement) -> str:
        from tailrace.query.spark import functions
        from tailrace.query.spark.translate import translate

        types: dict[str, Mapping[str, str]] = {}

        def resolve(schema: str | None, table: str) -> str | None:
            key = self.views.key_of(schema, table)
            if key is None or not (key in self.views.held or key in self.views.quarantines):
                return None
            name = self._view(spark, key)
            types[name] = dict(self._described(f"FROM {address(key)}"))
            return name

        text = translate(statement.text, resolve, types)
        if not self.has_functions and any(f"{name}(" in text.lower() for name in functions.names()):
            functions.register(spark)
            self.has_functions = True
        return text

    def _view(self, spark: SparkSession, key: Key) -> str:
        """A view over what the statement can need of a table; the one before where that is the same."""
        from tailrace.query.spark.frames import frame_of

        held = self.views.held.get(key)
        before = self.on_spark.get(key)
        if before is not None and held is not None and before[0] == held:
            return before[1]
        name = f"{self.tag}_{next(self.numbers)}"
        with _spark_errors():
            if held is None:
                # Files whose rows are not all shown: DuckDB reads them.
                with_arrow()
                rows = self.connection.execute(f"FROM {address(key)}").to_arrow_table()
                frame = spark.createDataFrame(rows)
            else:
                frame = frame_of(spark, held, self.views.scope.window)
            frame.createOrReplaceTempView(name)
            if before is not None:
                spark.catalog.dropTempView(before[1])
        self.on_spark[key] = held, name
        return name


@contextmanager
def _as_duckdb(spark: SparkSession) -> Iterator[None]:
    """A session of the user's own may be set otherwise; a statement keeps the settings that it was made in."""
    before = {name: spark.conf.get(name) for name in _MEANING}
    others = {name: value for name, value in before.items() if value != _MEANING[name]}
    for name in others:
        spark.conf.set(name, _MEANING[name])
    try:
        yield
    finally:
        for name, value in others.items():
            spark.conf.set(name, str(value))


@contextmanager
def _spark_errors() -> Iterator[None]:
    """What Spark says, without its stack."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:  # the latter for what PySpark has no error of its own for
        said = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error.getMessage()
        told = str(said or error).strip().splitlines()
        message = f"Spark: {told[0] if told else 'it failed'}"
        raise QueryError(message, code="query.spark", hint=REFUSED) from None
