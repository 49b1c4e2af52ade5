"""SQL inside a task: computed columns, the partition's filter, and `Sql` candidates of the shared columns.

The expressions are DuckDB's, run by DuckDB on the Arrow batch, so they mean what they mean in a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import TP_COLUMNS, Column, Struct
from tailrace.core.arrow import arrow_type
from tailrace.formats.duck import con
from tailrace.pipeline.lists import coded

ROW = "tailrace row"
"A column that numbers the rows; no field has such a name."
_LITERAL = re.compile(r"'(?:[^']|'')*'")
REASONS = 100
"So many rows of a batch are told in DuckDB's own words why they were refused; asking costs a query each."
_WORD = re.compile(r'[A-Za-z_][A-Za-z0-9_]*(?!\s*\(|[A-Za-z0-9_])|"(?:[^"]|"")+"')


def words_of(expression: str) -> frozenset[str]:
    """Everything in an expression that may be a column's name: no texts, no functions."""
    bare = _LITERAL.sub("''", expression)
    return frozenset(word.strip('"').replace('""', '"') for word in _WORD.findall(bare))


def duck_type(type: str | Struct) -> str:
    """A declared type as DuckDB casts to it; what the lake stores as text is cast to text."""
    if isinstance(type, Struct):
        inner = ", ".join(f'"{c.name}" {duck_type(c.type)}' for c in type.columns)
        return f"STRUCT({inner})"
    if type.endswith("[]"):
        return duck_type(type[:-2]) + "[]"
    return "VARCHAR" if arrow_type(type) == pa.string() else type


