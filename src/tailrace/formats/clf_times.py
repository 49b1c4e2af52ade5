"""The common log format's times, `10/Oct/2000:13:55:36 -0700`, read in numpy: a third of what strptime costs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PATTERN = "%d/%b/%Y:%H:%M:%S %z"
_WIDTH = 26
_DIGITS = np.array([0, 1, 7, 8, 9, 10, 12, 13, 15, 16, 18, 19, 22, 23, 24, 25])
_MARKS = ((2, "/"), (6, "/"), (11, ":"), (14, ":"), (17, ":"), (20, " "))
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LETTERS = np.array([list(name.encode()) for name in _NAMES], np.uint8).T.copy()
_BY_SUM = np.zeros(511, np.int32)
_BY_SUM[_LETTERS[1].astype(np.int32) + _LETTERS[2]] = np.arange(12)
_YEARS = np.arange(10_000)
_LEAP = (_YEARS % 4 == 0) & ((_YEARS % 100 != 0) | (_YEARS % 400 == 0))
_LENGTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int32)
_MONTH_STARTS = np.stack([np.cumsum([0, *(_LENGTHS + leap * (np.arange(12) == 1))]) for leap in (0, 1)]).astype(
    np.int32
)
_YEAR_STARTS = (_YEARS - 1) * 365 + (_YEARS - 1) // 4 - (_YEARS - 1) // 100 + (_YEARS - 1) // 400 - 719_162
"Days from 1970-01-01 to each year's first: division is dear, so it is done once."
Ints = npt.NDArray[np.int64]


Mask = npt.NDArray[np.bool_]
_DAYS = 8
"As many days and zones in a batch are told apart; where there are more, the texts are in no order."
_CLOCK = int.from_bytes(b"00:00:00", "little")
_ADDED = int.from_bytes(b"\6\6\0\6\6\0\6\6", "little")
_WRONG = int.from_bytes(b"\xf0\xf0\xff\xf0\xf0\xff\xf0\xf0", "little")


def clf_times_by_day(texts: pa.Array) -> tuple[pa.Array, Mask] | None:
    """As `clf_times`, where few texts differ in more than their time of day. None also where many do."""
    found = _places(texts)
    if found is None:
        return None
    data, first = found
    dates, years, clocks, zones, minutes = (
        np.ndarray(len(texts), kind, data, first + place, (_WIDTH,))
        for place, kind in ((0, "<u8"), (8, "<u4"), (12, "<u8"), (20, "<u4"), (24, "<u2"))
    )
    seconds, right = _seconds(clocks)
    starts = np.zeros(len(texts), np.int64)
    left = np.ones(len(texts), bool)
    row = 0
    for _ in range(_DAYS):
        same = (dates == dates[row]) & (years == years[row]) & (zones == zones[row]) & (minutes == minutes[row])
        day, known = _midnight(texts[row].as_py())
        if not known:
            right &= ~same
        if same.all():
            return _micros(seconds + day), right
        starts[same] = day
        left &= ~same
        row = int(np.argmax(left))
        if not left[row]:
            return _micros(seconds + starts), right
    return None


def _midnight(text: str) -> tuple[int, bool]:
    """Seconds from 1970 to the beginning of the day of a time, and whether there is such a day."""
    times, right = clf_times(pa.array([f"{text[:12]}00:00:00{text[20:]}"])) or (None, [False])
    return (times[0].value // 1_000_000, True) if times is not None and right[0] else (0, False)


def _seconds(clocks: npt.NDArray[np.uint64]) -> tuple[Ints, Mask]:
    """Of `13:55:36`, eight characters at once; and which of them are such a time."""
    digits = clocks ^ np.uint64(_CLOCK)  # 0 to 9, and 0 for the colons
    right = ((digits | (digits + np.uint64(_ADDED))) & np.uint64(_WRONG)) == 0
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    hours, minutes, seconds = (pairs >> np.uint64(shift) & np.uint64(255) for shift in (0, 24, 48))
    right &= (hours < 24) & (minutes < 60) & (seconds < 60)
    return ((hours * np.uint64(60) + minutes) * np.uint64(60) + seconds).view(np.int64), right


def _micros(seconds: Ints) -> pa.Array:
    return pa.array(seconds * 1_000_000).view(pa.timestamp("us"))


def _places(texts: pa.Array) -> tuple[pa.Buffer, int] | None:
    """The bytes, and where the first text begins, if all have the width of such a time."""
    rows = len(texts)
    _, offsets, data = texts.buffers()
    if not rows or texts.null_count:
        return None
    places = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + rows + 1]
    if int(places[-1] - places[0]) != rows * _WIDTH or (np.diff(places) != _WIDTH).any():
        return None
    return data, int(places[0])


def clf_times(texts: pa.Array) -> tuple[pa.Array, Mask] | None:
    """Times and which of them are right; None unless every text has the width of such a time."""
    found = _places(texts)
    if found is None:
        return None
    rows = len(texts)
    block = np.frombuffer(found[0], np.uint8, rows * _WIDTH, found[1])
    columns = np.ascontiguousarray(block.reshape(rows, _WIDTH).T)
    digits = columns[_DIGITS] - np.uint8(48)
    right = (digits <= 9).all(axis=0)
    for place, mark in _MARKS:
        right &= columns[place] == ord(mark)
    west = columns[21] == ord("-")
    right &= west | (columns[21] == ord("+"))
    month, known = _month(columns)
    right &= known
    pairs = digits[0::2] * np.uint8(10) + digits[1::2]
    day, century, decade, hour, minute, second, zone_hours, zone_minutes = pairs
    year = century.astype(np.int32) * 100 + decade
    if not right.all():
        year[~right] = 1  # what is no digit makes years that no calendar has
    right &= (year >= 1) & (hour < 24) & (minute < 60) & (second < 60) & (zone_minutes < 60) & (day >= 1)
    starts = month + 13 * _LEAP[year]
    right &= day <= _MONTH_STARTS.ravel()[starts + 1] - _MONTH_STARTS.ravel()[starts]
    days = _YEAR_STARTS[year] + _MONTH_STARTS.ravel()[starts] + day - 1
    zone = zone_hours.astype(np.int32) * 3_600 + zone_minutes.astype(np.int32) * 60
    clock = hour.astype(np.int32) * 3_600 + minute.astype(np.int32) * 60 + second - np.where(west, -zone, zone)
    return _micros(days * 86_400 + clock), right


def _month(columns: npt.NDArray[np.uint8]) -> tuple[Ints, Mask]:
    """Number from 0 and whether the name is one. The sum of the last two letters tells all twelve apart."""
    found = _BY_SUM[columns[4].astype(np.int32) + columns[5]]
    return found, (_LETTERS[:, found] == columns[3:6]).all(axis=0)
