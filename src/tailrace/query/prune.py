"""Which files a query can need: conditions and wildcards, held against the Delta log's statistics."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import isinf
from typing import Any

from tailrace.core.wildcards import fits, fits_exactly
from tailrace.lake.listing import BOOLEAN, DATE, DECIMAL, EPOCH, INTEGER, REAL, REAL32, TEXT, TIME, Files
from tailrace.query.conditions import Condition

_BY_DIRECTORY = ("tp_partition", "tp_index", "tp_date")
"Columns of which all rows of a file have one value."
_START = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def surviving(files: Files, scans: Sequence[Sequence[Condition]]) -> Files:
    """The files that at least one scan may need."""
    if any(not scan for scan in scans):
        return files
    kept: set[int] = set()
    for scan in scans:
        kept.update(_needed(files, scan))
    return files if len(kept) == files.num_rows else files.take(sorted(kept))


def matching(files: Files, column: str, patterns: Sequence[str], folded: bool = False) -> Files:
    """Files whose value any wildcard fits."""
    if "*" in patterns:
        return files
    values = list(files.column(column))
    fit = fits if folded else fits_exactly
    kept = {value for value in set(values) if any(fit(value, pattern) for pattern in patterns)}
    return files.take([place for place, value in enumerate(values) if value in kept])


def _needed(files: Files, scan: Sequence[Condition]) -> Sequence[int]:
    """Places of files that may hold a row for which all conditions are true."""
    places: Sequence[int] = range(files.num_rows)
    for condition in (*(each for each in scan if each.column in _BY_DIRECTORY), *_days_of(scan)):
        places = _left(files, places, condition)
    others = [condition for condition in scan if condition.column not in _BY_DIRECTORY]
    if not others:
        return places
    # What is known of the rows may have to be unpacked: only of files that are left.
    left = files if isinstance(places, range) else files.take(places)
    among: Sequence[int] = range(left.num_rows)
    for condition in others:
        among = _left(left, among, condition)
    return [places[number] for number in among]


def _days_of(scan: Sequence[Condition]) -> Iterator[Condition]:
    """What conditions on the time of a row say of its day, which is the day of that time."""
    for condition in scan:
        times = [value for value in condition.values if isinstance(value, datetime)]
        if condition.column == "tp_timestamp" and len(times) == len(condition.values):
            operator = {">": ">=", "<": "<="}.get(condition.operator, condition.operator)
            yield Condition("tp_date", operator, tuple(time.date() for time in times))


def _left(files: Files, places: Sequence[int], condition: Condition) -> Sequence[int]:
    """A file without statistics always may."""
    name = condition.column
    least, greatest = (name, name) if name in _BY_DIRECTORY else (f"min.{name}", f"max.{name}")
    kind = files.kind(least)
    if kind is None or kind != files.kind(greatest):
        return places
    try:
        values = sorted(_comparable(value, kind) for value in condition.values)
    except (ValueError, TypeError, OverflowError):
        return places
    low, high = files.column(least), files.column(greatest)
    if condition.operator == "=":
        return [place for place in places if _is_any_within(values, low[place], high[place])]
    # Bounds of long texts are rounded, but outwards: what holds for the value holds for them, `<` and `>` too.
    value = values[0]
    match condition.operator:
        case ">":
            return [place for place in places if (bound := high[place]) is None or bound > value]
        case ">=":
            return [place for place in places if (bound := high[place]) is None or bound >= value]
        case "<":
            return [place for place in places if (bound := low[place]) is None or bound < value]
        case "<=":
            return [place for place in places if (bound := low[place]) is None or bound <= value]
    return places


def _is_any_within(values: Sequence[Any], low: Any, high: Any) -> bool:
    """Does one of these values, which are in order, lie between the bounds? None bounds nothing."""
    first = 0 if low is None else bisect_left(values, low)
    return first < len(values) and (high is None or bool(values[first] <= high))


def _comparable(value: Any, kind: str) -> Any:
    """A value as those of a column are held; ValueError where it is of another kind."""
    convert = _CONVERTED.get((type(value), kind))
    if convert is None:
        raise ValueError(f"{type(value).__name__} is not compared with {kind}")
    return convert(value)


def _real(value: int | Decimal) -> float:
    """The number that the text means; not every large one is a real number."""
    found = float(value)
    if isinf(found) or (isinstance(value, int) and int(found) != value):
        raise ValueError(f"{value} is no real number")
    return found


def _real32(value: int | Decimal) -> float:
    """As a column of half the size holds it."""
    from struct import pack, unpack

    (found,) = unpack("f", pack("f", _real(value)))
    return float(found)


def _same(value: Any) -> Any:
    return value


_CONVERTED: Mapping[tuple[type, str], Callable[[Any], Any]] = {
    (str, TEXT): _same,
    (bool, BOOLEAN): _same,
    (int, INTEGER): _same,
    (Decimal, INTEGER): _same,
    (int, DECIMAL): _same,
    (Decimal, DECIMAL): _same,
    (int, REAL): _real,
    (Decimal, REAL): _real,
    (int, REAL32): _real32,
    (Decimal, REAL32): _real32,
    (date, DATE): lambda day: day.toordinal() - EPOCH,
    (datetime, TIME): lambda time: (time - _START) // _MICROSECOND,
}