class Computer:
    """The expressions of one job, each bound to the columns it names."""

    def __init__(self, columns: Iterable[Column], filter: str | None, common: Iterable[str]) -> None:
        declared = list(columns)
        self.types = {c.name: arrow_type(c.type) for c in (*declared, *TP_COLUMNS)}
        self.folded = {c.name.lower(): self.types[c.name] for c in declared if c.sql is None}
        self.expressions = {c.name: (c.sql, duck_type(c.type)) for c in declared if c.sql is not None}
        self.filter = filter
        self.sql = list(common)

    def compute(self, columns: dict[str, pa.Array], rows: int) -> dict[int, str]:
        """Adds the computed columns; gives the rows on which an expression raises, with the reason."""
        asked = {name: f"TRY_CAST(({sql}\n) AS {kind})" for name, (sql, kind) in self.expressions.items()}
        names = frozenset().union(*(words_of(sql) for sql, _ in self.expressions.values()))
        # A computed column may bear the name of the field it is made from: here the name means the field.
        fields = _by_name(columns, names, {n: self.folded.get(n.lower(), pa.string()) for n in names}, rows)
        result, refused = _answers(asked, _table(fields, rows), "transform")
        for name in self.expressions:
            columns[name] = result[name].combine_chunks().cast(self.types[name])
        return refused

    def wanted(self, columns: Mapping[str, pa.Array], rows: int) -> tuple[npt.NDArray[np.bool_], dict[int, str]]:
        """Which rows pass the filter (null counts as no), and those on which it raises, with the reason."""
        given = self._declared(columns, words_of(self.filter or ""), rows)
        result, refused = _answers({"keep": f"({self.filter}\n)::BOOLEAN"}, given, "filter")
        return result["keep"].combine_chunks().fill_null(False).to_numpy(zero_copy_only=False), refused

    def common(self, columns: Mapping[str, pa.Array], rows: int) -> dict[str, pa.Array]:
        """Results of the `Sql` candidates, by their text. Those whose columns no row has are left out."""
        asked = [sql for sql in self.sql if words_of(sql) & columns.keys()]
        if not asked or not rows:
            return {}
        return {sql: self._evaluated(sql, columns, rows) for sql in asked}

    def _evaluated(self, sql: str, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
        """One expression. Where it reads one text column, each distinct value is asked once, and null not at all."""
        given = self._declared(columns, words_of(sql), rows)
        query = f'SELECT ({sql}) AS answer, "{ROW}"'
        if given.num_columns > 2 or not pa.types.is_string(given.column(0).type):
            return _run(query, given)["answer"].combine_chunks()
        encoded = given.column(0).combine_chunks().dictionary_encode()
        distinct = _table({given.column_names[0]: encoded.dictionary}, len(encoded.dictionary))
        answer = _run(query, distinct)["answer"].combine_chunks()
        return (coded(answer) if pa.types.is_list(answer.type) else answer).take(encoded.indices)

    def _declared(self, columns: Mapping[str, pa.Array], names: frozenset[str], rows: int) -> pa.Table:
        """The declared columns among `names`; one that no row has is null in its own type."""
        wanted = {name.lower() for name in names}
        known = sorted(name for name in self.types if name.lower() in wanted)
        return _table({n: columns[n] if n in columns else pa.nulls(rows, self.types[n]) for n in known}, rows)


def _by_name(
    columns: Mapping[str, pa.Array], names: Iterable[str], absent: Mapping[str, pa.DataType], rows: int
) -> dict[str, pa.Array]:
    """The columns that names mean in SQL, which does not tell case apart: of several alike the first value of a row."""
    chosen: dict[str, pa.Array] = {}
    for name in sorted(names):
        alike = [columns[n] for n in columns if n.lower() == name.lower() and n != name]
        candidates = [columns[name], *alike] if name in columns else alike
        filled = [array for array in candidates if array.null_count < rows]
        found = (filled or candidates or [pa.nulls(rows, absent[name])])[0]
        if len({array.type for array in filled}) == 1:
            found = pc.coalesce(*filled)
        if name.lower() not in chosen or chosen[name.lower()].null_count == rows:
            chosen[name.lower()] = found
    return chosen


def _table(columns: Mapping[str, pa.Array], rows: int) -> pa.Table:
    """The columns, and each row's number: an answer comes in whatever order DuckDB likes."""
    return pa.table({**columns, ROW: np.arange(rows)})


def _run(select: str, given: pa.Table) -> pa.Table:
    """Answers in the order of the rows, one for each."""
    connection = con()
    told = {n: _whole(given[n].combine_chunks()) for n in given.column_names}
    # What no row has is told as a constant: DuckDB drops all that is made of it before it runs anything.
    silent = [n for n, array in told.items() if array.null_count == len(array) and pa.types.is_string(array.type)]
    constants = "".join(f", NULL::VARCHAR AS {_quoted(name)}" for name in silent)
    connection.register("given", pa.table({n: array for n, array in told.items() if n not in silent}))
    try:
        answers = connection.sql(f"{select} FROM (SELECT *{constants} FROM given) AS given").to_arrow_table()
    finally:
        connection.unregister("given")
    numbers = answers[ROW].to_numpy()
    if not (np.diff(numbers) > 0).all():
        answers = answers.take(pa.array(np.argsort(numbers, kind="stable")))
    if answers.num_rows != given.num_rows:
        raise duckdb.InvalidInputException(f"gives {answers.num_rows} rows for {given.num_rows}")
    return answers


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _whole(array: pa.Array) -> pa.Array:
    """DuckDB refuses a slice of a struct: a copy of it begins at zero."""
    sliced = pa.types.is_struct(array.type) and array.offset
    return array.take(pa.array(np.arange(len(array)))) if sliced else array


def _answers(asked: Mapping[str, str], given: pa.Table, what: str) -> tuple[pa.Table, dict[int, str]]:
    """Every expression on every row; where one raises, the row's answers are null and the reason is told."""
    select = "SELECT " + ", ".join(f'{sql} AS "{name}"' for name, sql in asked.items()) + f', "{ROW}"'
    try:
        return _run(select, given), {}
    except duckdb.Error:
        fine = _fine(asked.values(), select, given)
    answers = _run(select, given.filter(pa.array(fine))).take(pa.array(np.cumsum(fine) - 1, mask=~fine))
    failing = np.flatnonzero(~fine).tolist()
    reasons = [f"{what}: {_complaint(select, given.slice(row, 1))}" for row in failing[:REASONS]]
    reasons += [f"{what}: an expression raises"] * (len(failing) - len(reasons))
    return answers, dict(zip(failing, reasons, strict=True))


def _fine(expressions: Iterable[str], select: str, given: pa.Table) -> npt.NDArray[np.bool_]:
    """Rows on which nothing raises: TRY makes a null of an error, and `IS NULL` never is one."""
    tried = " AND ".join(f"TRY(({sql}) IS NULL) IS NOT NULL" for sql in expressions)
    try:
        return np.array(_run(f'SELECT {tried} AS fine, "{ROW}"', given)["fine"].to_pylist(), bool)
    except duckdb.Error:  # TRY takes no subquery and nothing random: then by halves
        return np.array(_fine_by_halves(select, given), bool)


def _fine_by_halves(select: str, given: pa.Table) -> list[bool]:
    if _complaint(select, given) is None:
        return [True] * given.num_rows
    if given.num_rows == 1:
        return [False]
    half = given.num_rows // 2
    return _fine_by_halves(select, given.slice(0, half)) + _fine_by_halves(select, given.slice(half))


def _complaint(select: str, given: pa.Table) -> str | None:
    try:
        _run(select, given)
    except duckdb.Error as error:
        return str(error).splitlines()[0]
    return None
