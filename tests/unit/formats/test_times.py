"""Times: every spelling gives UTC, everything else gives null."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.formats.duck import answers
from tailrace.formats.iso_times import iso_times
from tailrace.formats.times import parse_times


def parsed(values: list[object], spelled: str | None = None) -> list[datetime | None]:
    times = parse_times(pa.array(values), spelled)
    assert times.type == pa.timestamp("us")
    return times.to_pylist()


NOON = datetime(2024, 2, 29, 12)


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-29T12:00:00Z",
        "2024-02-29 12:00:00",
        "2024-02-29T14:00:00+0200",
        "2024-02-29T12:00:00.000000001Z",
        "2024-02-29 12:00:00 UTC",
        "2024-02-29T12:00Z",
        "2024-02-29 12:00",
        "2024-02-29 12:00:00.000000 UTC",
        "2024-02-29T12:00:00.000000999 UTC",
        "20240229T120000Z",
        "20240229T140000.000+0200",
        "2024-02-29 14:00:00 +0200",
        "2024-02-29T14:00:00.000 +02:00",
        "2024-02-29 13:00:00.000000001 +0100 CET",
        "2024-02-29 07:00:00 -0500 -05",
        "2024-02-29T12:00:00 Z",
    ],
)
def test_iso_spellings(text: str) -> None:
    assert parsed([text]) == [NOON]
    assert parsed([text, "no time", None, "2024-02-29T12:00:00Z"]) == [NOON, None, None, NOON]


SPELLINGS = st.sampled_from(
    ["", "Z", "z", " UTC", "UTC", " CUTC", "+00:00", "-0530", "+02", " Europe/Berlin", "C", "-05"]
)
DIGITS = st.sampled_from(["", ".5", ".123456", ".1234567", ".999999999", ".", ",5", ".1234567891"])
MOMENTS = st.builds(
    lambda day, time, digits, zone: f"2024-02-{day:02}{time}{digits}{zone}",
    st.integers(28, 30),
    st.sampled_from(["", "T12", "T12:00", " 12:00", "T12:00:00", " 12:00:59", "t12:00:00", "T12:00:60", "T24:00:00"]),
    DIGITS,
    SPELLINGS,
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        MOMENTS | st.none() | st.sampled_from(["", "Z", "-", " UTC", "9999-12-31T23:59:59Z"]), min_size=1, max_size=8
    )
)
def test_a_time_does_not_depend_on_its_neighbours(texts: list[str | None]) -> None:
    assert parse_times(pa.array(texts, pa.string()), None).to_pylist() == [
        parse_times(pa.array([text], pa.string()), None)[0].as_py() for text in texts
    ]


@settings(deadline=None)
@given(MOMENTS)
def test_arrow_reads_what_duckdb_reads(text: str) -> None:
    found = iso_times(pa.array([text]))
    if found is not None and found[1][0]:
        expected = answers("SELECT epoch_us(cast(v as timestamptz)) AS v FROM given", pa.table({"v": [text]}))
        assert found[0].view(pa.int64()).to_pylist() == expected["v"].to_pylist()


@pytest.mark.parametrize(
    "text",
    ["infinity", " EPOCH", "-infinity", "12345-01-01", "0044-03-15 (BC)", "2023-02-29T00:00:00Z", "", "7"],
)
def test_what_is_no_time(text: str) -> None:
    assert parsed([text]) == [None]


def test_leap_second_is_read_as_the_one_before() -> None:
    assert parsed(["2016-12-31T23:59:60Z"]) == [datetime(2016, 12, 31, 23, 59, 59)]
    assert parsed(["31/Dec/2016:23:59:60 +0000"], "%d/%b/%Y:%H:%M:%S %z") == [datetime(2016, 12, 31, 23, 59, 59)]


def test_patterns() -> None:
    spelled = "%d/%b/%Y:%H:%M:%S %z"
    texts = ["29/Feb/2024:14:00:00 +0200", "31/Feb/2024:14:00:00 +0200", "it's", None]
    assert parsed(texts, spelled) == [NOON, None, None, None]
    assert parsed(["2024-02-29 12:00"] * 5 + ["x"], "%Y-%m-%d %H:%M") == [NOON] * 5 + [None]


@pytest.mark.parametrize("unit", ["epoch", "epoch_s", "epoch_ms", "epoch_us", "epoch_ns"])
def test_epochs_as_numbers_and_texts(unit: str) -> None:
    count = 1_709_208_000 * {"epoch_ms": 10**3, "epoch_us": 10**6, "epoch_ns": 10**9}.get(unit, 1)
    assert parsed([count, None], unit) == [NOON, None]
    assert parsed([float(count)], unit) == [NOON]
    assert parsed([str(count), "x", f"{count}.0"], unit) == [NOON, None, NOON]


def test_epoch_decides_its_unit_per_value() -> None:
    assert parsed([1_709_208_000 * 10**power for power in (0, 3, 6, 9)], "epoch") == [NOON] * 4


def test_numbers_need_a_unit() -> None:
    assert parsed([1_709_208_000]) == [None]
    assert parsed([2**62, -(2**63)], "epoch_s") == [None, None]
    assert parsed([1e300, float("nan"), float("inf")], "epoch") == [None] * 3


def test_dictionaries_and_bytes() -> None:
    assert parse_times(pa.array(["2024-02-29T12:00:00Z"] * 3).dictionary_encode(), None).to_pylist() == [NOON] * 3
    assert parsed([b"2024-02-29T12:00:00Z", b"\xff"]) == [NOON, None]
    assert parsed([]) == []


@given(
    st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29)),
    st.integers(-12 * 60, 14 * 60),
    st.booleans(),
)
def test_any_time_in_any_zone(moment: datetime, minutes: int, spoiled: bool) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    expected = (moment - timedelta(minutes=minutes)).replace(tzinfo=None)
    assert parsed([zoned.isoformat()] + ["?"] * spoiled) == [expected] + [None] * spoiled


def test_epochs_take_dates_too() -> None:
    given = pa.array(["1714557600", "1714557600000", "2024-05-01T10:00:00Z", "2024-05-01T12:00:00+02:00", "soon", None])
    wanted = [datetime(2024, 5, 1, 10)] * 4 + [None, None]
    assert parse_times(given, "epoch").to_pylist() == wanted
    for unit, count in {"epoch_s": "1714557600", "epoch_ms": "1714557600000"}.items():
        counted = pa.array([count, f"{count}.0", *given.to_pylist()[2:]])
        assert parse_times(counted, unit).to_pylist() == wanted


@settings(deadline=None, max_examples=25)
@pytest.mark.parametrize("unit", ["epoch", "epoch_s", "epoch_ms", "epoch_ns"])
@given(
    st.lists(
        st.none()
        | st.integers(-(10**19), 10**19)
        | st.integers(0, 19).flatmap(lambda n: st.integers(10**n - 3, 10**n + 3))
        | st.sampled_from([3 * 10**11, 3 * 10**14, 3 * 10**17, -(3 * 10**11) - 1]),
        min_size=2,
        max_size=5,
    ),
    st.sampled_from(["", "0x10", "1.5", "2024-05-01T10:00:00Z", " 1", "+1", "007", "-", None]),
)
def test_epochs_do_not_depend_on_each_other(unit: str, counts: list[int | None], odd: str | None) -> None:
    texts = [None if count is None else str(count) for count in counts]
    for several in (texts, [*texts, odd]):
        alone = [parse_times(pa.array([text], pa.string()), unit)[0].as_py() for text in several]
        assert parse_times(pa.array(several, pa.string()), unit).to_pylist() == alone
    fitting = [count if count is not None and abs(count) < 2**63 else None for count in counts]
    alone = [parse_times(pa.array([count], pa.int64()), unit)[0].as_py() for count in fitting]
    assert parse_times(pa.array(fitting, pa.int64()), unit).to_pylist() == alone


def test_letters_of_a_time_may_be_small() -> None:
    given = pa.array(["2024-05-01t12:00:00.5+02:00", "2024-05-01t10:00:00.5z", "2024-05-01T10:00:00.5Z"])
    assert parse_times(given, None).to_pylist() == [datetime(2024, 5, 1, 10, 0, 0, 500_000)] * 3


@given(st.lists(st.datetimes(datetime(1680, 1, 1), datetime(2260, 1, 1)), min_size=1, max_size=5), st.integers(0, 999))
def test_nanoseconds_are_cut_off(moments: list[datetime], nanos: int) -> None:
    texts = [f"{moment.isoformat(timespec='microseconds')}{nanos:03d}Z" for moment in moments]
    assert parsed([*texts, None]) == [*moments, None]
    assert parsed([*texts, "0001-01-01T00:00:00.0000009Z", "?"]) == [*moments, datetime(1, 1, 1), None]
