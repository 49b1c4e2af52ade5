from __future__ import annotations

from contextlib import suppress
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core import UsageError, parse_time

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


@given(st.text() | st.from_regex(r"T-[0-9]{1,30}[YmWdHMS]|\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?([+-]\d\d:\d\d)?"))
def test_any_text_is_a_time_or_a_usage_error(text: str) -> None:
    with suppress(UsageError):
        assert parse_time(text, NOW).tzinfo is None
