"""SQL of windows: DuckDB's dialect, and the forms that such queries are written in, for DuckDB or Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import duckdb
import sqlglot
from sqlglot import exp

from tailrace.core.errors import QueryError, one_line
from tailrace.windows.needed import UNKNOWN
from tailrace.windows.sampling import (
    DUCKDB,
    LARGEST,
    LATER,
    SPARK,
    Call,
    Dialect,
    Sampling,
    aggregate,
    group_value,
    known_salts,
    widened,
)
from tailrace.windows.schema import PART_ID

SAMPLER = "weighted_reservoir_sample"
DIALECTS = {"duckdb": DUCKDB, "spark": SPARK}
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_HINT = "weighted_reservoir_sample(STRUCT(id, weight), 100), with _part_id in GROUP BY or STRUCT(id, _part_id, weight)"
_TOKEN = "wrs_call_{}"
_TOKENS = re.compile(r"\bwrs_call_\d+(?:_input|_group_\d+)?\b")
_NAMES_OF_NANOS = {"TO_TIMESTAMP_NANOS"}


def filled(query: str, values: Mapping[str, int]) -> str:
    """The text with its placeholders replaced; two bare question marks are the window's start and end."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            known = ", ".join(f"{{{name}}}" for name in values)
            raise QueryError(f"there is no placeholder {found[0]}", code="query.placeholder", hint=f"known are {known}")
        return str(values[found[1]])

    return _PLACEHOLDER.sub(value, query)


def window_values(start: int, end: int, sample_size: int) -> dict[str, int]:
    """What placeholders stand for; times in nanoseconds."""
    return {
        "window_start_ns": start, "window_end_ns": end, "window_start": start, "window_end": end,
        "sample_size": sample_size,
    }  # fmt: skip


def rewritten(
    query: str, engine: str, values: Mapping[str, int], sampling: Sampling | None = None, *, ordered: bool = True
) -> str:
    """The query for one engine. Without `ordered` the order of its rows does not matter."""
    dialect = DIALECTS[engine]
    tree = _parsed(filled(query, values))
    _fill_marks(tree, values)
    for cast in list(tree.find_all(exp.Cast)):
        if not isinstance(cast, exp.TryCast) and cast.to.this in exp.DataType.NUMERIC_TYPES:
            cast.replace(exp.TryCast(this=cast.this, to=cast.to, safe=True))
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.upper() in _NAMES_OF_NANOS and len(call.expressions) == 1:
            call.replace(call.expressions[0])
    if dialect is SPARK:
        _count_on_spark(tree)
    if not ordered and not tree.args.get("limit"):
        tree.set("order", None)
    return _written(tree, dialect, sampling or Sampling(), of_partitions=True)


def sampled(query: str, engine: str = "duckdb", seed: int = 0) -> str:
    """A query over any tables, with its samples drawn by the engine; without any, the text as it is.

    Ids are unique by themselves here, as `tp_id` is: no partition has to be named.
    """
    if SAMPLER not in query.lower():
        return query
    return _written(_parsed(query), DIALECTS[engine], Sampling(seed), of_partitions=False)


def _written(tree: exp.Query, dialect: Dialect, sampling: Sampling, *, of_partitions: bool) -> str:
    texts = dict(_sampled(tree, dialect, sampling, of_partitions))
    text = tree.sql(dialect.name, comments=False)
    # What a call samples from may hold another call.
    while _TOKENS.search(text):
        text = _TOKENS.sub(lambda found: texts[found[0]], text)
    return text


class Prepared:
    """A query that is rewritten once and then filled in for many windows."""

    def __init__(self, query: str, engine: str, sample_size: int, sampling: Sampling) -> None:
        # Numbers that stand for the window's, and that the query does not hold itself.
        free = (number for number in range(2**62, 2**63) if str(number) not in query)
        self._start, self._end = next(free), next(free)
        self._seed, self._dialect = sampling.seed, DIALECTS[engine]
        self._later = known_salts(self._seed, (LATER,), self._dialect)
        values = window_values(self._start, self._end, sample_size)
        self._text = rewritten(query, engine, values, replace(sampling, parts=(LATER,)))

    def unbound(self) -> str:
        """For no window yet."""
        return self._text.replace(str(self._start), UNKNOWN).replace(str(self._end), UNKNOWN)

    def text(self, start: int, end: int, parts: Iterable[str] = ()) -> str:
        """For one window; `parts` are its partitions."""
        text = self._text.replace(str(self._start), str(start)).replace(str(self._end), str(end))
        known = known_salts(self._seed, parts, self._dialect) if self._later in text else ""
        return text.replace(self._later, known or self._later)


