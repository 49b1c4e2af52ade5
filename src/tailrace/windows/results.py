"""From a query's answer to the logs that it selects: which they are, and which attributes they have now.

An answer with `_part_id` and `parent_id` selects logs; any other is a report. Where it has `type` and all columns of
values, its rows are the attributes. Where it has fewer, attributes stay as they are, and rows of the answer that differ
from them take their place or are added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core.errors import QueryError, one_line
from tailrace.windows.data import WindowData
from tailrace.windows.engine import RESULT, rows_of
from tailrace.windows.finding import NOWHERE, Ids, places
from tailrace.windows.schema import ATTRS, PART_ID, VALUE_FIELDS, Tables

_VALUES = tuple(field.name for field in VALUE_FIELDS[1:])
_NO_ID = -(2**63)
_CONTRACT = "an answer with _part_id and parent_id selects logs, any other is a report: see docs/windows.md"
_TYPE_OF = {"str": 1, "int": 2, "double": 3, "bool": 4, "ser": 5, "bytes": 7}
_CASTS = {
    "type": "UTINYINT", "str": "VARCHAR", "int": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN", "bytes": "BLOB",
    "ser": "BLOB",
}  # fmt: skip


def is_report(columns: Iterable[str]) -> bool:
    return not {PART_ID, "parent_id"} <= set(columns)


COUNT = "sampling.adjusted_count"
"The attribute that says how many logs a sampled one stands for."


def selected(
    connection: duckdb.DuckDBPyConnection, answer: pa.Table, data: WindowData, *, count_as_double: bool = False
) -> Tables:
    """The logs that an answer selects, whole; the answer is a table of the connection."""
    _check_names(answer)
    found = _rows(answer, data)
    marked = np.zeros(len(data.logs), bool)
    marked[found[found >= 0]] = True
    order = np.flatnonzero(marked)
    names = set(answer.column_names)
    if {"key", "type", *_VALUES} <= names and not count_as_double:
        attributes = _given(answer, found)
    else:
        chosen = {"id": data.logs["id"].take(pa.array(order)), "row": pa.array(order)}
        connection.register("selected", pa.table({PART_ID: data.logs[PART_ID].take(pa.array(order)), **chosen}))
        query = _WHOLE if {"key", "type", *_VALUES} <= names else _overlaid(names)
        if count_as_double:
            query = f"SELECT * REPLACE ({_AS_DOUBLE}) FROM ({query})"
        attributes = _ordered(rows_of(connection, query))
    if (pc.max(attributes["type"]).as_py() or 0) > max(_TYPE_OF.values()):
        raise QueryError("'type' of an attribute is a number from 0 to 7", code="query.answer", hint=_CONTRACT)
    return data.whole(order, attributes)


def parts_of(answer: pa.Table) -> set[str | None]:
    """The partitions of which an answer selects logs."""
    _check_names(answer)
    return set(_typed(answer, PART_ID, pa.string()).unique().to_pylist())


def _check_names(answer: pa.Table) -> None:
    held = Counter(answer.column_names)
    for name in (PART_ID, "parent_id", "key", "type", *_VALUES):
        if held[name] > 1:
            message = f"the answer has {held[name]} columns called '{name}'"
            raise QueryError(message, code="query.answer", hint="name the columns that are meant: la.* in place of *")


def _typed(answer: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    """A column of the answer as what it stands for."""
    try:
        return answer[name].cast(kind)
    except pa.ArrowException as error:
        message = f"'{name}' of the answer is not of type {kind}: {one_line(error)}"
        raise QueryError(message, code="query.answer", hint=_CONTRACT) from None


def _rows(answer: pa.Table, data: WindowData) -> Ids:
    """Which of the window's logs each row of an answer is about; -1 for none."""
    of_logs, of_answer = _parts(data.logs[PART_ID], _typed(answer, PART_ID, pa.string()))
    ids, parents = _ids(data.logs["id"]), _ids(_typed(answer, "parent_id", pa.int64()))
    found = np.full(len(answer), NOWHERE, np.int64)
    for part in np.unique(of_logs):
        own, asked = np.flatnonzero(of_logs == part), np.flatnonzero(of_answer == part)
        if len(own) == len(ids) and len(asked) == len(found):
            return places(parents, ids)
        among = places(parents[asked], ids[own])
        found[asked] = np.where(among >= 0, own[among], NOWHERE)
    return found


