"""Numbers, and values that become those of another type."""

from __future__ import annotations

from sqlglot import exp

from tailrace.query.spark.building import (
    INTEGERS,
    NUMBERS,
    REALS,
    Expression,
    Rule,
    call,
    cast,
    kind_of,
    number,
    text,
    whole,
)
from tailrace.query.spark.jsons import to_json, unquoted
from tailrace.query.spark.refusal import refused
from tailrace.query.spark.texts import as_text

_HUGE = {
    exp.DType.INT128: "DECIMAL(38, 0)",
    exp.DType.UINT128: "DECIMAL(38, 0)",
    exp.DType.UBIGINT: "DECIMAL(20, 0)",
    exp.DType.UINT: "BIGINT",
    exp.DType.USMALLINT: "INT",
    exp.DType.UTINYINT: "SMALLINT",
    exp.DType.INET: "STRING",
    exp.DType.UUID: "STRING",
    exp.DType.TIMESTAMP_S: "TIMESTAMP_NTZ",
    exp.DType.TIMESTAMP_MS: "TIMESTAMP_NTZ",
    exp.DType.TIMESTAMP_NS: "TIMESTAMP_NTZ",
}
"Types that Spark lacks."
_TRIED = {
    exp.DType.TINYINT: "tinyint",
    exp.DType.SMALLINT: "smallint",
    exp.DType.INT: "integer",
    exp.DType.BIGINT: "bigint",
    exp.DType.FLOAT: "float",
    exp.DType.DOUBLE: "double",
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPNTZ: "timestamp",
}
"Of these Spark reads other texts: `1.5` and `0x10` are no whole numbers there, `2024` is a day, and `1f` a number."
_BYTES = frozenset({exp.DType.BINARY, exp.DType.VARBINARY, exp.DType.BLOB})
_DECIMALS = frozenset({exp.DType.DECIMAL, exp.DType.BIGDECIMAL})
_SIDES = ("this", "expression", "low", "high")
_COUNTING = (exp.Add, exp.Sub, exp.Mul, exp.Mod)
_COMPARING = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In,
)  # fmt: skip


def level(node: Expression) -> None:
    """In place: what is counted or compared with a real number is one, of half the size if that is: `f = 0.1`."""
    if isinstance(node, exp.Paren | exp.Neg):
        node.type = node.this.type
    if not isinstance(node, _COUNTING + _COMPARING):
        return
    parts = [*(node.args.get(side) for side in _SIDES), *node.args.get("expressions", ())]
    kinds = set(map(kind_of, parts))
    if kinds.isdisjoint(REALS):
        return
    real = exp.DType.DOUBLE if exp.DType.DOUBLE in kinds else exp.DType.FLOAT
    if isinstance(node, _COUNTING):
        node.type = exp.DataType(this=real)
    for part in parts:
        if real == exp.DType.FLOAT and kind_of(part) in NUMBERS - REALS:
            part.replace(cast(part, "float"))


def divided(node: Expression) -> Expression:
    """As real numbers; by zero it is infinite, and no failure."""
    above, below = cast(node.this, "double"), node.expression
    if whole(below):
        return exp.Div(this=above, expression=below.copy())
    endless = exp.Mul(this=above, expression=cast(text("Infinity"), "double"))
    is_zero = exp.EQ(this=_bracketed(below), expression=number(0))
    return call("IF", is_zero, endless, exp.Div(this=above.copy(), expression=_bracketed(below)))


def _bracketed(node: Expression) -> Expression:
    return exp.Paren(this=node.copy()) if isinstance(node, exp.Binary) else node.copy()


def divided_whole(node: Expression) -> Expression:
    """Of whole numbers it is whole."""
    kinds = {kind_of(node.this), kind_of(node.expression)}
    return node if kinds.isdisjoint(REALS | _DECIMALS) else divided(node)


def averaged(node: Expression) -> Expression:
    """Spark would round that of decimals."""
    return exp.Avg(this=cast(node.this, "double")) if kind_of(node.this) in _DECIMALS else node


def logarithm(node: Expression) -> Expression:
    """Of base 10, where none is given."""
    return call("LOG10", node.this) if node.args.get("expression") is None else node


def is_nan(node: Expression) -> Expression:
    """Of null it is not known."""
    return call("IF", exp.Is(this=node.this.copy(), expression=exp.Null()), exp.Null(), call("ISNAN", node.this))


def is_infinite(node: Expression) -> Expression:
    """Spark has no word for it."""
    return exp.Paren(this=exp.EQ(this=call("ABS", node.this), expression=cast(text("Infinity"), "double")))


def converted(node: Expression) -> Expression:
    """`cast` and `try_cast`."""
    wanted = node.args["to"]
    if isinstance(node, exp.TryCast):
        node.set("safe", True)
    kind, inner = wanted.this, node.this
    if kind in (exp.DType.TIME, exp.DType.TIMETZ):
        raise refused("times without a day")
    if kind in _BYTES and kind_of(inner) not in _BYTES:
        raise refused("casts to bytes, which read escapes such as \\x41: encode() does not")
    if kind in (exp.DType.JSON, exp.DType.JSONB):
        return to_json(node)
    if kind_of(inner) == exp.DType.JSON and not wanted.is_type(*exp.DataType.TEXT_TYPES):
        inner = unquoted(inner)
    if isinstance(node, exp.TryCast) and kind in _TRIED and kind_of(inner) in (None, *exp.DataType.TEXT_TYPES):
        return call(f"TAILRACE_TRY_{_TRIED[kind].upper()}", inner)
    if kind in INTEGERS and kind_of(inner) in REALS:
        inner = call("RINT", inner)
    elif kind in INTEGERS and kind_of(inner) in _DECIMALS:
        inner = call("ROUND", inner)
    if wanted.is_type(*exp.DataType.TEXT_TYPES):
        return as_text(inner)
    if inner is not node.this:
        node.set("this", inner.copy())
    if kind in _HUGE:
        node.set("to", exp.DataType.build(_HUGE[kind], dialect="spark"))
    return node


RULES: dict[type[Expression], Rule] = {
    exp.Div: divided,
    exp.IntDiv: divided_whole,
    exp.Avg: averaged,
    exp.Log: logarithm,
    exp.IsNan: is_nan,
    exp.IsInf: is_infinite,
    exp.Cast: converted,
    exp.TryCast: converted,
}
