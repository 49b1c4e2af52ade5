"""Times as numbers since 1970, and back."""

from __future__ import annotations

from sqlglot import exp

from tailrace.query.spark.building import NUMBERS, Expression, Rule, call, kind_of, number, plain_time, timestamp, whole


def from_epoch(node: Expression) -> Expression:
    """`to_timestamp(s)`, `make_timestamp(us)`, and `epoch_ms` of a number; of a time it is the other way round."""
    scale = whole(node.args.get("scale"))
    if scale is None:
        return call("TIMESTAMP_SECONDS", node.this)
    if scale == 6:
        return plain_time(call("TIMESTAMP_MICROS", node.this))
    if kind_of(node.this) in NUMBERS:
        return plain_time(call("TIMESTAMP_MILLIS", node.this))
    rounded = call("ROUND", call("UNIX_MICROS", timestamp(node.this)), exp.Neg(this=number(3)))
    return exp.Paren(this=exp.IntDiv(this=rounded, expression=number(1000)))


def seconds(node: Expression) -> Expression:
    """`epoch(ts)`."""
    return seconds_of(node.this if not isinstance(node, exp.Anonymous) else node.expressions[0])


def seconds_of(time: Expression) -> Expression:
    return exp.Div(this=call("UNIX_MICROS", timestamp(time)), expression=number("1000000D"))


def microseconds(node: Expression) -> Expression:
    return call("UNIX_MICROS", timestamp(node.expressions[0]))


def nanoseconds(node: Expression) -> Expression:
    return exp.Mul(this=microseconds(node), expression=number(1000))


RULES: dict[type[Expression], Rule] = {exp.UnixToTime: from_epoch, exp.TimeToUnix: seconds}
FUNCTIONS: dict[str, Rule] = {"epoch_us": microseconds, "epoch_ns": nanoseconds}
