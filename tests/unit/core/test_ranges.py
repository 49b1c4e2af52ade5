from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core import TimeRange, UsageError, parse_time
from tailrace.core.ranges import Ranges, joined, overlap, read_ranges, without, written

NOW = datetime(2024, 3, 31, 12, 30, 5)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-01-31", datetime(2024, 1, 31)),
        ("2024-01-31T15:04:05+02:00", datetime(2024, 1, 31, 13, 4, 5)),
        ("T-1m", datetime(2024, 2, 29, 12, 30, 5)),
        ("T-7d", datetime(2024, 3, 24, 12, 30, 5)),
    ],
)
def test_times_are_utc_without_zone(text: str, moment: datetime) -> None:
    assert parse_time(text, NOW) == moment


@pytest.mark.parametrize(
    "text", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", "T-9999Y", "T-99999999999d", "yesterday", ""]
)
def test_what_is_no_time_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="as a time"):
        parse_time(text, NOW)


def test_the_letter_of_a_span_counts() -> None:
    """`m` is months, as in Tailpipe: whoever writes another letter is told which is which."""
    assert parse_time("T-10M", NOW) == datetime(2024, 3, 31, 12, 20, 5)
    assert parse_time("T-10m", NOW) == datetime(2023, 5, 31, 12, 30, 5)
    with pytest.raises(UsageError) as raised:
        parse_time("T-1h", NOW)
    assert "m months, W weeks, d days, H hours, M minutes" in (raised.value.hint or "")


@given(st.text() | st.from_regex(r"T-[0-9]{1,30}[YmWdHMS]|\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?([+-]\d\d:\d\d)?"))
def test_any_text_is_a_time_or_a_usage_error(text: str) -> None:
    with suppress(UsageError):
        assert parse_time(text, NOW).tzinfo is None


# Sets of ranges, beside sets of instants: no bound lies outside of the line, so that -1 and 13 stand for all beyond it.

LINE = range(-1, 14)


def hour(number: int | None) -> datetime | None:
    return None if number is None else NOW + timedelta(hours=number)


bounds = st.none() | st.integers(0, 13)
one_range = (
    st.tuples(bounds, bounds)
    .filter(lambda b: b[0] is None or b[1] is None or b[0] < b[1])
    .map(lambda b: TimeRange(hour(b[0]), hour(b[1])))
)
some_ranges = st.lists(one_range, max_size=6)


def instants(ranges: list[TimeRange] | Ranges) -> set[int]:
    return {
        n
        for n in LINE
        if any((r.start is None or r.start <= hour(n)) and (r.end is None or hour(n) < r.end) for r in ranges)  # type: ignore[operator]
    }


def is_set(ranges: Ranges) -> bool:
    """Sorted, and with a gap between each and the next."""
    return all(a.end is not None and b.start is not None and a.end < b.start for a, b in pairwise(ranges))


@given(some_ranges, some_ranges, one_range)
def test_ranges_are_sets_of_instants(some: list[TimeRange], others: list[TimeRange], window: TimeRange) -> None:
    for made, meant in (
        (joined(some), instants(some)),
        (joined([*some, window]), instants(some) | instants([window])),
        (without(some, others), instants(some) - instants(others)),
        (without(some, [window]), instants(some) - instants([window])),
        (overlap(some, window), instants(some) & instants([window])),
    ):
        assert instants(made) == meant
        assert is_set(made)
        assert read_ranges(written(made)) == made


def test_ranges_to_the_microsecond() -> None:
    instant = timedelta(microseconds=1)
    whole = TimeRange(NOW, NOW + 3 * instant)
    assert without([whole], [TimeRange(NOW + instant, NOW + 2 * instant)]) == (
        TimeRange(NOW, NOW + instant),
        TimeRange(NOW + 2 * instant, NOW + 3 * instant),
    )
    assert joined([TimeRange(None, NOW), TimeRange(NOW, None)]) == (TimeRange(),)
    assert without([TimeRange()], [TimeRange()]) == ()
