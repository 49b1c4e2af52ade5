from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core import ConfigError, TimeRange
from tailrace.sources.layout import compile_layout

ELB = (
    "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/elasticloadbalancing/%{DATA:region}/%{YEAR:year}/"
    "%{MONTHNUM:month}/%{MONTHDAY:day}/%{NUMBER:account_id}_elasticloadbalancing_%{DATA:region}_"
)
AWS_DAY = "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/"
CLOUDTRAIL = "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/CloudTrail/%{DATA:region}/" + AWS_DAY + "%{DATA}.json.gz"
S3_ACCESS = (
    "(%{NUMBER:account_id}/%{DATA:region}/%{DATA:bucket_name}/%{YEAR:partition_year}/%{MONTHNUM:partition_month}/"
    "%{MONTHDAY:partition_day}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{HOUR:hour}-%{MINUTE:minute}-"
    "%{SECOND:second}-%{DATA:suffix}"
)
COST = (
    "%{DATA:export_name}/(?:data/%{DATA:partition}/)?(?:%{INT:from_date}-%{INT:to_date}/)?(?:%{DATA:assembly_id}/)?"
    "(?:%{DATA:timestamp}-%{DATA:execution_id}/)?%{DATA:file_name}.csv.(?:zip|gz)"
)
FOCUS = (
    "%{DATA:export_name}/data/%{DATA:partition}/(?:%{TIMESTAMP_ISO8601:timestamp}-%{UUID:execution_id}/)?"
    "%{DATA:filename}.csv.gz"
)
UUID = "0123abcd-0123-4567-89ab-0123456789ab"
DAY = date(2024, 3, 5)

PUBLISHED = [
    (
        CLOUDTRAIL,
        "AWSLogs/123456789012/CloudTrail/us-east-1/2024/03/05/123456789012_CloudTrail_us-east-1_20240305T2355Z_x.json.gz",
        {"account_id": "123456789012", "region": "us-east-1", "year": "2024", "month": "03", "day": "05"},
        DAY,
    ),
    (
        CLOUDTRAIL,
        "AWSLogs/o-ab12/123456789012/CloudTrail/eu-west-1/2024/03/05/a.json.gz",
        {"org_id": "o-ab12"},
        DAY,
    ),
    (
        ELB + "app.%{DATA}.log.gz",
        "AWSLogs/123456789012/elasticloadbalancing/us-east-2/2024/03/05/"
        "123456789012_elasticloadbalancing_us-east-2_app.my-lb.1234567890abcdef_20240305T2340Z_172.160.1.192_20sg8hgm.log.gz",
        {"account_id": "123456789012", "region": "us-east-2"},
        DAY,
    ),
    (
        ELB + "%{DATA}.log",
        "AWSLogs/123456789012/elasticloadbalancing/us-west-2/2024/03/05/"
        "123456789012_elasticloadbalancing_us-west-2_my-loadbalancer_20240305T2340Z_172.160.1.192_20sg8hgm.log",
        {"region": "us-west-2"},
        DAY,
    ),
    (
        "(%{DATA:logging_prefix}/)?"
        + ELB.removesuffix("%{NUMBER:account_id}_elasticloadbalancing_%{DATA:region}_")
        + "conn_log.%{DATA}.log.gz",
        "team/a/AWSLogs/123456789012/elasticloadbalancing/us-east-2/2024/03/05/conn_log.123_elb_x.log.gz",
        {"logging_prefix": "team/a"},
        DAY,
    ),
    (
        "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/vpcflowlogs/%{DATA:region}/"
        + AWS_DAY
        + "(%{NUMBER:hour}/)?%{DATA}.log.gz",
        "AWSLogs/123456789012/vpcflowlogs/us-east-1/2024/03/05/16/123456789012_vpcflowlogs_us-east-1_fl-1_x.log.gz",
        {"hour": "16"},
        DAY,
    ),
    (
        "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/WAFLogs/%{DATA:cloudfront_or_region}/%{DATA:resource}/"
        + AWS_DAY
        + "%{HOUR:hour}/%{MINUTE:minute}/%{DATA}.log.gz",
        "AWSLogs/123456789012/WAFLogs/us-east-1/web-acl/2024/03/05/06/50/123456789012_waflogs_us-east-1_web-acl_x.log.gz",
        {"resource": "web-acl", "hour": "06", "minute": "50"},
        DAY,
    ),
    (
        "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/GuardDuty/%{DATA:region_path}/" + AWS_DAY + "%{DATA}.jsonl.gz",
        f"AWSLogs/123456789012/GuardDuty/us-east-1/2024/03/05/{UUID}.jsonl.gz",
        {"region_path": "us-east-1"},
        DAY,
    ),
    (S3_ACCESS, "2024-03-05-21-32-16-E568B2907131C0C0", {"suffix": "E568B2907131C0C0", "second": "16"}, DAY),
    (
        S3_ACCESS,
        "123456789012/us-west-2/my-bucket/2024/03/04/2024-03-05-00-00-16-E568B2907131C0C0",
        {"bucket_name": "my-bucket", "partition_day": "04"},
        DAY,
    ),
    (
        COST,
        f"cur/data/BILLING_PERIOD=2024-03/20240305T000000Z-{UUID}/cur-00001.csv.gz",
        {"export_name": "cur"},
        None,
    ),
    (
        COST,
        f"cur/20240301-20240401/{UUID}/cur-1.csv.zip",
        {"from_date": "20240301", "assembly_id": UUID},
        None,
    ),
    (
        FOCUS,
        f"focus/data/BILLING_PERIOD=2024-03/2024-03-05T10:11:12.123Z-{UUID}/focus-00001.csv.gz",
        {"timestamp": "2024-03-05T10:11:12.123Z", "execution_id": UUID},
        None,
    ),
    (
        "cloudaudit.googleapis.com/%{DATA:type}/"
        + AWS_DAY
        + "%{HOUR:hour}:%{MINUTE:minute}:%{SECOND:second}_%{DATA:end_time}_%{DATA:suffix}.json",
        "cloudaudit.googleapis.com/activity/2024/03/05/08:00:00_08:59:59_S0.json",
        {"type": "activity", "end_time": "08:59:59", "suffix": "S0"},
        DAY,
    ),
    (
        "/SUBSCRIPTIONS/%{DATA:subscription_id}/y=%{YEAR:year}/m=%{MONTHNUM:month}/d=%{MONTHDAY:day}/h=%{HOUR:hour}/"
        "m=%{MINUTE:minute}/%{DATA:filename}.json",
        f"SUBSCRIPTIONS/{UUID}/y=2024/m=03/d=05/h=13/m=00/PT1H.json",
        {"subscription_id": UUID, "filename": "PT1H"},
        DAY,
    ),
    (
        "part_%{INT:part_number}_%{INT:file_number}.csv.(?:gz|zip)",
        "part_0_0001.csv.gz",
        {"part_number": "0"},
        None,
    ),
]


