"""SQL inside a task: computed columns, the partition's filter, and `Sql` candidates of the shared columns.

The expressions are DuckDB's, run by DuckDB on the Arrow batch, so they mean what they mean in a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import TP_COLUMNS, Column, Struct
from tailrace.core.arrow import arrow_type
from tailrace.lake.words import words_of
from tailrace.pipeline.lists import coded
from tailrace.pipeline.misfits import Misfits, attempts, misfits
from tailrace.pipeline.questions import ROW, Given, Question, given, run


def duck_type(type: str | Struct) -> str:
    """A declared type as DuckDB casts to it; what the lake stores as text is cast to text."""
    if isinstance(type, Struct):
        inner = ", ".join(f'"{c.name}" {duck_type(c.type)}' for c in type.columns)
        return f"STRUCT({inner})"
    if type.endswith("[]"):
        return duck_type(type[:-2]) + "[]"
    return "VARCHAR" if arrow_type(type) == pa.string() else type


class Computed(NamedTuple):
    """What is to be told of rows whose columns were computed."""

    refused: dict[int, str]
    "Rows on which an expression raises, with the reason."
    misfits: Misfits
    "What was read by expressions that gave nothing, because it did not fit."


class Computer:
    """The expressions of one job, each bound to the columns it names."""

    def __init__(
        self,
        columns: Iterable[Column],
        filter: str | None,
        common: Iterable[str],
        others: Mapping[str, pa.DataType] | None = None,
        what: str = "filter",
    ) -> None:
        """`others`: columns that the filter may name and no row has; `what`: how it is called where it raises."""
        declared = list(columns)
        self.types = {**(others or {}), **{c.name: arrow_type(c.type) for c in (*declared, *TP_COLUMNS)}}
        self.expressions = {c.name: (c.sql, duck_type(c.type)) for c in declared if c.sql is not None}
        folded = {c.name.lower(): self.types[c.name] for c in declared if c.sql is None}
        names = frozenset().union(*(words_of(sql) for sql, _ in self.expressions.values()))
        self.fields = {name: folded.get(name.lower(), pa.string()) for name in names}
        "What the computed columns may read: names and, where no row has the field, its type."
        asked = {name: f"TRY_CAST(({sql}\n) AS {kind})" for name, (sql, kind) in self.expressions.items()}
        self.computed = Question(asked, "transform of {}")
        self.attempts = attempts(declared, self.expressions)
        self.filter = filter
        self.kept = Question({"keep": f"({filter}\n)::BOOLEAN"}, what)
        self.sql = list(common)
        self.heard: set[str] = set()
        "Names that a row has had so far."

    def compute(self, columns: dict[str, pa.Array], rows: int) -> Computed:
        """Adds the computed columns."""
        # A computed column may bear the name of the field it is made from: here the name means the field.
        given = self._given(_by_name(columns, self.fields, rows), rows)
        result, refused = self.computed.answers(given)
        for name in self.expressions:
            columns[name] = result[name].combine_chunks().cast(self.types[name])
        found = misfits(self.attempts, given, result)
        return Computed(refused, {row: values for row, values in found.items() if row not in refused})

    def wanted(self, columns: Mapping[str, pa.Array], rows: int) -> tuple[npt.NDArray[np.bool_], dict[int, str]]:
        """Which rows pass the filter (null counts as no), and those on which it raises, with the reason."""
        given = self._given(self._declared(columns, words_of(self.filter or ""), rows), rows)
        result, refused = self.kept.answers(given)
        return result["keep"].combine_chunks().fill_null(False).to_numpy(zero_copy_only=False), refused

    def common(self, columns: Mapping[str, pa.Array], rows: int) -> dict[str, pa.Array]:
        """Results of the `Sql` candidates, by their text. Those whose columns no row has are left out."""
        asked = [sql for sql in self.sql if words_of(sql) & columns.keys()]
        if not asked or not rows:
            return {}
        return {sql: self._evaluated(sql, columns, rows) for sql in asked}

    def _evaluated(self, sql: str, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
        """One expression. Where it reads one text column, each distinct value is asked once, and null not at all."""
        known = self._declared(columns, words_of(sql), rows)
        query = f'SELECT ({sql}) AS answer, "{ROW}"'
        texts = [name for name, array in known.items() if pa.types.is_string(array.type)]
        if len(known) > 1 or not texts:
            return run(query, self._given(known, rows))["answer"].combine_chunks()
        encoded = known[texts[0]].dictionary_encode()
        distinct = self._given({texts[0]: encoded.dictionary}, len(encoded.dictionary))
        answer = run(query, distinct)["answer"].combine_chunks()
        return (coded(answer) if pa.types.is_list(answer.type) else answer).take(encoded.indices)

    def _declared(self, columns: Mapping[str, pa.Array], names: frozenset[str], rows: int) -> dict[str, pa.Array]:
        """The declared columns among `names`; one that no row has is null in its own type."""
        wanted = {name.lower() for name in names}
        known = sorted(name for name in self.types if name.lower() in wanted)
        return {n: columns[n] if n in columns else pa.nulls(rows, self.types[n]) for n in known}

    def _given(self, columns: Mapping[str, pa.Array], rows: int) -> Given:
        """What no row had so far is told as a constant: DuckDB drops all that is made of it before it runs anything."""
        texts = (n for n, array in columns.items() if array.null_count == rows and pa.types.is_string(array.type))
        silent = frozenset(texts) - self.heard
        self.heard |= columns.keys() - silent
        return given({n: array for n, array in columns.items() if n not in silent}, rows, tuple(sorted(silent)))


def _by_name(columns: Mapping[str, pa.Array], names: Mapping[str, pa.DataType], rows: int) -> dict[str, pa.Array]:
    """The columns that names mean in SQL, which does not tell case apart: of several alike the first value of a row."""
    spellings: dict[str, list[str]] = {}
    for name in columns:
        spellings.setdefault(name.lower(), []).append(name)
    chosen: dict[str, pa.Array] = {}
    for name in sorted(names):
        alike = sorted(spellings.get(name.lower(), ()), key=lambda spelled: spelled != name)
        candidates = [columns[spelled] for spelled in alike]
        filled = [array for array in candidates if array.null_count < rows]
        found = (filled or candidates or [pa.nulls(rows, names[name])])[0]
        if len({array.type for array in filled}) == 1:
            found = pc.coalesce(*filled) if len(filled) > 1 else filled[0]
        if name.lower() not in chosen or chosen[name.lower()].null_count == rows:
            chosen[name.lower()] = found
    return chosen
