"""Expressions of Spark, put together."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

Expression = exp.Expr
Rule = Callable[[Expression], Expression]
"One node as Spark has it; its children are Spark's already, and everything still knows its type in DuckDB."

INTEGERS = frozenset({*exp.DataType.INTEGER_TYPES})
NUMBERS = frozenset({*exp.DataType.NUMERIC_TYPES})
TIMES = frozenset({*exp.DataType.TEMPORAL_TYPES} - {exp.DType.DATE, exp.DType.DATE32})
DATES = frozenset({exp.DType.DATE, exp.DType.DATE32})
REALS = frozenset({exp.DType.FLOAT, exp.DType.DOUBLE})
LISTS = frozenset({exp.DType.ARRAY, exp.DType.LIST})
NESTED = LISTS | {exp.DType.STRUCT, exp.DType.MAP}


def kind_of(node: Expression | None) -> exp.DType | None:
    """The type that a node has in DuckDB, as far as it is known."""
    found = node.type if node is not None else None
    if found is None or found.this == exp.DType.UNKNOWN:
        return None
    kind = found.this
    return kind if isinstance(kind, exp.DType) else None


def call(name: str, *arguments: Expression | None) -> exp.Anonymous:
    """A function by the name that Spark has for it."""
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments if argument is not None])


def cast(node: Expression, kind: str) -> exp.Cast:
    """To a type of Spark's."""
    return exp.Cast(this=node.copy(), to=exp.DataType.build(kind, dialect="spark"))


def text(value: str) -> exp.Literal:
    return exp.Literal.string(value)


def number(value: int | str) -> Expression:
    return exp.Literal.number(value)


def bare(node: Expression) -> Expression:
    """Without brackets around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def written(node: Expression | None) -> str | None:
    """A text that stands in the SQL."""
    found = bare(node) if node is not None else None
    return found.name if isinstance(found, exp.Literal) and found.is_string else None


def whole(node: Expression | None) -> int | None:
    """A whole number that stands in the SQL."""
    found = bare(node) if node is not None else None
    if isinstance(found, exp.Neg):
        inner = whole(found.this)
        return None if inner is None else -inner
    if isinstance(found, exp.Literal) and not found.is_string and found.name.isdecimal():
        return int(found.name)
    return None


def timestamp(node: Expression) -> Expression:
    """Spark's functions of time want one with zone; the session's is UTC."""
    return cast(node, "timestamp")


def plain_time(node: Expression) -> exp.Cast:
    """A time as the lake has it, without zone."""
    return exp.Cast(this=node.copy(), to=exp.DataType(this=exp.DType.TIMESTAMPNTZ))