@pytest.mark.parametrize(("layout", "path", "fields", "day"), PUBLISHED)
def test_published_layouts_match_real_keys(layout: str, path: str, fields: dict[str, str], day: date | None) -> None:
    compiled = compile_layout(layout)
    match = compiled.match(path)
    assert match is not None
    assert fields.items() <= dict(match.fields).items()
    assert match.day == day
    for window in (
        TimeRange(),
        TimeRange(datetime(2024, 3, 5), datetime(2024, 3, 6)),
        TimeRange(datetime(2023, 1, 1)),
    ):
        rule = compiled.directories(window)
        segments = path.split("/")[:-1]
        assert all(rule.may_hold("/".join(segments[:i])) for i in range(1, len(segments) + 1))


def test_directories_outside_the_window_are_passed_over() -> None:
    rule = compile_layout(CLOUDTRAIL).directories(TimeRange(datetime(2024, 3, 5), datetime(2024, 4, 2, 1)))
    below = "AWSLogs/123456789012/CloudTrail/us-east-1"
    kept = ["2024", "2024/03", "2024/3", "2024/04", "2024/03/05", "2024/03/31", "2024/04/02", "2024/4/1"]
    left = ["2023", "2025", "2024/02", "2024/05", "2024/12", "2024/03/04", "2024/04/03", "x"]
    assert [d for d in kept + left if rule.may_hold(f"{below}/{d}")] == kept
    assert not rule.may_hold("AWSLogs/123456789012/CloudTrail-Digest")
    assert not rule.may_hold("other")


days = st.dates(date(1990, 1, 1), date(2120, 12, 31))


