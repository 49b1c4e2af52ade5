"""Texts and patterns."""

from __future__ import annotations

import re

from sqlglot import exp

from tailrace.query.spark.building import (
    LISTS,
    NESTED,
    REALS,
    Expression,
    Rule,
    call,
    cast,
    kind_of,
    number,
    text,
    whole,
    written,
)
from tailrace.query.spark.refusal import refused

_NO_ESCAPE = "\x01"
"A sign that stands in no pattern: Spark has to be told that `\\` is none."
_FLAGS = {"i": "(?i)", "s": "(?s)", "m": "(?m)", "c": "", "l": "", "n": "", "p": "", "g": ""}
_GROUP = re.compile(r"\\(\d)")
REAL_TEXT = "tailrace_real_text"
"A real number as DuckDB writes it."


def as_text(node: Expression) -> Expression:
    """What DuckDB writes for a value."""
    kind = kind_of(node)
    if kind in NESTED:
        raise refused("lists and structs as texts")
    if kind in REALS:
        return call(REAL_TEXT, node)
    plain = cast(node, "string")
    return call("CONCAT", plain, text("+00")) if kind == exp.DType.TIMESTAMPTZ else plain


def appended(node: Expression) -> Expression:
    """`a || b`, of lists too."""
    kinds = {kind_of(side) for side in (node.this, node.expression)}
    if kinds.isdisjoint({*REALS, exp.DType.TIMESTAMPTZ}):
        return node
    return call("CONCAT", as_text(node.this), as_text(node.expression))


def joined_by(node: Expression) -> Expression:
    """`concat_ws`."""
    separator, *values = node.expressions
    return call("CONCAT_WS", separator, *map(as_text, values))


def like(node: Expression) -> Expression:
    """A backslash in a pattern means itself, unless somebody says otherwise."""
    if isinstance(node.parent, exp.Escape):
        return node
    pattern = written(node.expression)
    if pattern is not None and "\\" not in pattern:
        return node
    return exp.Escape(this=node.copy(), expression=text(_NO_ESCAPE))


def matches(node: Expression) -> Expression:
    flags = node.args.get("flag")
    return call("REGEXP_LIKE", node.this, _flagged(node.expression, flags))


def fully_matches(node: Expression) -> Expression:
    whole_of = call("CONCAT", text("^(?:"), _flagged(node.args["expression"], node.args.get("options")), text(")$"))
    return call("REGEXP_LIKE", node.this, whole_of)


def _flagged(pattern: Expression, flags: Expression | None) -> Expression:
    if flags is None:
        return pattern
    given = written(flags)
    if given is None or set(given) - set(_FLAGS):
        raise refused("options of a pattern that are not i, s, m or g")
    sign = "".join(_FLAGS[flag] for flag in given)
    return call("CONCAT", text(sign), pattern) if sign else pattern


def extracted(node: Expression) -> Expression:
    """All of the match, where no group is asked for."""
    return call("REGEXP_EXTRACT", node.this, node.expression, node.args.get("group") or number(0))


def replaced(node: Expression) -> Expression:
    """The first match, or with `g` all; groups are `$1` to Spark."""
    flags = written(node.args.get("modifiers")) or ""
    by, pattern = written(node.args["replacement"]), written(node.expression)
    if by is None or pattern is None:
        raise refused("regexp_replace with a pattern that is computed")
    by = by.replace("\\\\", "\0").replace("$", "\\$")
    sign = "".join(_FLAGS.get(flag, "") for flag in flags)
    if "g" in flags:
        by = _GROUP.sub(r"$\1", by).replace("\0", "\\\\")
        return call("REGEXP_REPLACE", node.this, text(sign + pattern), text(by))
    shifted = _GROUP.sub(lambda found: f"${int(found[1]) + 1}" if found[1] != "0" else "$2", by).replace("\0", "\\\\")
    first = f"{sign}^((?s:.*?))(?:{pattern})"
    if "$2" in shifted and "\\0" in by:
        raise refused("regexp_replace with \\0")
    return call("REGEXP_REPLACE", node.this, text(first), text(f"$1{shifted}"))


def length(node: Expression) -> Expression:
    return call("ARRAY_SIZE", node.this) if kind_of(node.this) in LISTS else node


def contains(node: Expression) -> Expression:
    return call("ARRAY_CONTAINS", node.this, node.expression) if kind_of(node.this) in LISTS else node


def prefix(node: Expression) -> Expression:
    return call("STARTSWITH", *node.expressions)


def suffix(node: Expression) -> Expression:
    return call("ENDSWITH", *node.expressions)


def side(node: Expression) -> Expression:
    """`left`, `right`: counted from the other end below zero, which Spark does not."""
    count = whole(node.expression)
    if count is None or count < 0:
        raise refused(f"{node.key} with a number of characters that is computed or below zero")
    return node


def part(node: Expression) -> Expression:
    """Characters are counted from one; what is before the first takes of the length."""
    if whole(node.args.get("start")) == 0:
        raise refused("parts of texts from character 0")
    return node


def split(node: Expression) -> Expression:
    """At a text, not at a pattern."""
    given = written(node.expression)
    quoted = text(re.sub(r"([^\w\s])", r"\\\1", given)) if given is not None else None
    return call("SPLIT", node.this, quoted or call("CONCAT", text("\\Q"), node.expression, text("\\E")))


def joined(node: Expression) -> Expression:
    """`string_agg`: texts, with a comma between them if nothing is said."""
    ordered = node.this if isinstance(node.this, exp.Order) else None
    inner = ordered.this if ordered is not None else node.this
    values = inner.expressions[0] if isinstance(inner, exp.Distinct) else inner
    word = values if kind_of(values) in exp.DataType.TEXT_TYPES else as_text(values)
    if isinstance(inner, exp.Distinct):
        inner.set("expressions", [word.copy()])
        if ordered is not None and len(ordered.expressions) == 1:
            # Spark orders what is distinct by itself only.
            ordered.expressions[0].set("this", word.copy())
    elif ordered is not None:
        ordered.set("this", word.copy())
    else:
        node.set("this", word.copy())
    node.set("separator", node.args.get("separator") or text(","))
    return node


def concatenated(node: Expression) -> Expression:
    """`concat` leaves nulls out."""
    given = map(as_text, node.expressions)
    return call("CONCAT", *(call("COALESCE", value, text("")) for value in given))


def sign(node: Expression) -> Expression:
    """`chr`: Spark has the first 256 signs, and begins anew behind them."""
    code = whole(node.expressions[0])
    if code is None or code not in range(1, 256):
        raise refused("chr of a number that is computed or above 255")
    return node


def distance(node: Expression) -> Expression:
    """DuckDB counts bytes."""
    return call("TAILRACE_LEVENSHTEIN", node.this, node.expression)


RULES: dict[type[Expression], Rule] = {
    exp.Chr: sign,
    exp.Levenshtein: distance,
    exp.Like: like,
    exp.ILike: like,
    exp.RegexpLike: matches,
    exp.RegexpFullMatch: fully_matches,
    exp.RegexpExtract: extracted,
    exp.RegexpReplace: replaced,
    exp.Left: side,
    exp.Right: side,
    exp.Substring: part,
    exp.Length: length,
    exp.Contains: contains,
    exp.Split: split,
    exp.GroupConcat: joined,
    exp.Concat: concatenated,
    exp.ConcatWs: joined_by,
    exp.DPipe: appended,
}
FUNCTIONS: dict[str, Rule] = {"prefix": prefix, "suffix": suffix}