def _parsed(query: str) -> exp.Query:
    try:
        found = [tree for tree in sqlglot.parse(query, dialect="duckdb") if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        told = _told_by_duckdb(query) or one_line(error)
        raise QueryError(told, code="query.syntax", hint="a window's query is one SELECT") from None
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        raise QueryError("a window's query is one SELECT", code="query.not-a-select", hint="write one SELECT")
    return found[0]


def _told_by_duckdb(query: str) -> str | None:
    """What is wrong with it in DuckDB's words, which show the place."""
    try:
        duckdb.extract_statements(query)
    except duckdb.Error as error:
        return str(error).strip()
    return None


def _fill_marks(tree: exp.Query, values: Mapping[str, int]) -> None:
    # Depth first is the order of the text.
    marks = [node for node in tree.dfs() if isinstance(node, exp.Placeholder) and node.this is None]
    if not marks:
        return
    if len(marks) != 2:
        message = f"two bare ? are the window's start and end; there are {len(marks)}"
        raise QueryError(message, code="query.placeholder", hint="write {window_start_ns} and {window_end_ns}")
    places = ("window_start_ns", "window_end_ns")
    for mark, name in zip(marks, places, strict=True):
        mark.replace(exp.Literal.number(values[name]))


def _count_on_spark(tree: exp.Query) -> None:
    """`FROM range(3) AS a`: Spark's table of numbers ends before its end, and calls its column `id`.

    DuckDB calls it `a`, and `range` where that is asked for.
    """
    for made in list(tree.find_all(exp.GenerateSeries)):
        table = made.parent
        if not isinstance(table, exp.Table):
            continue
        name = "range" if made.args.get("is_end_exclusive") else "generate_series"
        start, end, step = made.args["start"], made.args["end"], made.args.get("step") or exp.Literal.number(1)
        if name != "range":
            end = exp.cast(exp.Add(this=end, expression=exp.Sign(this=exp.paren(step))), "BIGINT")
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name))
        if not alias.columns:
            _rename_numbers(table.find_ancestor(exp.Select), name, alias.name)
        numbers = exp.Table(this=exp.Anonymous(this="range", expressions=[start, end, step]))
        rows = exp.select(exp.alias_("id", alias.name, quoted=True)).from_(numbers)
        table.replace(exp.Subquery(this=rows, alias=alias))


def _rename_numbers(select: exp.Expression | None, name: str, alias: str) -> None:
    for column in list(select.find_all(exp.Column)) if select else ():
        if column.name.lower() == name and column.table.lower() in ("", alias.lower()):
            named = exp.column(alias, column.table or None, quoted=True)
            column.replace(exp.alias_(named, column.name, quoted=True) if column.parent is select else named)


def _sampled(tree: exp.Query, dialect: Dialect, sampling: Sampling, of_partitions: bool) -> Iterator[tuple[str, str]]:
    """Puts a name in place of every call, and gives what is to stand there.

    sqlglot would drop the third argument of `min_by`; hence text, once the rest is written.
    """
    found = [call for call in tree.find_all(exp.Anonymous) if call.name.lower() == SAMPLER]
    for number, node in enumerate(reversed(found)):
        select = node.find_ancestor(exp.Select)
        if select is None or select.args.get("joins") or select.args.get("from_") is None:
            message = f"{SAMPLER} samples from one table or WITH"
            raise _refused(message, "put the join into a WITH, and sample from that")
        window = node.parent if isinstance(node.parent, exp.Window) else None
        call = _call(number, node, select, window, dialect)
        if dialect is SPARK and window is None and (names := _grouped(select, node)):
            call = replace(call, groups=tuple(_text(name, dialect) for name in names))
            yield from _group_by_numbers(select, names, call)
        if call.part_id is None and of_partitions:
            raise _refused(f"{SAMPLER} has to know {PART_ID}: ids are unique within it only", f"write {_HINT}")
        source, widened_source = select.args["from_"].this, _TOKEN.format(f"{number}_input")
        rows = exp.select("*").from_(source)
        rows.set("where", select.args.pop("where", None))
        select.set("from_", exp.From(this=exp.to_table(widened_source)))
        yield widened_source, widened(_text(rows, dialect), source.alias_or_name, call, sampling, dialect)
        token = _TOKEN.format(number)
        (window or node).replace(exp.column(token))
        yield token, aggregate(call, dialect, _over(window, dialect))


