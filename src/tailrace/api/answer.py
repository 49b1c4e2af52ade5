"""The answer to a question, in the form that the next step wants."""

from __future__ import annotations

import io
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from tailrace.api import html
from tailrace.api.hints import for_programs
from tailrace.core.errors import QueryError, UsageError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from tailrace.api.filters import Filters
    from tailrace.api.lake import Lake
    from tailrace.query.engine import Result

PRINTED = 40
"Rows that a terminal shows."
_SHOWN = 2 * PRINTED
"Rows that a notebook shows."


class Answer:
    """Rows that SQL gives. It is run when they are first asked for, and once: what came is kept.

    >>> answer = lake.sql("select status, count(*) as n from nginx_access_log group by all order by all")
    >>> answer
    status  n
    200     180
    500     20
    2 rows
    >>> answer.columns
    ('status', 'n')
    >>> answer.rows()
    [(200, 180), (500, 20)]
    >>> len(answer.pandas())
    2
    """

    def __init__(
        self, lake: Lake, text: str, params: Mapping[str, object] | Sequence[object] | None, filters: Filters
    ) -> None:
        self.lake = lake
        self.text = text
        self.params = dict(params) if isinstance(params, Mapping) else _numbered(params or ())
        self.filters = filters

    def arrow(self) -> pa.Table:
        """As an Arrow table; columns of type JSON are text."""
        return self._whole

    def batches(self) -> pa.RecordBatchReader:
        """As a stream of Arrow batches, for more rows than memory holds; it is run anew for each stream."""
        return self._stream()[1]

    def pandas(self) -> pd.DataFrame:
        """As a DataFrame of pandas; sums of whole numbers, which may be huge, are int64, or float64 where they are."""
        return _with_plain_numbers(self._whole, self.types).to_pandas()

    def polars(self) -> pl.DataFrame:
        """As a DataFrame of Polars, which has to be installed."""
        try:
            import polars
        except ImportError:
            hint = "python -m pip install polars"
            raise UsageError("Polars is not installed", code="usage.no-polars", hint=hint) from None
        whole = self._whole
        if twice := [name for name, times in Counter(whole.column_names).items() if times > 1]:
            hint = f'give each its own name, such as `{twice[0]} as "{twice[0]}_2"`'
            raise QueryError(f"two columns are called {twice[0]}, which Polars has not", code="query.form", hint=hint)
        frame = polars.from_arrow(whole)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def spark(self) -> DataFrame:
        """As a DataFrame of Spark, in the session that is active or a new one, which computes it when it is asked to.

        Where Spark cannot run the statement DuckDB answers it, and Spark gets the rows.
        """
        from tailrace.core.errors import QueryError

        try:
            return self.lake.spark_engine(self.filters).frame(self.text, self.params)
        except QueryError as error:
            if error.code not in ("query.not-on-spark", "query.spark"):
                raise
        return self.lake.session.get().createDataFrame(self._whole)

    def rows(self) -> list[tuple[Any, ...]]:
        """As tuples."""
        return list(self)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns."""
        return tuple(self._whole.column_names)

    @property
    def types(self) -> tuple[str, ...]:
        """Types of its columns, as DuckDB calls them."""
        return self._kept[0]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(_tuples(self._whole))

    def __len__(self) -> int:
        return int(self._whole.num_rows)

    def __repr__(self) -> str:
        from tailrace.query.engine import Result
        from tailrace.query.render import render

        columns, types, rows, more = self._first(PRINTED)
        if not columns:
            return "no rows"
        out = io.StringIO()
        render(Result(columns, types, iter(rows)), "plain", out)
        return out.getvalue() + self._told(len(rows), more)

    def _repr_html_(self) -> str:
        from tailrace.query.render import as_json, cell
        from tailrace.query.singles import shortened

        def text(value: Any) -> object:
            return as_json(value) if isinstance(value, dict | list) else cell(value) if type(value) is bytes else value

        columns, types, rows, more = self._first(_SHOWN)
        shown = ([text(value) for value in row] for row in shortened(types, iter(rows)))
        return html.table(columns, shown, self._told(len(rows), more))

    # How it is run

    def begin(self) -> None:
        """Run it as far as it is shown: what is wrong with it is told now."""
        self._first(PRINTED)

    def _first(self, most: int) -> tuple[tuple[str, ...], tuple[str, ...], list[tuple[Any, ...]], bool]:
        """Columns, types and the first rows, and whether there are more: of those that came, or of a run by itself."""
        if "_kept" in self.__dict__:
            types, table = self._kept
            return tuple(table.column_names), types, _tuples(table.slice(0, most)), table.num_rows > most
        columns, types, rows = self._begun
        return columns, types, rows[:most], len(rows) > most

    @cached_property
    def _begun(self) -> tuple[tuple[str, ...], tuple[str, ...], list[tuple[Any, ...]]]:
        """As much as is ever shown, and a row that tells of more."""
        with for_programs():
            result = self._run(self._beginning(_SHOWN + 1))
            return result.columns, result.types, list(islice(result.rows, _SHOWN + 1))

    def _beginning(self, most: int) -> str:
        """SQL whose first rows are those of the answer; a whole table may be larger than memory."""
        return self.text

    def _told(self, shown: int, more: bool) -> str:
        if more:
            return f"the first {shown:,} rows" + (f" of {len(self):,}" if "_kept" in self.__dict__ else "")
        return f"{shown:,} row{'' if shown == 1 else 's'}"

    @cached_property
    def _kept(self) -> tuple[tuple[str, ...], pa.Table]:
        types, reader = self._stream()
        return types, reader.read_all()

    @property
    def _whole(self) -> pa.Table:
        return self._kept[1]

    def _stream(self) -> tuple[tuple[str, ...], pa.RecordBatchReader]:
        import pyarrow as pa

        with for_programs():
            result = self._run(self.text, as_arrow=True)
        if result.batches is None or not result.columns:
            return (), pa.RecordBatchReader.from_batches(pa.schema([]), [])
        with for_programs():
            columns, batches = result.batches()
        schema = pa.schema([field.with_type(_plain(field.type)).remove_metadata() for field in columns])

        def plain() -> Iterator[pa.RecordBatch]:
            with for_programs():
                yield from batches if schema == columns else (batch.cast(schema) for batch in batches)

        return result.types, pa.RecordBatchReader.from_batches(schema, plain())

    def _run(self, text: str, as_arrow: bool = False) -> Result:
        """The last of its statements; what those before it give is not looked at."""
        engine = self.lake.engine(self.filters)
        last: Result | None = None
        for result in engine.run(text, self.params, as_arrow=as_arrow):
            last = result
            while engine.warnings:
                warnings.warn(engine.warnings.pop(0), stacklevel=4)
        if last is None:
            raise UsageError("there is no SQL to run", code="usage.no-sql", hint='try lake.sql("show tables")')
        return last


def _numbered(params: Sequence[object]) -> dict[str, object]:
    if isinstance(params, str | bytes):
        hint = "put it into a list: [value]"
        raise UsageError("a text is no sequence of parameters", code="usage.bad-parameter", hint=hint)
    return {str(number): value for number, value in enumerate(params, 1)}


def _tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    # By column: two of them may be called alike.
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _plain(kind: pa.DataType) -> pa.DataType:
    """JSON is text with a mark on it, also deep inside, which few understand."""
    import pyarrow as pa
    import pyarrow.types as pt

    if isinstance(kind, pa.BaseExtensionType):
        return _plain(kind.storage_type)
    if pt.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)).remove_metadata() for field in kind.fields])
    if pt.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)).remove_metadata())
    return kind


def _with_plain_numbers(table: pa.Table, types: Sequence[str]) -> pa.Table:
    """DuckDB's HUGEINT is a decimal to Arrow, and an object of Python to pandas."""
    import pyarrow as pa

    for place, kind in enumerate(types):
        if kind in ("HUGEINT", "UHUGEINT"):
            column = table.column(place)
            try:
                column = column.cast(pa.int64())
            except pa.ArrowInvalid:
                column = column.cast(pa.float64())
            table = table.set_column(place, table.field(place).with_type(column.type), column)
    return table
