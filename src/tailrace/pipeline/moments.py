"""Times of rows: which lie in ranges, and on which days."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.core.ranges import Ranges, TimeRange

EPOCH = date(1970, 1, 1)
DAY_US = 86_400_000_000
_DAY_ZERO = 1 << 24
_ZERO, _MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)
_FIRST, _LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int32]


def within(times: pa.Array, ranges: Iterable[TimeRange]) -> Mask:
    """Per row: does it lie in any of the ranges, which are sorted and apart? Of a row without a time no matter what."""
    bounds = [bound for one in ranges for bound in (_micros(one.start, _FIRST), _micros(one.end, _LAST))]
    moments = times.cast(pa.int64()).fill_null(0).to_numpy()
    # Behind an odd number of bounds: after a beginning, and before its end.
    inside: Mask = np.searchsorted(np.array(bounds, np.int64), moments, side="right") % 2 == 1
    return inside


def within_own(times: pa.Array, owner: Numbers, ranges: Callable[[int], Ranges]) -> Mask:
    """The same, where each owner of rows may have ranges of its own; hardly ever do they differ."""
    found = np.zeros(len(times), bool)
    here = {number: ranges(number) for number in np.unique(owner).tolist()}
    for some in {*here.values()} - {()}:
        of_these = np.isin(owner, [number for number, own in here.items() if own == some])
        found |= of_these & within(times, some)
    return found


def untimely(times: pa.Array, arrived: pa.Array, lateness: timedelta) -> dict[int, str]:
    """Rows whose time cannot be when something happened that arrived then, and why; one without a time is none."""
    distance = times.cast(pa.int64()).fill_null(0).to_numpy() - arrived.cast(pa.int64()).to_numpy()
    known = times.is_valid().to_numpy(zero_copy_only=False)
    late, ahead = known & (distance < -(lateness // _MICROSECOND)), known & (distance > DAY_US)
    reasons = dict.fromkeys(np.flatnonzero(late).tolist(), "time: later than max_lateness")
    return reasons | dict.fromkeys(np.flatnonzero(ahead).tolist(), "time: more than a day ahead")


def days_of(times: pa.Array, artifacts: npt.NDArray[np.int64]) -> list[tuple[int, str, int]]:
    """(artifact, day, rows) of rows with the number of the artifact of each."""
    if not len(times):
        return []
    days = np.floor_divide(times.cast(pa.int64()).to_numpy(), DAY_US)
    keys, numbers = np.unique(artifacts << 32 | (days + _DAY_ZERO), return_counts=True)
    found = zip(keys.tolist(), numbers.tolist(), strict=True)
    return [(key >> 32, str(EPOCH + timedelta(days=(key & 0xFFFFFFFF) - _DAY_ZERO)), rows) for key, rows in found]


def _micros(moment: datetime | None, otherwise: int) -> int:
    return otherwise if moment is None else (moment - _ZERO) // _MICROSECOND