def _call(number: int, node: exp.Anonymous, select: exp.Select, window: exp.Window | None, dialect: Dialect) -> Call:
    if len(node.expressions) != 2 or not isinstance(node.expressions[0], exp.Struct):
        raise _refused(f"{SAMPLER} takes a STRUCT and a number", f"write {_HINT}")
    struct, size = node.expressions
    members = struct.expressions
    if len(members) < 2 or not isinstance(size, exp.Literal) or not size.this.isdigit():
        raise _refused(f"{SAMPLER} takes STRUCT(id, weight) and a number that is written out", f"write {_HINT}")
    if not 1 <= int(size.this) <= LARGEST:
        raise _refused(f"{SAMPLER} draws between 1 and {LARGEST} rows, not {size.this}", f"write {_HINT}")
    fields = tuple((_name(member, place), _text(_value(member), dialect)) for place, member in enumerate(members[:-1]))
    groups = window.args.get("partition_by") if window else getattr(select.args.get("group"), "expressions", [])
    part = next((text for name, text in fields if name == PART_ID), None)
    part = part or next((_text(g, dialect) for g in groups or [] if _name(g, 0) == PART_ID), None)
    return Call(number, fields, _text(_value(members[-1]), dialect), part, int(size.this))


def _grouped(select: exp.Select, sampler: exp.Expression) -> list[exp.Column]:
    """Columns of GROUP BY, where the query needs no more of them than that their values come out; none elsewhere."""
    group = select.args.get("group")
    names = list(group.expressions) if group else []
    odd = [name for name in ("having", "distinct", "qualify", "sort", "cluster", "windows") if select.args.get(name)]
    if odd or not all(isinstance(name, exp.Column) for name in names):
        return []
    if group and any(given for kind, given in group.args.items() if kind != "expressions"):
        return []
    own = {id(column) for column in sampler.find_all(exp.Column)}
    for one in select.expressions:
        if one.unalias() in names:
            continue
        for column in one.find_all(exp.Column):
            if id(column) not in own and column.find_ancestor(exp.AggFunc) is None:
                return []
    told = {one.alias_or_name for one in select.expressions}
    order = select.args.get("order")
    plain = (
        all(isinstance(key.this, exp.Column) and key.this.name in told for key in order.expressions) if order else True
    )
    return names if plain else []


def _group_by_numbers(select: exp.Select, names: list[exp.Column], call: Call) -> Iterator[tuple[str, str]]:
    for one in select.expressions:
        if (column := one.unalias()) in names:
            place = names.index(column)
            token = _TOKEN.format(f"{call.number}_group_{place}")
            one.replace(exp.alias_(exp.column(token), one.alias_or_name, quoted=True))
            yield token, group_value(call, place)
    select.args["group"].set("expressions", [exp.column(number) for number in call.numbers])


def _over(window: exp.Window | None, dialect: Dialect) -> str:
    if window is None:
        return ""
    groups = ", ".join(_text(node, dialect) for node in window.args.get("partition_by") or [])
    return f" OVER (PARTITION BY {groups})"


def _name(member: exp.Expression, place: int) -> str:
    return member.alias_or_name or ("id" if place == 0 else f"col{place + 1}")


def _value(member: exp.Expression) -> exp.Expression:
    if isinstance(member, exp.PropertyEQ):
        inner: exp.Expression = member.expression
        return inner
    return member.this if isinstance(member, exp.Alias) else member


def _text(node: exp.Expression, dialect: Dialect) -> str:
    return node.sql(dialect.name)


def _refused(message: str, hint: str) -> QueryError:
    return QueryError(message, code="query.sampler", hint=hint)
