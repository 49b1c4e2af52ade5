"""Values for the parameters of SQL, `$1` and `$name`.

They become literals, not parameters of DuckDB: files are left out by what a statement compares with, and a text that is
compared with a number or a time is read as one only if it is a literal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

from tailrace.core.errors import UsageError
from tailrace.lake.quoting import literal
from tailrace.query.tokens import tokens


def parameters_of(sql: str) -> set[str]:
    """Names and numbers of all parameters, in small letters."""
    return {name for name, _, _ in _places(sql)}


def with_values(sql: str, values: Mapping[str, Any]) -> str:
    """The SQL with values in place of parameters; one without a value stays."""
    if not values or "$" not in sql:
        return sql
    given = {name.lower(): value for name, value in values.items()}
    text, parts, done = sql.encode(), [], 0
    for name, start, end in _places(sql):
        if name in given:
            parts += [text[done:start], b" ", as_sql(given[name]).encode(), b" "]
            done = end
    return b"".join([*parts, text[done:]]).decode()


def as_sql(value: Any) -> str:
    """A value of Python as SQL writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return f"({value})"
    if isinstance(value, float):
        return f"({literal(repr(value))}::DOUBLE)"
    if isinstance(value, datetime):
        kind = "TIMESTAMP" if value.tzinfo is None else "TIMESTAMPTZ"
        return f"{kind} {literal(value.isoformat(sep=' '))}"
    if isinstance(value, date):
        return f"DATE {literal(value.isoformat())}"
    if isinstance(value, bytes):
        return literal("".join(f"\\x{byte:02X}" for byte in value)) + "::BLOB"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_sql, value))}]"
    if isinstance(value, str):
        return literal(_whole(value))
    raise UsageError(f"a {type(value).__name__} cannot be a parameter", code="usage.bad-parameter")


def _whole(text: str) -> str:
    if "\0" in text:
        raise UsageError("a parameter holds a NUL character", code="usage.bad-parameter")
    return text


def _places(sql: str) -> Iterator[tuple[str, int, int]]:
    """Name, first byte and end of each parameter."""
    for sign, name in pairwise(tokens(sql)):
        is_name = name.text.isidentifier() or name.text.isdecimal()
        if sign.text == "$" and name.start == sign.end and is_name:
            yield name.text.lower(), sign.start, name.end
