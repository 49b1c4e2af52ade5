"""Whole selects: lists that become rows, the first row of each kind, samples."""

from __future__ import annotations

from itertools import count

from sqlglot import exp

from tailrace.query.spark.building import Expression, call, number
from tailrace.query.spark.refusal import refused

_numbers = count()


def rewrite(select: exp.Select) -> None:
    """In place; all that is inside of it is Spark's already."""
    _explode_projections(select)
    _explode_sources(select)
    _sample(select)
    _distinct_on(select)
    _order_apart(select)


def _explode_projections(select: exp.Select) -> None:
    """`select unnest(x)`: rows of a list beside the others; several lists go side by side."""
    found = [node for node in select.find_all(exp.Explode) if node.parent_select is select]
    if not found:
        return
    if any(node.expressions for node in found):
        raise refused("unnest with options")
    if select.args.get("group") is not None or _aggregates(select):
        raise refused("unnest beside group by: do it in a sub-query")
    lists = list(dict.fromkeys(node.this for node in found))
    table = exp.to_identifier(f"_u{next(_numbers)}")
    names = [exp.to_identifier(f"_c{place}") for place in range(len(lists))]
    for node in found:
        column = exp.Column(this=names[lists.index(node.this)].copy(), table=table.copy())
        column.type = node.type
        if node.parent is select:
            # A column is called as it was, whatever DuckDB calls it.
            node.replace(exp.alias_(column, "unnest", quoted=True))
        else:
            node.replace(column)
    rows = exp.Explode(this=lists[0].copy()) if len(lists) == 1 else exp.Inline(this=call("ARRAYS_ZIP", *lists))
    _add(select, _lateral(rows, exp.TableAlias(this=table, columns=names)))


def _aggregates(select: exp.Select) -> bool:
    return any(node.parent_select is select for node in select.find_all(exp.AggFunc))


def _add(select: exp.Select, rows: exp.Lateral) -> None:
    if select.args.get("from_") is None:
        select.set("from_", exp.From(this=_standing(rows)))
        return
    # Before what may already refer to it there is nothing: projections come after all of FROM.
    select.append("joins", exp.Join(this=rows, kind="CROSS"))


def _explode_sources(select: exp.Select) -> None:
    """`from t, unnest(x) as u(c)`."""
    begin = select.args.get("from_")
    if begin is not None and isinstance(begin.this, exp.Unnest):
        begin.set("this", _standing(_of_unnest(begin.this)))
    for join in select.args.get("joins") or []:
        if isinstance(join.this, exp.Unnest):
            join.set("this", _of_unnest(join.this))


def _of_unnest(unnest: exp.Unnest) -> exp.Lateral:
    lists = unnest.expressions
    if unnest.args.get("offset"):
        raise refused("unnest with ordinality")
    rows = exp.Explode(this=lists[0].copy()) if len(lists) == 1 else exp.Inline(this=call("ARRAYS_ZIP", *lists))
    return _lateral(rows, unnest.args["alias"].copy())


def _lateral(rows: Expression, alias: exp.TableAlias) -> exp.Lateral:
    return exp.Lateral(this=rows, alias=alias)


def _standing(rows: exp.Lateral) -> exp.Table:
    """Where nothing comes before it."""
    return exp.Table(this=rows.this.copy(), alias=rows.args["alias"].copy())


def _sample(select: exp.Select) -> None:
    """`using sample`, `tablesample`: some of the rows of a table, before anything else is done with them."""
    begin = select.args.get("from_")
    asked = select.args.get("sample")
    if asked is not None:
        if begin is None or select.args.get("joins"):
            raise refused("a sample of several tables: take it in a sub-query")
        select.set("sample", None)
        begin.set("this", _sampled(begin.this, asked))
    for place in [begin, *(select.args.get("joins") or [])]:
        own = place.this.args.get("sample") if place is not None else None
        if own is not None:
            place.this.set("sample", None)
            place.set("this", _sampled(place.this, own))


