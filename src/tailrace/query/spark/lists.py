"""Lists: their elements by number, their making out of rows."""

from __future__ import annotations

from sqlglot import exp

from tailrace.query.spark import jsons
from tailrace.query.spark.building import INTEGERS, LISTS, Expression, Rule, call, kind_of, number, whole
from tailrace.query.spark.refusal import refused

_SAME = {"list_sort": "SORT_ARRAY", "array_sort": "SORT_ARRAY", "list_reverse": "REVERSE", "array_reverse": "REVERSE"}


def bracket(node: Expression) -> Expression:
    """`x[1]` is the first, counted from the end below zero, and null where there is none."""
    found = jsons.bracket(node)
    if found is not None:
        return found
    if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
        raise refused("parts of lists and texts, such as x[1:2]")
    (inner,) = node.expressions
    kind = kind_of(node.this)
    if kind == exp.DType.STRUCT and inner.is_string:
        return exp.Dot(this=node.this.copy(), expression=exp.to_identifier(inner.name, quoted=True))
    if kind == exp.DType.MAP or (isinstance(inner, exp.Literal) and inner.is_string):
        return call("TRY_ELEMENT_AT", node.this, inner)
    place = whole(inner)
    # A number that is written down sqlglot has counted down by one, for languages that begin with zero.
    shifted = number(place + 1) if place is not None and place >= -1 else None
    if place is not None and place < -1:
        shifted = exp.Neg(this=number(-place - 1))
    if kind in exp.DataType.TEXT_TYPES:
        return call("SUBSTRING", node.this, shifted or inner, number(1))
    return exp.Null() if place == -1 else call("TRY_ELEMENT_AT", node.this, shifted or inner)


def listed(node: Expression) -> Expression:
    """`array_agg`, `list`: nulls are elements too, which Spark drops unless they are inside of something."""
    order = node.this.expressions if isinstance(node.this, exp.Order) else []
    inner = node.this.this if order else node.this
    is_distinct = isinstance(inner, exp.Distinct)
    value = inner.expressions[0] if is_distinct else inner
    held = call("NAMED_STRUCT", exp.Literal.string("v"), value, *_keys(order))
    gathered: Expression = call("COLLECT_SET" if is_distinct else "COLLECT_LIST", held)
    above = node.parent
    if isinstance(above, exp.Filter | exp.Window):
        above.meta["listed"] = True
    row = exp.to_identifier("e")
    plain = exp.Lambda(this=exp.Dot(this=row, expression=exp.to_identifier("v")), expressions=[row.copy()])
    gathered.meta["finish"] = (order, plain)
    return gathered if above is not None and above.meta.get("listed") else _finished(gathered)


def finished(node: Expression) -> Expression:
    """A filter or a window over a list that is being made: what is left to do is done around it."""
    return _finished(node) if node.this.meta.get("finish") else node


def _finished(gathered: Expression) -> Expression:
    inner = gathered.this if isinstance(gathered, exp.Filter | exp.Window) else gathered
    order, plain = inner.meta["finish"]
    ordered = call("ARRAY_SORT", gathered, _compared(order)) if order else gathered
    # DuckDB has no list where there are no rows.
    is_empty = exp.EQ(this=call("ARRAY_SIZE", gathered), expression=number(0))
    return call("IF", is_empty, exp.Null(), call("TRANSFORM", ordered, plain))


def _keys(order: list[Expression]) -> list[Expression]:
    pairs = ((exp.Literal.string(f"k{place}"), ordered.this) for place, ordered in enumerate(order))
    return [part for pair in pairs for part in pair]


def _compared(order: list[Expression]) -> Expression:
    """A lambda that tells which of two elements comes first."""
    left, right = exp.to_identifier("l"), exp.to_identifier("r")
    found: Expression = number(0)
    for place, ordered in reversed(list(enumerate(order))):
        one, other = (exp.Dot(this=side.copy(), expression=exp.to_identifier(f"k{place}")) for side in (left, right))
        first, last = exp.Neg(this=number(1)), number(1)
        nulls = (first, last) if ordered.args.get("nulls_first") else (last, first)
        smaller = (last, first) if ordered.args.get("desc") else (first, last)
        found = (
            exp.Case()
            .when(exp.NullSafeEQ(this=one, expression=other), found)
            .when(exp.Is(this=one.copy(), expression=exp.Null()), nulls[0].copy())
            .when(exp.Is(this=other.copy(), expression=exp.Null()), nulls[1].copy())
            .when(exp.LT(this=one.copy(), expression=other.copy()), smaller[0].copy())
            .else_(smaller[1].copy())
        )
    return exp.Lambda(this=found, expressions=[left, right])


def quantile(node: Expression) -> Expression:
    """`quantile_cont(x, 0.5)`, `percentile_cont(0.5) within group (order by x)`: exact, not approximate."""
    if isinstance(node, exp.WithinGroup):
        if not isinstance(node.this, exp.PercentileCont | exp.PercentileDisc):
            return node
        (ordered,) = node.expression.expressions
        share, value = node.this.this, ordered.this
        if ordered.args.get("desc"):
            share = exp.Sub(this=number(1), expression=share.copy())
        if isinstance(node.this, exp.PercentileDisc):
            return exp.WithinGroup(this=call("PERCENTILE_DISC", share), expression=node.expression.copy())
        return call("PERCENTILE", value, share)
    if node.expression is None or isinstance(node.parent, exp.WithinGroup):
        return node
    if isinstance(node, exp.PercentileDisc):
        raise refused("quantile_disc")
    return call("PERCENTILE", node.this, node.expression)


