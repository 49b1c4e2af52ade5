"""Times: those of the lake are UTC without zone, and Spark's functions give times with one."""

from __future__ import annotations

import re

from sqlglot import exp

from tailrace.query.spark.building import (
    DATES,
    TIMES,
    Expression,
    Rule,
    call,
    cast,
    kind_of,
    number,
    plain_time,
    text,
    timestamp,
    whole,
    written,
)
from tailrace.query.spark.epochs import seconds_of
from tailrace.query.spark.refusal import refused

_PATTERNS = {
    "Y": "yyyy", "y": "yy", "m": "MM", "-m": "M", "B": "MMMM", "b": "MMM", "d": "dd", "-d": "d", "H": "HH", "-H": "H",
    "I": "hh", "-I": "h", "M": "mm", "-M": "m", "S": "ss", "-S": "s", "p": "a", "f": "SSSSSS", "g": "SSS", "j": "DDD",
    "-j": "D", "A": "EEEE", "a": "EEE", "%": "%",
}  # fmt: skip
_SIGN = re.compile(r"%(-?[A-Za-z]|%)|([^%]+)")
_MICROSECONDS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
_UNITS = {
    **{unit: unit for unit in (*_MICROSECONDS, "MONTH", "QUARTER", "YEAR")},
    "US": "MICROSECOND", "USEC": "MICROSECOND", "MS": "MILLISECOND", "MSEC": "MILLISECOND", "S": "SECOND",
    "SEC": "SECOND", "M": "MINUTE", "MIN": "MINUTE", "H": "HOUR", "HR": "HOUR", "D": "DAY", "W": "WEEK",
    "MON": "MONTH", "Y": "YEAR", "YR": "YEAR",
}  # fmt: skip
"Words for spans that both know; of others Spark makes null."
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200}
_MONDAY = 946_857_600_000_000
"Microseconds up to 2000-01-03, from which DuckDB counts buckets."


def pattern_of(asked: str) -> str:
    """`%Y-%m` → `yyyy-MM`; what is no sign is quoted."""
    parts, end = [], 0
    for found in _SIGN.finditer(asked):
        if found.start() != end:
            break
        end = found.end()
        if found[2] is not None:
            parts.append(_plain(found[2]))
        elif found[1] in _PATTERNS:
            parts.append(_PATTERNS[found[1]])
        else:
            raise refused(f"there is no '%{found[1]}' in patterns of times")
    if end != len(asked):
        raise refused(f"the pattern '{asked}' is not understood")
    return "".join(parts)


def _plain(word: str) -> str:
    return "'" + word.replace("'", "''") + "'" if re.search(r"[A-Za-z'#\[\]{}]", word) else word


def to_text(node: Expression) -> Expression:
    asked = written(node.args["format"])
    if asked is None:
        raise refused("strftime with a pattern that is computed")
    return call("DATE_FORMAT", node.this, text(pattern_of(asked)))


def from_text(node: Expression) -> Expression:
    """`strptime`, and `try_strptime`, which gives null where it fails: DuckDB's, for Spark wants every digit."""
    is_tried = isinstance(node, exp.Anonymous)
    value, pattern = node.expressions if is_tried else (node.this, node.args["format"])
    asked = written(pattern)
    if asked is None:
        raise refused("strptime with a pattern that is computed")
    if found := re.search("%[zZn]", asked):
        raise refused(f"there is no '{found[0]}' in patterns of times")
    return plain_time(call("TAILRACE_TRY_STRPTIME" if is_tried else "TAILRACE_STRPTIME", value, text(asked)))


def now(node: Expression) -> Expression:
    return call("LOCALTIMESTAMP")


def _unit(node: Expression) -> str:
    word = node.text("unit").upper()
    found = _UNITS.get(word) or _UNITS.get(word.removesuffix("S"))
    if found is None:
        raise refused(f"{node.key} with '{word.lower()}'")
    return found


