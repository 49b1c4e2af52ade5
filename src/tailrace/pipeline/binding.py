"""Expressions of a configuration, tried on a table without rows: does DuckDB understand them?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from tailrace.core import Table
from tailrace.core.arrow import arrow_schema, arrow_type
from tailrace.core.registry import nearest
from tailrace.formats.duck import con
from tailrace.lake.words import words_of
from tailrace.pipeline.questions import ROW

_NO_INDEX = (
    *("tp_id", "tp_timestamp", "tp_date", "tp_ingest_timestamp"),
    *("tp_table", "tp_partition", "tp_index", "tp_extra"),
)
"Columns that tell rows apart too much or not at all."
_HINT = "write a DuckDB expression over one row; `tailrace table show` lists the columns"
_MISSING = re.compile(r'column "([^"]+)" not found')
_NO_FUNCTION = re.compile(r"Function with name \"?(\S+?)\"? does not exist")
_SUGGESTED = re.compile(r'Did you mean "(\w+)"')
_KIND = re.compile(r"^[A-Z]\w+(?: \w+)? Error: ")
_MOST_GUESSES = 50


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with an expression, and at which of its characters, if that is known."""

    expression: str
    message: str
    at: int | None = None
    hint: str | None = None
    code: str = "bad-expression"


def index_fault(name: str, table: Table) -> Fault | None:
    """`tp_index` must be a column whose values can name directories, or a field of a struct."""
    schema = arrow_schema(table)
    plain = [n for n in schema.names if n not in _NO_INDEX and not pa.types.is_nested(schema.field(n).type)]
    structs = [field.name for field in schema if pa.types.is_struct(field.type)]
    if name.partition(".")[0] in {*plain, *structs}:
        return None
    guess = nearest(name, plain)
    hint = f"did you mean '{guess}'?" if guess else f"`tailrace table show {table.name}` lists its columns"
    return Fault(name, f"cannot be '{name}', which is no such column of {table.name}", None, hint, "unknown-column")


def filter_fault(expression: str, table: Table, may_come: Callable[[str], bool]) -> Fault | None:
    """A filter sees the table's columns, and those of which `may_come` says that records may bring them."""
    schema = arrow_schema(table)
    columns = dict(zip(schema.names, schema.types, strict=True))
    return _bound(expression, columns, "::BOOLEAN", may_come)


def transform_fault(expression: str, table: Table, fields: frozenset[str] | None) -> Fault | None:
    """A transform sees source fields: columns in their types, others as text; None: any name may be a field."""
    declared = {c.name.lower(): arrow_type(c.type) for c in table.columns if c.sql is None}
    names = words_of(expression) if fields is None else {*fields, *(c.name for c in table.columns)}
    columns = {name.lower(): declared.get(name.lower(), pa.string()) for name in sorted(names)}
    return _bound(expression, columns, "", lambda name: False)


def _bound(
    expression: str, columns: Mapping[str, pa.DataType], cast: str, may_come: Callable[[str], bool]
) -> Fault | None:
    fault = _parsed(expression)
    known = dict(columns)
    for _ in range(_MOST_GUESSES):
        if fault is not None:
            return fault
        try:
            return _tried(expression, known, cast)
        except duckdb.Error as error:
            message = _KIND.sub("", str(error).splitlines()[0])
            missing, function = _MISSING.search(message), _NO_FUNCTION.search(message)
            if missing and may_come(missing[1]) and missing[1] not in known:
                known[missing[1]] = pa.null()
                continue
            # Of a column that is yet to come the type is not known, so what does not fit it now may fit then.
            if len(known) > len(columns) and not missing and not function:
                return None
            fault = _told(expression, str(error), missing or function, list(columns) if missing else [])
    return fault


def _told(expression: str, message: str, named: re.Match[str] | None, known: list[str]) -> Fault:
    if "GROUP BY" in message or "aggregate" in message:
        return Fault(expression, "an aggregate such as count() looks at other rows", None, _HINT)
    if named is None:
        return Fault(expression, _KIND.sub("", message.splitlines()[0]), None, _HINT)
    word = re.search(rf'(?<![\w"]){re.escape(named[1])}(?!\w)', expression, re.IGNORECASE)
    # DuckDB suggests some function in any case.
    guess = nearest(named[1].lower(), known or _SUGGESTED.findall(message))
    hint = f"did you mean '{guess}'?" if guess else _HINT
    told = f"unknown column '{named[1]}'" if known else f"unknown function '{named[1]}'"
    return Fault(
        expression, told, word.start() if word else None, hint, "unknown-column" if known else "bad-expression"
    )


def _parsed(expression: str) -> Fault | None:
    """What the parser says, with the character at which it stopped."""
    if not expression.strip():
        return Fault(expression, "is empty", None, _HINT)
    opening = "SELECT ("
    query = f"{opening}{expression}\n)"
    tree = con().execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0]
    told = json.loads(tree) if '"error":true' in tree else {}
    if told:
        at = len(query.encode()[: int(told.get("position") or 0)].decode(errors="ignore")) - len(opening)
        if at >= len(expression):
            return Fault(expression, "not an SQL expression: it ends too early", len(expression.rstrip()), _HINT)
        return Fault(expression, f"not an SQL expression: {told['error_message']}", max(at, 0), _HINT)
    if '"class":"WINDOW"' in tree:
        return Fault(expression, "a window function looks at other rows", None, _HINT)
    return None


def _tried(expression: str, columns: Mapping[str, pa.DataType], cast: str) -> Fault | None:
    """On two empty rows: it must give one answer for each, whatever rows stand beside it."""
    given = pa.table([pa.nulls(2, kind) for kind in columns.values()] + [pa.array([0, 1])], names=[*columns, ROW])
    connection = con()
    connection.register("given", given)
    try:
        query = f'SELECT ({expression}\n){cast} AS answer, "{ROW}" FROM given'
        rows = connection.sql(query).to_arrow_table().num_rows
    finally:
        connection.unregister("given")
    return None if rows == 2 else Fault(expression, "gives not one value per row", None, _HINT)
