"""Expressions put to DuckDB about the rows of a batch: an answer for each, and a reason where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.formats.duck import answers
from tailrace.pipeline.lookups import at_once

ROW = "tailrace row"
"A column that numbers the rows; no field has such a name."
REASONS = 100
"So many rows of a batch are told in DuckDB's own words why they were refused; asking costs a query each."


@dataclass(frozen=True, slots=True)
class Given:
    """Rows that are asked about, with their numbers: answers come in whatever order DuckDB likes."""

    table: pa.Table
    silent: tuple[str, ...]
    "Columns of text that are null throughout: they are told as constants."

    def only(self, rows: npt.NDArray[np.bool_] | slice) -> Given:
        """Some of the rows, with the numbers they have."""
        return Given(self.table.take(pa.array(np.arange(self.table.num_rows)[rows])), self.silent)


def given(columns: Mapping[str, pa.Array], rows: int, silent: tuple[str, ...]) -> Given:
    """The columns, and each row's number."""
    told = {name: _whole(array) for name, array in columns.items()}
    return Given(pa.table({**told, ROW: np.arange(rows)}), silent)


def _whole(array: pa.Array) -> pa.Array:
    """DuckDB refuses a slice of a struct: a copy of it begins at zero."""
    sliced = pa.types.is_struct(array.type) and array.offset
    return array.take(pa.array(np.arange(len(array)))) if sliced else array


class Question:
    """Several expressions, by the names of their answers."""

    def __init__(self, asked: Mapping[str, str], what: str) -> None:
        """`what`: how an expression that raises is called; `{}` in it stands for the name of its answer."""
        self._asked = asked
        self._what = what
        self._select = "SELECT " + ", ".join(f'{sql} AS "{name}"' for name, sql in asked.items()) + f', "{ROW}"'
        self._at_once = True

    def answers(self, given: Given) -> tuple[pa.Table, dict[int, str]]:
        """Every expression on every row; where one raises, the row's answers are null and the reason is told."""
        select, lookups = at_once(self._select) if self._at_once else (self._select, "")
        try:
            return run(select, given, lookups), {}
        except duckdb.Error:
            # It may have been a lookup on a row for which nobody had asked.
            self._at_once = False
            return self.answers(given) if lookups else self._where_fine(given)

    def _where_fine(self, given: Given) -> tuple[pa.Table, dict[int, str]]:
        fine = self.fine(given)
        answered = run(self._select, given.only(fine)).take(pa.array(np.cumsum(fine) - 1, mask=~fine))
        failing = np.flatnonzero(~fine).tolist()
        names = self._first_raising(given.only(~fine))
        told = [self._reason(names[i], given.only(slice(n, n + 1))) for i, n in enumerate(failing[:REASONS])]
        told += [self._reason(name) for name in names[REASONS:]]
        return answered, dict(zip(failing, told, strict=True))

    def _first_raising(self, given: Given) -> list[str]:
        """Of rows on which something raises: which expression does, the first of several."""
        names = list(self._asked)
        each = [Question({name: self._asked[name]}, "").fine(given) for name in names]
        return [names[number] for number in np.argmin(each, axis=0).tolist()]

    def _reason(self, name: str, row: Given | None = None) -> str:
        complaint = None if row is None else Question({name: self._asked[name]}, "").complaint(row)
        return f"{self._what.format(name)}: {complaint or 'the expression raises'}"

    def fine(self, given: Given) -> npt.NDArray[np.bool_]:
        """Rows on which nothing raises: TRY makes a null of an error, and `IS NULL` never is one."""
        tried = " AND ".join(f"TRY(({sql}) IS NULL) IS NOT NULL" for sql in self._asked.values())
        try:
            return np.array(run(f'SELECT {tried} AS fine, "{ROW}"', given, in_place=True)["fine"].to_pylist(), bool)
        except duckdb.Error:  # TRY takes no subquery and nothing random: then by halves
            return np.array(self._fine_by_halves(given), bool)

    def _fine_by_halves(self, given: Given) -> list[bool]:
        if self.complaint(given) is None:
            return [True] * given.table.num_rows
        if given.table.num_rows == 1:
            return [False]
        half = given.table.num_rows // 2
        return self._fine_by_halves(given.only(slice(None, half))) + self._fine_by_halves(given.only(slice(half, None)))

    def raises(self, given: Given) -> bool:
        """Does any expression, or a lookup for one, raise on any row?"""
        select, lookups = at_once(self._select)
        try:
            run(select, given, lookups)
        except duckdb.Error:
            return True
        return False

    def complaint(self, given: Given) -> str | None:
        """Why the expressions cannot be answered on these rows."""
        try:
            run(self._select, given)
        except duckdb.Error as error:
            return str(error).splitlines()[0]
        return None


def run(select: str, given: Given, lookups: str = "", *, in_place: bool = False) -> pa.Table:
    """Answers in the order of the rows, one for each; `in_place`: so that TRY takes all errors of what stands in it."""
    constants = "".join(f", NULL::VARCHAR AS {_quoted(name)}" for name in given.silent)
    query = f"{select} FROM (SELECT *{lookups} FROM (SELECT *{constants} FROM given) AS given) AS given"
    answered = answers(query, given.table, in_place=in_place)
    numbers = answered[ROW].to_numpy()
    if not (np.diff(numbers) > 0).all():
        answered = answered.take(pa.array(np.argsort(numbers, kind="stable")))
    if answered.num_rows != given.table.num_rows:
        raise duckdb.InvalidInputException(f"gives {answered.num_rows} rows for {given.table.num_rows}")
    return answered


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