def _parts(of_logs: pa.ChunkedArray, of_answer: pa.ChunkedArray) -> tuple[Ids, Ids]:
    """Partitions as numbers; -1 for one that the window does not have."""
    coded = of_logs.combine_chunks()
    if len(coded.dictionary) == 1:
        same = pc.equal(of_answer, coded.dictionary[0]).fill_null(False).to_numpy()
        return np.zeros(len(coded), np.int64), np.where(same, 0, NOWHERE)
    there = pc.index_in(of_answer, value_set=coded.dictionary).fill_null(NOWHERE)
    return coded.indices.to_numpy().astype(np.int64), there.to_numpy().astype(np.int64)


def _ids(ids: pa.ChunkedArray) -> Ids:
    """As whole numbers; null is the id of no log."""
    found: Ids = ids.fill_null(_NO_ID).to_numpy()
    return found


def _given(answer: pa.Table, rows: Ids) -> pa.Table:
    """The attributes that an answer itself is."""
    wanted = (rows >= 0) & answer["key"].is_valid().to_numpy()
    columns = [_typed(answer, field.name, field.type) for field in list(ATTRS)[1:]]
    table = pa.table([pa.array(rows.clip(0), pa.uint32()), *columns], schema=ATTRS)
    if not wanted.all():
        table, rows = table.filter(pa.array(wanted)), rows[wanted]
    if (rows[1:] < rows[:-1]).any():
        table = table.take(pa.array(np.argsort(rows, kind="stable")))
    return table


def _ordered(found: pa.Table) -> pa.Table:
    typed = pa.table([found[field.name].cast(field.type) for field in ATTRS], schema=ATTRS)
    return typed.take(pc.sort_indices(typed["parent_id"]))


_NUMBER = f"key = '{COUNT}' AND type = {_TYPE_OF['str']} AND TRY_CAST(str AS DOUBLE) IS NOT NULL"
_AS_DOUBLE = f"""CASE WHEN {_NUMBER} THEN CAST({_TYPE_OF["double"]} AS UTINYINT) ELSE type END AS type,
    CASE WHEN {_NUMBER} THEN NULL ELSE str END AS str,
    CASE WHEN {_NUMBER} THEN TRY_CAST(str AS DOUBLE) ELSE double END AS double"""
_LISTED = ", ".join(f"CAST(a.{name} AS {kind}) AS {name}" for name, kind in _CASTS.items())
_WHOLE = f"""SELECT s.row AS parent_id, a.key, {_LISTED} FROM {RESULT} AS a
    JOIN selected AS s ON s._part_id = a._part_id AND s.id = a.parent_id WHERE a.key IS NOT NULL"""


def _overlaid(names: set[str]) -> str:
    """Attributes of the selected logs, with the rows of the answer that say something else."""
    told = [name for name in _VALUES if name in names]
    if "key" not in names or not told:
        return f"""SELECT s.row AS parent_id, a.key, {_LISTED} FROM log_attrs AS a
            JOIN selected AS s ON s._part_id = a._part_id AND s.id = a.parent_id"""
    equal = " AND ".join(f"(a.{name} IS NULL OR a.{name} IS NOT DISTINCT FROM o.{name})" for name in told)
    kinds = " ".join(f"WHEN a.{name} IS NOT NULL THEN {_TYPE_OF[name]}" for name in told)
    kind = f"CASE {kinds} ELSE 0 END"
    if "type" in names:
        kind = f"coalesce(a.type, {kind})"
    values = ", ".join(
        f"CAST({f'a.{name}' if name in told else 'NULL'} AS {_CASTS[name]}) AS {name}" for name in _VALUES
    )
    return f"""WITH changed AS (
        SELECT DISTINCT ON (s.row, key)
            s._part_id, s.id, s.row, CAST(a.key AS VARCHAR) AS key, CAST({kind} AS UTINYINT) AS type, {values}
        FROM {RESULT} AS a JOIN selected AS s ON s._part_id = a._part_id AND s.id = a.parent_id
        WHERE a.key IS NOT NULL AND NOT EXISTS (FROM log_attrs AS o
            WHERE o._part_id = a._part_id AND o.parent_id = a.parent_id AND o.key = CAST(a.key AS VARCHAR) AND {equal})
        ORDER BY ALL)
    SELECT s.row AS parent_id, a.key, {_LISTED} FROM log_attrs AS a
        JOIN selected AS s ON s._part_id = a._part_id AND s.id = a.parent_id
        WHERE NOT EXISTS (FROM changed AS c WHERE c.row = s.row AND c.key = a.key)
    UNION ALL SELECT row, key, type, {", ".join(_VALUES)} FROM changed"""
