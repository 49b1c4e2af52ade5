"""Times of the common log format: every one as Python's own strptime reads it, none that it refuses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.formats.clf_times import PATTERN
from tailrace.formats.times import parse_times

MOMENTS = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30))
ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.lists(st.tuples(MOMENTS, ZONES), min_size=1, max_size=20))
def test_every_time_is_read(given: list[tuple[datetime, timezone]]) -> None:
    moments = [m.replace(microsecond=0, tzinfo=z) for m, z in given]
    texts = [f"{m:%d/%b}/{m.year:04d}:{m:%H:%M:%S %z}" for m in moments]
    found = parse_times(pa.array(texts), PATTERN).to_pylist()
    assert found == [m.astimezone(UTC).replace(tzinfo=None) for m in moments]


SIGNS = st.sampled_from("0123456789:/ +-aé~")


@given(
    days=st.lists(st.tuples(MOMENTS, ZONES), min_size=1, max_size=3),
    clocks=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 86_399)), min_size=1, max_size=12),
    slips=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 25), SIGNS), max_size=3),
)
def test_few_days_are_read_like_many(
    days: list[tuple[datetime, timezone]], clocks: list[tuple[int, int]], slips: list[tuple[int, int, str]]
) -> None:
    texts = []
    for number, seconds in clocks:
        moment, zone = days[number % len(days)]
        moment = moment.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=zone) + timedelta(seconds=seconds)
        texts.append(f"{moment:%d/%b}/{moment.year:04d}:{moment:%H:%M:%S %z}")
    for number, place, sign in slips:
        text = texts[number % len(texts)]
        texts[number % len(texts)] = (text[:place] + sign + text[place + 1 :]).encode()[:26].decode(errors="ignore")
    together = parse_times(pa.array(texts), PATTERN).to_pylist()
    assert together == [parse_times(pa.array([text, "x"]), PATTERN)[0].as_py() for text in texts]


@pytest.mark.parametrize(
    "text",
    [
        "31/Feb/2024:00:00:00 +0000",
        "29/Feb/2023:00:00:00 +0000",
        "00/Jan/2024:00:00:00 +0000",
        "10/Foo/2024:00:00:00 +0000",
        "10/Oct/2024:24:00:00 +0000",
        "10/Oct/2024:00:60:00 +0000",
        "10-Oct-2024 00:00:00 +0000",
        "1a/Oct/2024:00:00:00 +0000",
        "10/Oct/2é24:00:00:0 +0000",
        "10/Oct/~~~~:00:00:00 +0000",
    ],
)
def test_what_is_no_time_is_null(text: str) -> None:
    good = "10/Oct/2024:13:55:36 -0700"
    found = parse_times(pa.array([good, text, good]), PATTERN).to_pylist()
    assert found == [datetime(2024, 10, 10, 20, 55, 36), None, datetime(2024, 10, 10, 20, 55, 36)]


def test_slices_nulls_and_odd_widths() -> None:
    texts = pa.array(
        ["x", "10/Oct/2024:13:55:36 +0000", "29/Feb/2024:00:00:60 +0000", None, "1/Oct/2024:00:00:00 +0000"]
    )
    moments = [datetime(2024, 10, 10, 13, 55, 36), datetime(2024, 2, 29, 0, 0, 59)]
    assert parse_times(texts.slice(1, 2), PATTERN).to_pylist() == moments
    assert parse_times(texts, PATTERN).to_pylist() == [None, *moments, None, datetime(2024, 10, 1)]