def _sampled(source: Expression, asked: Expression) -> exp.Subquery:
    """A number of rows in an order by chance; a share as Spark draws it, row by row."""
    seed = asked.args.get("seed")
    alias = source.args.get("alias")
    inner = source.copy()
    inner.set("alias", None)
    if asked.args.get("size") is not None:
        chance = exp.alias_(call("RAND", seed), "_chance")
        drawn = exp.select("*", chance).from_(inner).order_by("_chance").limit(asked.args["size"].copy())
    elif asked.args.get("percent") is not None:
        share = exp.Div(this=asked.args["percent"].copy(), expression=number("100D"))
        drawn = exp.select("*").from_(inner).where(exp.LT(this=call("RAND", seed), expression=share))
    else:
        raise refused("a sample that is neither rows nor a share")
    return exp.Subquery(this=drawn, alias=alias.copy() if alias is not None else None)


def _distinct_on(select: exp.Select) -> None:
    """The first row of each kind, in the order that is asked for."""
    distinct = select.args.get("distinct")
    keys = distinct.args.get("on") if distinct is not None else None
    if keys is None:
        return
    select.set("distinct", None)
    meant = {projection.alias.lower(): projection.this for projection in select.selects if projection.alias}
    order = [
        _by_meaning(ordered, meant)
        for ordered in (select.args["order"].expressions if select.args.get("order") else [])
    ]
    names = [exp.to_identifier(projection.alias_or_name, quoted=True) for projection in select.selects]
    ranked = order or [exp.Ordered(this=number(1))]
    window = exp.Window(
        this=exp.RowNumber(),
        partition_by=[_by_meaning(key, meant) for key in keys.expressions],
        order=exp.Order(expressions=[ordered.copy() for ordered in ranked]),
    )
    _wrap(select, names, [exp.alias_(window, "_rank")], order)
    select.set("where", exp.Where(this=exp.EQ(this=exp.column("_rank"), expression=number(1))))


def _order_apart(select: exp.Select) -> None:
    """After HAVING Spark orders by columns only, not by aggregates."""
    order = select.args["order"].expressions if select.args.get("order") is not None else []
    if select.args.get("having") is None or not any(ordered.find(exp.AggFunc) for ordered in order):
        return
    meant = {projection.alias.lower(): projection.this for projection in select.selects if projection.alias}
    names = [exp.to_identifier(projection.alias_or_name, quoted=True) for projection in select.selects]
    _wrap(select, names, [], [_by_meaning(ordered, meant) for ordered in order])


def _wrap(select: exp.Select, names: list[exp.Identifier], added: list[Expression], order: list[Expression]) -> None:
    """The select becomes one over itself, which has more columns: some that are added, and those it is ordered by."""
    inner = select.copy()
    for part in ("order", "limit", "offset", "with_"):
        inner.set(part, None)
    keys = [exp.alias_(ordered.this.copy(), f"_by{place}") for place, ordered in enumerate(order)]
    inner.set("expressions", [*inner.expressions, *added, *keys])
    for part in ("joins", "laterals", "where", "group", "having", "qualify", "windows", "order"):
        select.set(part, None)
    select.set("expressions", [exp.Column(this=name) for name in names])
    select.set("from_", exp.From(this=inner.subquery("_inner", copy=False)))
    if order:
        outer = [ordered.copy() for ordered in order]
        for place, ordered in enumerate(outer):
            ordered.set("this", exp.column(f"_by{place}"))
        select.set("order", exp.Order(expressions=outer))


def _by_meaning(node: Expression, meant: dict[str, Expression]) -> Expression:
    """With what stands behind the names of the select's own columns."""

    def expand(inner: Expression) -> Expression:
        if isinstance(inner, exp.Column) and not inner.table and inner.name.lower() in meant:
            return exp.Paren(this=meant[inner.name.lower()].copy())
        return inner

    return node.copy().transform(expand)