@given(day=days, start=st.none() | days, length=st.none() | st.integers(1, 1500), two=st.booleans())
def test_a_directory_of_a_day_in_the_window_is_never_passed_over(
    day: date, start: date | None, length: int | None, two: bool
) -> None:
    first = datetime(start.year, start.month, start.day) if start else None
    end = None
    if length:
        end = (first or datetime(2020, 1, 1)) + timedelta(hours=7 * length)
    window = TimeRange(first, end)
    year = f"{day.year % 100:02}" if two and 2000 <= day.year < 2100 else f"{day.year:04}"
    path = f"{year}/{day.month:02}/{day.day:02}"
    layout = compile_layout("%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}")
    rule = layout.directories(window)
    match = layout.match(path + "/x")
    assert match is not None
    assert match.day == day
    assert match.meets(window) == window.touches(day)
    if window.touches(day):
        assert rule.may_hold(year)
        assert rule.may_hold(path[:-3])
        assert rule.may_hold(path)
    elif not two:
        assert not rule.may_hold(path)


def test_the_last_of_two_captures_wins_and_the_first_prunes_nothing() -> None:
    layout = compile_layout("%{YEAR:year}/%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.log")
    match = layout.match("2023/2024-01-02.log")
    assert match is not None
    assert match.day == date(2024, 1, 2)
    assert layout.directories(TimeRange(datetime(2024, 1, 1))).may_hold("2023")


@pytest.mark.parametrize(
    ("layout", "path", "first", "last", "hour"),
    [
        ("%{YEAR:year}/%{MONTHNUM:month}/%{DATA}", "2024/2/a", date(2024, 2, 1), date(2024, 2, 29), None),
        ("%{YEAR:year}/%{DATA}", "2024/a", date(2024, 1, 1), date(2024, 12, 31), None),
        (
            "%{MONTHDAY:day}-%{MONTH:month}-%{YEAR:year}.log",
            "7-Feb-2024.log",
            date(2024, 2, 7),
            date(2024, 2, 7),
            None,
        ),
        (
            "%{YEAR:year}%{MONTHNUM:month}%{MONTHDAY:day}%{HOUR:hour}",
            "2024020723",
            date(2024, 2, 7),
            date(2024, 2, 7),
            23,
        ),
        ("%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}", "2024-02-31", None, None, None),
        (
            r"(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)",
            "2024-02-28",
            date(2024, 2, 28),
            date(2024, 2, 28),
            None,
        ),
        ("%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}", "9999-12-31", date.max, date.max, None),
    ],
)
def test_dates(layout: str, path: str, first: date | None, last: date | None, hour: int | None) -> None:
    match = compile_layout(layout).match(path)
    assert match is not None
    assert (match.first, match.last, match.hour) == (first, last, hour)
    assert match.meets(TimeRange(None, datetime(9999, 12, 31, 23)))


def test_data_stays_in_its_segment_except_at_the_beginning() -> None:
    assert compile_layout("%{DATA}.log").match("nginx/a/access.log")
    assert compile_layout("a/%{DATA}.log").match("a/b/c.log") is None
    assert compile_layout("a/%{GREEDYDATA}.log").match("a/b/c.log")


def test_own_patterns_nest_and_may_hide_built_in_ones() -> None:
    layout = compile_layout(
        "%{SITE:site}/%{DATA:file}", {"SITE": "%{CODE:code}-[a-z]+", "CODE": "[A-Z]{2}", "DATA": "x+"}
    )
    match = layout.match("DE-berlin/xx")
    assert match is not None
    assert dict(match.fields) == {"site": "DE-berlin", "code": "DE", "file": "xx"}


@pytest.mark.parametrize(
    ("layout", "patterns", "message"),
    [
        ("a/%{YAER:year}", {}, "unknown pattern 'YAER' at character 3"),
        ("a/%{YEAR:year", {}, "a token that is not .* at character 3"),
        ("(%{YEAR:year}/", {}, r"missing \) at character 15"),
        ("*.log", {}, "nothing to repeat at character 1"),
        ("%{A}", {"A": "%{B}", "B": "x%{A}"}, "contains itself"),
        ("%{A}", {"A": "[a"}, "pattern 'A'.*at character"),
    ],
)
def test_a_bad_layout_is_refused_with_its_place(layout: str, patterns: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compile_layout(layout, patterns)


def test_a_pattern_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.sources.layout._SECONDS_PER_PATH", 0.05)
    with pytest.raises(ConfigError, match="takes more than"):
        compile_layout("(a|aa)+(a|aa)+(a|aa)+b").match("a" * 200)