def extreme(node: Expression) -> Expression:
    """`arg_max`, `arg_min`: of the rows in which both are something."""
    if node.args.get("count") is not None:
        raise refused(f"{node.key} of several")
    is_null = exp.Is(this=node.this.copy(), expression=exp.Null())
    name = "MAX_BY" if isinstance(node, exp.ArgMax) else "MIN_BY"
    return call(name, node.this, call("IF", is_null, exp.Null(), node.expression))


def largest(node: Expression) -> Expression:
    if node.args.get("count") is not None:
        raise refused(f"{node.key} of several")
    return node


def distinct(node: Expression) -> Expression:
    """Without nulls."""
    return call("ARRAY_DISTINCT", call("ARRAY_COMPACT", node.this))


def series(node: Expression) -> Expression:
    """Empty where it begins after its end, as long as it goes up; Spark would count down."""
    start, end, given = node.args["start"], node.args["end"], node.args.get("step")
    step, is_open = 1 if given is None else whole(given), node.args.get("is_end_exclusive")
    if not step:
        if is_open or isinstance(given, exp.Literal) or kind_of(given) in INTEGERS:
            raise refused("range with a step that is no whole number")
        return node  # of times
    last: Expression = end
    if is_open:
        last = exp.Paren(this=exp.Sub(this=end.copy(), expression=number(1 if step > 0 else -1)))
    made = call("SEQUENCE", start, last, given)
    first, final = whole(start), whole(end)
    if first is not None and final is not None and (final - first) * step > 0:
        return made
    is_empty = exp.LT(this=last.copy(), expression=start.copy())
    return call("IF", is_empty if step > 0 else exp.GT(**is_empty.args), exp.Array(), made)


def has_all(node: Expression) -> Expression:
    """`x @> y`, `list_has_all(x, y)`, and the other way round."""
    given = node.expressions if isinstance(node, exp.Anonymous) else (node.this, node.expression)
    larger, smaller = reversed(given) if isinstance(node, exp.ArrayContainedBy) else given
    return exp.Paren(this=exp.EQ(this=call("ARRAY_SIZE", call("ARRAY_EXCEPT", smaller, larger)), expression=number(0)))


def has_any(node: Expression) -> Expression:
    given = node.expressions if isinstance(node, exp.Anonymous) else (node.this, node.expression)
    return call("ARRAYS_OVERLAP", *given)


def among(node: Expression) -> Expression:
    """`x in y`, where `y` is a list."""
    values = node.args.get("field")
    return call("ARRAY_CONTAINS", values, node.this) if values is not None else node


def type_of(node: Expression) -> Expression:
    raise refused("typeof tells types of DuckDB")


def counted(node: Expression) -> Expression:
    return node if node.this is not None else exp.Count(this=exp.Star())


def flattened(node: Expression) -> Expression:
    """Lists that are null add nothing."""
    return call("FLATTEN", call("ARRAY_COMPACT", node.this))


def concatenated(node: Expression) -> Expression:
    """`list_concat`: lists that are null add nothing."""
    return call("CONCAT", *(call("COALESCE", one, exp.Array()) for one in (node.this, *node.expressions)))


def simple(node: Expression) -> Expression:
    """DuckDB counts elements from one, Spark from zero."""
    if len(node.expressions) > 1:
        raise refused("lambdas with a second parameter")
    return node


def any_of(node: Expression) -> Expression:
    if kind_of(node.this) in LISTS:
        raise refused("any of a list")
    return node


def list_function(node: Expression) -> Expression:
    if len(node.expressions) != 1:
        raise refused(f"{node.this} with more than a list")
    return call(_SAME[str(node.this).lower()], *node.expressions)


RULES: dict[type[Expression], Rule] = {
    exp.Bracket: bracket,
    exp.ArrayAgg: listed,
    exp.Filter: finished,
    exp.Window: finished,
    exp.WithinGroup: quantile,
    exp.PercentileCont: quantile,
    exp.PercentileDisc: quantile,
    exp.Count: counted,
    exp.In: among,
    exp.ArgMax: extreme,
    exp.ArgMin: extreme,
    exp.Max: largest,
    exp.Min: largest,
    exp.ArrayDistinct: distinct,
    exp.GenerateSeries: series,
    exp.Flatten: flattened,
    exp.ArrayConcat: concatenated,
    exp.Lambda: simple,
    exp.Any: any_of,
    exp.Typeof: type_of,
    exp.ArrayContainsAll: has_all,
    exp.ArrayContainedBy: has_all,
    exp.ArrayOverlaps: has_any,
}
FUNCTIONS: dict[str, Rule] = {
    **dict.fromkeys(_SAME, list_function),
    **dict.fromkeys(("list_has_all", "array_has_all"), has_all),
    **dict.fromkeys(("list_has_any", "array_has_any"), has_any),
}
