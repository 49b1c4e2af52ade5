"""Source `aws_cloudwatch_log_group` with moto's server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from motoserver import aws, moto_server

from tailrace.config.model import ConnectionSpec, Location
from tailrace.config.places import Where
from tailrace.config.values import Secret
from tailrace.core import SourceError, TimeRange
from tailrace.sources import make_source
from tailrace.sources.slices import utc_now

NOW = utc_now().replace(minute=0, second=0, microsecond=0)
START = NOW - timedelta(hours=6)
GROUP = "/aws/app"
STREAMS = ("web-1", "web-2", "db-1")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with moto_server() as url:
        logs = aws("logs", url)
        logs.create_log_group(logGroupName=GROUP)
        for stream in STREAMS:
            logs.create_log_stream(logGroupName=GROUP, logStreamName=stream)
            events = []
            for minute in range(180):
                at = int((START + timedelta(minutes=minute)).replace(tzinfo=UTC).timestamp() * 1000)
                # Two events of the same millisecond: both count.
                events += [{"timestamp": at, "message": f"{stream} {minute} {n}"} for n in range(2)]
            logs.put_log_events(logGroupName=GROUP, logStreamName=stream, logEvents=events)
        yield url


def source(url: str, *streams: str, locations: tuple[Location, ...] = (), **args: object):
    keys = {"access_key": Secret("k"), "secret_key": Secret("hidden"), "region": "eu-west-1", "endpoint_url": url}
    connection = ConnectionSpec("aws", "c", keys | {"max_error_retry_attempts": 1}, Where("a.tpc", 1, 1))
    named = {"log_stream_names": streams} if streams else {}
    return make_source(
        "aws_cloudwatch_log_group", {"log_group_name": GROUP, **named, **args}, connection, locations
    )  # fmt: skip


def lines(source, window: TimeRange) -> list[str]:
    found = []
    for artifact in source.discover(window):
        with source.open(artifact) as raw:
            found += raw.read().decode().splitlines()
    return found


def every(*streams: str, minutes: range = range(180)) -> list[str]:
    return sorted(f"{stream} {minute} {n}" for stream in streams for minute in minutes for n in range(2))


THREE_HOURS = TimeRange(START, START + timedelta(hours=3))


def test_defect_i_events_of_one_millisecond_and_the_end_of_the_range(url):
    """Every event once, those of one millisecond included, and nothing after the end that was asked for."""
    asked = source(url)
    assert sorted(lines(asked, THREE_HOURS)) == every(*STREAMS)
    hours = range(60, 120)
    middle = TimeRange(START + timedelta(hours=1), START + timedelta(hours=2))
    assert sorted(lines(asked, middle)) == every(*STREAMS, minutes=hours)


def test_names_of_artifacts(url):
    *_, first = source(url, "web-*", filter_pattern="error").discover(THREE_HOURS)
    stamps = (f"{START:%Y-%m-%dT%H:%M:%SZ}", f"{START + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}")
    place = "cloudwatch://eu-west-1/aws/app?streams=web-%2A&filter_pattern=error"
    assert first.uri == f"{place}&from={stamps[0]}&to={stamps[1]}"
    assert first.version == "whole"
    assert (first.day, first.hour) == (START.date(), START.hour)


@pytest.mark.parametrize(
    ("streams", "read"),
    [
        (("web-1",), ("web-1",)),
        (("web-1", "db-1"), ("web-1", "db-1")),
        (("web-*",), ("web-1", "web-2")),
        (("*-1",), ("web-1", "db-1")),
        (("web-[2]", "db-1"), ("web-2", "db-1")),
        (("*",), STREAMS),
    ],
)
def test_streams_by_name_and_wildcard(url, streams, read):
    assert sorted(lines(source(url, *streams), THREE_HOURS)) == every(*read)


def test_no_stream_fits(url):
    assert lines(source(url, "*-9"), THREE_HOURS) == []


def test_the_service_filters(url):
    found = lines(source(url, filter_pattern='"web-2 17 1"'), THREE_HOURS)
    assert found == ["web-2 17 1"]


def test_groups_by_path(url):
    locations = (Location(GROUP, "db", "db*"), Location(GROUP, "web-1", "web-1"))
    assert sorted(lines(source(url, locations=locations), THREE_HOURS)) == every("db-1", "web-1")


def test_pages_are_read_one_by_one(url):
    asked = source(url, "web-1")
    artifact = next(iter(asked.discover(THREE_HOURS)))
    with asked.open(artifact) as raw:
        assert raw.read(10)


def test_a_group_that_does_not_exist(url):
    keys = {"log_group_name": "/no/such"}
    asked = make_source("aws_cloudwatch_log_group", keys, source(url).connection)
    with pytest.raises(SourceError, match="ResourceNotFoundException") as error:
        lines(asked, THREE_HOURS)
    assert error.value.code == "source.gone"
    assert "hidden" not in repr(asked)


def test_roles_are_assumed(url):
    given = source(url).connection
    role = {"role_arn": "arn:aws:iam::123456789012:role/reader", "external_id": Secret("external")}
    asked = make_source(
        "aws_cloudwatch_log_group", {"log_group_name": GROUP, "log_stream_names": ("db-1",)},
        ConnectionSpec("aws", "c", {**given.args, **role}, given.where),
    )  # fmt: skip
    assert sorted(lines(asked, THREE_HOURS)) == every("db-1")


def test_nobody_listens():
    asked = source("http://127.0.0.1:1")
    with pytest.raises(SourceError, match="cannot be asked") as error:
        lines(asked, THREE_HOURS)
    assert error.value.code == "source.io"


def test_times_are_in_utc(url):
    """A slice is the same whatever zone the machine is in."""
    asked = source(url, "db-1")
    artifact = list(asked.discover(THREE_HOURS))[-1]
    assert datetime.fromisoformat(artifact.uri.rpartition("from=")[2].partition("&")[0]) == START.replace(tzinfo=UTC)
