"""Times as logs write them → `timestamp[us]` in UTC, null where a value is none."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.clf_times import PATTERN, clf_times, clf_times_by_day
from tailrace.formats.duck import answers
from tailrace.formats.iso_times import STORED, iso_times

_PER_SECOND = {"epoch_s": 1, "epoch_ms": 1_000, "epoch_us": 1_000_000, "epoch_ns": 1_000_000_000}
_MAGNITUDES = ((3e11, 1_000), (3e14, 1_000_000), (3e17, 1_000_000_000))
"Above so much a count is of a smaller unit; how many of it make a second."
_DIGITS = 18
_FIRST = -62_135_596_800_000_000  # 0001-01-01
_LAST = 253_402_300_799_999_999  # 9999-12-31 23:59:59.999999
_WORDS = pa.array(["infinity", "-infinity", "epoch"])  # times for DuckDB, not for a log
_LEAP_SECOND = r"([0-9]{2}:[0-9]{2}):60([^:0-9]|$)"
_COMMA = r"(:[0-9]{2}),([0-9]+)"
_COMPACT = r"^([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})(\.[0-9]+)?(Z|[+-][0-9]{2}:?[0-9]{2})?$"
_OFFSET = r"^([^ ]+[T ][^ ]+) (Z|[+-][0-9]{2}:?[0-9]{2})( [A-Z]{1,5}| [+-][0-9]{2,4})?$"


def parse_times(values: pa.Array, spelled: str | None) -> pa.Array:
    """Texts or numbers → UTC times. `spelled` is None for ISO 8601, `epoch…`, or a strptime pattern."""
    if pa.types.is_dictionary(values.type):
        return parse_times(values.dictionary, spelled).take(values.indices)
    if values.null_count == len(values):
        return pa.nulls(len(values), STORED)
    if pa.types.is_timestamp(values.type):
        return _within(values.cast(STORED))
    if spelled is not None and spelled.startswith("epoch"):
        return _within(_epochs(values, spelled))
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        if not pa.types.is_binary(values.type):
            return pa.nulls(len(values), STORED)  # a bare number is no time unless its unit is declared
        values = _readable(values)
    return _within(_parsed(values, spelled))


def _parsed(values: pa.Array, spelled: str | None) -> pa.Array:
    """By Arrow and numpy what they read, the rest by DuckDB."""
    if spelled not in (None, PATTERN):
        return _distinct(values, spelled)
    found = iso_times(values) if spelled is None else clf_times_by_day(values)
    return _distinct(values, spelled) if found is None else _completed(values, spelled, *found)


def _distinct(values: pa.Array, spelled: str | None) -> pa.Array:
    """Each distinct text once: lines of a busy second share theirs."""
    coded = values.dictionary_encode()
    repeat = len(coded.dictionary) * 2 <= len(values)
    texts = coded.dictionary if repeat else values
    found = clf_times(texts) if spelled == PATTERN else None
    times = _slowly_parsed(texts, spelled) if found is None else _completed(texts, spelled, *found)
    return times.take(coded.indices) if repeat else times


def _completed(values: pa.Array, spelled: str | None, times: pa.Array, right: npt.NDArray[np.bool_]) -> pa.Array:
    """The times that are right, and what DuckDB makes of the other texts."""
    if right.all():
        return times
    odd = pa.array(~right)
    return pc.replace_with_mask(times, odd, _slowly_parsed(values.filter(odd), spelled))


def _slowly_parsed(values: pa.Array, spelled: str | None) -> pa.Array:
    times = _duck(values, spelled)
    failed = pc.and_(pc.is_null(times), pc.is_valid(values))
    if pc.any(failed).as_py():
        second = pc.replace_substring_regex(values.filter(failed), _LEAP_SECOND, r"\1:59\2")
        if spelled is None:
            second = _usual(second)
        times = pc.replace_with_mask(times, failed, _duck(second, spelled))
    if spelled is None:
        times = pc.if_else(pc.is_in(pc.ascii_lower(pc.utf8_trim_whitespace(values)), _WORDS), None, times)
    return times


def _usual(texts: pa.Array) -> pa.Array:
    """Near to ISO 8601: a comma before the fraction (Python, log4j), a small t and z, nothing between the digits, or
    the offset apart (Ruby), perhaps with the name of the zone (Go)."""
    texts = pc.ascii_upper(pc.replace_substring_regex(texts, _COMMA, r"\1.\2"))
    texts = pc.replace_substring_regex(texts, _COMPACT, r"\1-\2-\3T\4:\5:\6\7\8")
    return pc.replace_substring_regex(texts, _OFFSET, r"\1\2")


def _duck(texts: pa.Array, spelled: str | None) -> pa.Array:
    quoted = "" if spelled is None else spelled.replace("'", "''")
    told = "try_cast(v as timestamptz)" if spelled is None else f"try_strptime(v, '{quoted}')"
    return _asked(texts, f"epoch_us(cast({told} as timestamptz))").view(STORED)


def _asked(texts: pa.Array, expression: str) -> pa.Array:
    column = answers(f"SELECT {expression} AS answer FROM given", pa.table({"v": texts}))["answer"]
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _epochs(values: pa.Array, spelled: str) -> pa.Array:
    if pa.types.is_binary(values.type):
        values = _readable(values)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return _written_epochs(values, spelled)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return pa.nulls(len(values), STORED)
    return _scaled(values, _PER_SECOND[spelled]) if spelled != "epoch" else _by_magnitude(values)


def _by_magnitude(values: pa.Array) -> pa.Array:
    """The unit shows in the magnitude: up to the year 9999 seconds stay below 3e11, and so on up by thousands."""
    extremes = pc.min_max(values).as_py()
    if extremes["min"] is None:
        return pa.nulls(len(values), STORED)
    least, greatest = float(extremes["min"]), float(extremes["max"])
    if least >= 0 and _unit(least) == _unit(greatest):
        return _scaled(values, _unit(greatest))
    size = pc.abs(values.cast(pa.float64(), safe=False))
    times = _scaled(values, 1)
    for above, unit in _MAGNITUDES:
        times = pc.if_else(pc.greater(size, above), _scaled(values, unit), times)
    return times


def _unit(value: float) -> int:
    return next((unit for above, unit in reversed(_MAGNITUDES) if value > above), 1)


def _written_epochs(texts: pa.Array, spelled: str) -> pa.Array:
    """Counts, or dates: many writers can be told to write either."""
    numbers = _whole_numbers(texts)
    if numbers is not None:
        return _epochs(numbers, spelled)
    whole = pc.match_substring_regex(texts, r"^-?[0-9]{1,18}$")
    times = _epochs(pc.if_else(whole, texts, None).cast(pa.int64()), spelled)
    if pc.all(whole).as_py():
        return times
    others = pc.if_else(whole, None, texts)
    dates = iso_times(others)  # what Arrow reads as a date is no number
    found = times if dates is None else pc.coalesce(times, dates[0])
    if found.null_count == texts.null_count:
        return found
    times = pc.if_else(whole, times, _epochs(_asked(others, "try_cast(v as double)"), spelled))
    return pc.coalesce(times, parse_times(pc.if_else(times.is_null(), texts, None), None))


def _whole_numbers(texts: pa.Array) -> pa.Array | None:
    """Read by Arrow, which takes a tenth of the time; None where one is no number, has many digits or may be hex."""
    _, places, data = texts.buffers()
    if data is None or not pa.types.is_string(texts.type):
        return None
    offsets = np.frombuffer(places, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    held = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
    if np.diff(offsets).max() > _DIGITS or (held > ord("9")).any():
        return None
    try:
        return texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return None


def _scaled(values: pa.Array, per_second: int) -> pa.Array:
    """Counts of a unit → microseconds; what does not fit in 64 bits is null."""
    if pa.types.is_uint64(values.type):
        values = values.cast(pa.float64(), safe=False)
    if pa.types.is_integer(values.type) and per_second >= 1_000_000:
        return pc.divide(values.cast(pa.int64()), per_second // 1_000_000).view(STORED)
    if pa.types.is_integer(values.type):
        factor = 1_000_000 // per_second
        fits = pc.and_(pc.greater_equal(values, _FIRST // factor), pc.less_equal(values, _LAST // factor))
        return pc.multiply(pc.if_else(fits, values, None).cast(pa.int64()), factor).view(STORED)
    micros = pc.round(pc.multiply(values.cast(pa.float64()), 1_000_000 / per_second))
    fits = pc.and_(pc.greater_equal(micros, float(_FIRST)), pc.less_equal(micros, float(_LAST)))
    return pc.if_else(fits, micros, None).cast(pa.int64()).view(STORED)


def _within(times: pa.Array) -> pa.Array:
    """Null for times outside the years 1 to 9999: not every engine can read them."""
    micros = times.view(pa.int64())
    extremes = pc.min_max(micros).as_py()
    if extremes["min"] is None or (extremes["min"] >= _FIRST and extremes["max"] <= _LAST):
        return times
    return pc.if_else(pc.and_(pc.greater_equal(micros, _FIRST), pc.less_equal(micros, _LAST)), times, None)


def _readable(values: pa.Array) -> pa.Array:
    """Bytes as text; null where they are not UTF-8."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([_text(v) for v in values.to_pylist()], pa.string())


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None