def truncated(node: Expression) -> Expression:
    return plain_time(call("DATE_TRUNC", text(_unit(node)), node.this))


def bucket(node: Expression) -> Expression:
    """`time_bucket`: counted from a Monday, or in months from the first of 2000."""
    if any(node.args.get(name) is not None for name in ("unit", "zone", "origin")):
        raise refused("time_bucket with an origin")
    count, unit = _span(node.this)
    value = node.expression
    if unit in _MONTHS:
        found = _month_bucket(value, count * _MONTHS[unit])
    else:
        micros = call("UNIX_MICROS", timestamp(value))
        past = call("PMOD", exp.Sub(this=micros, expression=number(_MONDAY)), number(count * _MICROSECONDS[unit]))
        found = call("TIMESTAMP_MICROS", exp.Sub(this=micros.copy(), expression=past))
    return cast(found, "date") if kind_of(value) in DATES else plain_time(found)


def _month_bucket(value: Expression, months: int) -> Expression:
    years = exp.Paren(this=exp.Sub(this=call("YEAR", value), expression=number(2000)))
    since = exp.Add(this=exp.Mul(this=years, expression=number(12)), expression=call("MONTH", value))
    elapsed = exp.Paren(this=exp.Sub(this=since, expression=number(1)))
    whole_ones = exp.Sub(this=elapsed, expression=call("PMOD", elapsed, number(months)))
    return call("ADD_MONTHS", cast(text("2000-01-01"), "date"), whole_ones)


def _span(node: Expression) -> tuple[int, str]:
    """`interval '5 minutes'` → 5, MINUTE."""
    count = node.this.name if isinstance(node, exp.Interval) and isinstance(node.this, exp.Literal) else ""
    unit = node.text("unit").upper().removesuffix("S")
    if not count.isdecimal() or not int(count) or unit not in _MICROSECONDS | _MONTHS:
        raise refused("time_bucket needs a span that is written down, such as interval '5 minutes'")
    return int(count), unit


def interval(node: Expression) -> Expression:
    """One that is computed is made by a function."""
    if isinstance(node.this, exp.Literal):
        return node
    return _made(node.text("unit").upper().removesuffix("S"), node.this)


def _made(unit: str, count: Expression) -> Expression:
    places = ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    if unit not in places:
        raise refused(f"spans in {unit.lower()}s that are computed")
    zeros = [number(0) for _ in range(places.index(unit))]
    return call("MAKE_INTERVAL", *zeros, count)


def to_span(node: Expression) -> Expression:
    """`to_hours(3)`."""
    name = node.key if not isinstance(node, exp.Anonymous) else str(node.this)
    unit = name.lower().replace("to_", "").replace("to", "").upper().removesuffix("S")
    return _made(unit, node.this if not isinstance(node, exp.Anonymous) else node.expressions[0])


def difference(node: Expression) -> Expression:
    """`date_diff` counts the borders between two times, not whole spans."""
    unit = _unit(node)
    if unit == "WEEK":  # whole ones since DuckDB 2.0
        raise refused("date_diff in weeks")
    first, last = (call("DATE_TRUNC", text(unit), value) for value in (node.expression, node.this))
    return call("TIMESTAMPDIFF", exp.Var(this=unit), first, last)


def part(node: Expression) -> Expression:
    """`extract(x from ts)`, `date_part('x', ts)`."""
    if isinstance(node, exp.Extract):
        name, value = node.name, node.expression
    else:
        name, value = written(node.expressions[0]) or "", node.expressions[1]
    return _part(name.lower(), value)


def _part(name: str, value: Expression) -> Expression:
    if name in ("dow", "dayofweek", "weekday"):
        return exp.Paren(this=exp.Sub(this=call("DAYOFWEEK", value), expression=number(1)))
    if name == "epoch":
        return seconds_of(value)
    if name in ("second", "seconds"):
        return call("SECOND", value)
    names = {"isodow": "DAYOFWEEK_ISO", "doy": "DOY", "dayofyear": "DOY", "week": "WEEK", "isoyear": "YEAROFWEEK"}
    plain = ("year", "quarter", "month", "day", "hour", "minute")
    known = names.get(name) or (name.upper().removesuffix("S") if name.removesuffix("s") in plain else None)
    if known is None:
        raise refused(f"there is no '{name}' of a time")
    return cast(exp.Extract(this=exp.Var(this=known), expression=value.copy()), "bigint")


def elsewhere(node: Expression) -> Expression:
    """A time without zone is one of that zone; one with a zone is told as clocks there show it."""
    kind = kind_of(node.this)
    if kind == exp.DType.TIMESTAMPTZ:
        return plain_time(call("FROM_UTC_TIMESTAMP", node.this, node.args["zone"]))
    if kind not in TIMES | DATES:
        raise refused("a time zone of what may be no time")
    return call("TO_UTC_TIMESTAMP", timestamp(node.this), node.args["zone"])


def day_of_week(node: Expression) -> Expression:
    return _part("dow", node.this if not isinstance(node, exp.Anonymous) else node.expressions[0])


def iso_day_of_week(node: Expression) -> Expression:
    return _part("isodow", node.this)


def week(node: Expression) -> Expression:
    return _part("week", node.this)


def day_name(node: Expression) -> Expression:
    return call("DATE_FORMAT", node.this, text("EEEE"))


def month_name(node: Expression) -> Expression:
    return call("DATE_FORMAT", node.this, text("MMMM"))


def add(node: Expression) -> Expression:
    """A date and a span are a time."""
    for side in ("this", "expression"):
        other = node.args["expression" if side == "this" else "this"]
        if kind_of(node.args[side]) in DATES and _is_span(other):
            node.set(side, plain_time(node.args[side]))
    return node


def subtract(node: Expression) -> Expression:
    """Days between two dates; a time before another one by a span."""
    if kind_of(node.this) in DATES and kind_of(node.expression) in DATES:
        return call("DATEDIFF", node.this, node.expression)
    if kind_of(node.this) in DATES and _is_span(node.expression):
        node.set("this", plain_time(node.this))
    return node


def _is_span(node: Expression) -> bool:
    return isinstance(node, exp.Interval) or kind_of(node) == exp.DType.INTERVAL or node.name == "MAKE_INTERVAL"


def _added(node: Expression) -> Expression:
    """`date_add(ts, interval 1 day)`."""
    if whole(node.expression) is not None or not _is_span(node.expression):
        raise refused("date_add without an interval")
    start = plain_time(node.this) if kind_of(node.this) in DATES else node.this
    return exp.Paren(this=exp.Add(this=start.copy(), expression=node.expression.copy()))


RULES: dict[type[Expression], Rule] = {
    exp.TimeToStr: to_text,
    exp.StrToTime: from_text,
    exp.CurrentTimestamp: now,
    exp.TimestampTrunc: truncated,
    exp.DateTrunc: truncated,
    exp.DateBin: bucket,
    exp.Interval: interval,
    exp.DateDiff: difference,
    exp.Extract: part,
    exp.AtTimeZone: elsewhere,
    exp.DayOfWeek: day_of_week,
    exp.DayOfWeekIso: iso_day_of_week,
    exp.Week: week,
    exp.WeekOfYear: week,
    exp.Dayname: day_name,
    exp.Monthname: month_name,
    exp.Add: add,
    exp.Sub: subtract,
    exp.DateAdd: _added,
    exp.ToDays: to_span,
}
FUNCTIONS: dict[str, Rule] = {
    "now": now,
    "get_current_timestamp": now,
    "current_localtimestamp": now,
    "try_strptime": from_text,
    "date_part": part,
    "datepart": part,
    "weekday": day_of_week,
    **dict.fromkeys(("to_hours", "to_minutes", "to_seconds", "to_weeks", "to_months", "to_years"), to_span),
}
