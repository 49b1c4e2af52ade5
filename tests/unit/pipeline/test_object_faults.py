"""Servers of objects that fail: what passes is waited for, what stays costs its object, or its day, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from bucketserver import BucketServer, serving
from inboxes import lines
from world import World

from tailrace.cli.hints import hint_for
from tailrace.cli.summary import exit_code
from tailrace.clouds import gcs, s3, settings
from tailrace.core import TimeRange
from tailrace.pipeline.job import UnitResult
from tailrace.pipeline.report import PartitionReport
from tailrace.sources import object_reader

CONFIG = """
connection "aws" "stand_in" {{
  endpoint_url             = "{url}"
  access_key               = "AKIDTEST"
  secret_key               = "hidden"
  region                   = "us-east-1"
  max_error_retry_attempts = {tries}
  min_error_retry_delay    = 5
}}
partition "nginx_access_log" "web" {{
  source "{kind}" {{
    {connection}
    bucket      = "logs"
    file_layout = `%{{YEAR:year}}/%{{MONTHNUM:month}}/%{{MONTHDAY:day}}/%{{DATA}}.log`
  }}
}}
"""
OBJECTS = {f"2015/05/{day}/{name}.log": lines(20) for day in (16, 17) for name in "abc"}
BAD = "2015/05/17/b.log"
ROWS = 20 * len(OBJECTS)


@pytest.fixture(params=["aws_s3_bucket", "gcp_storage_bucket"])
def server(request: pytest.FixtureRequest, world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketServer]:
    """Two days of three objects each, over S3's protocol and over Google's."""
    s3.store.cache_clear()
    gcs.store.cache_clear()
    monkeypatch.setattr(object_reader, "_LONGEST_PAUSE", 0.05)
    usual = settings.client_options
    soon = {"read_timeout": timedelta(seconds=0.4), "connect_timeout": timedelta(seconds=0.4)}
    for module in (s3, gcs):
        monkeypatch.setattr(module, "client_options", lambda endpoint: {**usual(endpoint), **soon})
    with serving(BucketServer(dict(OBJECTS))) as server:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        kind = request.param
        told = "connection = connection.aws.stand_in" if kind == "aws_s3_bucket" else ""
        world.write_config(CONFIG.format(url=server.url, kind=kind, connection=told, tries=3))
        yield server


def collected(world: World) -> PartitionReport:
    (report,) = world.collect(window=TimeRange(datetime(2015, 5, 1), datetime(2015, 6, 1)))
    return report


FAULTS: dict[str, list[int | tuple[str, float]]] = {
    "500": [500],
    "503 twice": [503, 503],
    "429": [("wait", 1)],
    "silence": [("slow", 1.0)],
    "a connection cut at once": [("cut", 0)],
    "a connection cut in the middle": [("cut", 40), ("cut", 100)],
}


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS.keys())
def test_an_object_comes_in_spite_of(faults: list[int | tuple[str, float]], world: World, server: BucketServer) -> None:
    server.faults[BAD] = list(faults)
    report = collected(world)
    assert report.clean, report.troubles
    assert report.counts.stored == ROWS
    assert not server.faults[BAD]


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS.keys())
def test_a_listing_comes_in_spite_of(faults: list[int | tuple[str, float]], world: World, server: BucketServer) -> None:
    server.list_faults = list(faults)
    report = collected(world)
    assert report.clean, report.troubles
    assert report.counts.stored == ROWS
    assert not server.list_faults


@pytest.mark.parametrize(("fault", "words"), [(("short", 0), "ended after 0 of"), (("more", 7), "more than its")])
def test_an_answer_of_another_length_than_listed_is_not_stored(
    fault: tuple[str, float], words: str, world: World, server: BucketServer
) -> None:
    server.faults[BAD] = [fault] * 50
    report = collected(world)
    assert report.counts.stored == ROWS // 2
    assert words in report.troubles[0].message
    assert report.troubles[0].code == "collect.rolled-back"
    server.faults.clear()
    assert collected(world).counts.stored == ROWS // 2


def test_a_page_that_has_expired_is_asked_for_anew(world: World, server: BucketServer) -> None:
    server.page = 2
    listing = server.listing
    expired = iter([False, True])

    def once_expired(query: dict[str, str]) -> bytes:
        if query.get("continuation-token") and next(expired, False):
            raise ConnectionError
        return listing(query)

    server.listing = once_expired  # type: ignore[method-assign]
    report = collected(world)
    assert report.clean, report.troubles
    assert report.counts.stored == ROWS


def test_a_denied_object_is_recorded_and_tried_again_and_its_day_commits(world: World, server: BucketServer) -> None:
    server.faults[BAD] = [403] * 50
    report = collected(world)
    assert (report.counts.stored, report.failed) == (ROWS - 20, 1)
    assert [(t.where, t.code) for t in report.troubles] == [(BAD, "source.denied")]
    assert "access denied" in report.troubles[0].message
    assert world.query("select count(distinct tp_date) from nginx_access_log") == [(1,)]
    server.faults.clear()
    again = collected(world)
    assert (again.clean, again.counts.stored, again.unchanged) == (True, 20, len(OBJECTS) - 1)


def test_a_network_that_is_cut_after_the_listing_rolls_days_back(world: World, server: BucketServer) -> None:
    objects, server.objects = server.objects, dict(server.objects)
    run = world.run

    def cut_off(session: Any, job: Any, units: Any) -> list[UnitResult]:
        for key in objects:
            server.faults[key] = [("cut", 0)] * 1000
        return run(session, job, units)

    world.run = cut_off
    report = collected(world)
    assert report.counts.stored == 0
    assert {t.code for t in report.troubles} == {"collect.rolled-back"}
    assert len(report.troubles) == 2
    server.faults.clear()
    world.run = run
    assert collected(world).counts.stored == ROWS


def test_a_server_that_is_not_there_is_told_and_nothing_is_settled(world: World, server: BucketServer) -> None:
    server.list_faults = [500] * 1000
    report = collected(world)
    assert report.counts.stored == 0
    assert {t.code for t in report.troubles} == {"source.io"}
    server.list_faults = []
    assert collected(world).counts.stored == ROWS


LAYOUTS = ("%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/", "%{DATA:account}/%{YEAR:year}/%{MONTHNUM:month}/")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("wrong", ["no such bucket", "access denied", "the server answered"])
def test_what_is_wrong_with_a_whole_bucket_is_told_once(
    layout: str, wrong: str, world: World, server: BucketServer
) -> None:
    config = (world.home / "config" / "test.tpc").read_text()
    world.write_config(config.replace(LAYOUTS[0], layout).replace('"logs"', '"logs"\n prefix = "a/b/c/"'))
    if wrong == "no such bucket":
        server.only = "another"
    else:
        server.list_faults = [403 if wrong == "access denied" else 500] * 10_000
    (report,) = world.collect()
    (trouble,) = report.troubles
    scheme = "s3" if "connection = " in config else "gs"
    below = "" if wrong == "no such bucket" else "a/b/c/"
    assert trouble.where in {f"{scheme}://logs/{below}", f"{scheme}://logs/{below}{datetime.now().year}/"}
    assert trouble.message.startswith(f"cannot be listed: {wrong}")
    assert trouble.message.count("nothing of") == 1
    hint = hint_for(trouble.code, trouble.message)
    assert (hint is None) == (wrong == "the server answered")
    assert "connection test" in (hint or "connection test")
    assert exit_code([report], None) == 5


def test_no_more_requests_at_a_time_than_said(world: World, server: BucketServer) -> None:
    server.objects = {f"2015/05/17/{n:03}.log": lines(1) for n in range(200)}
    server.delay = 0.05
    report = collected(world)
    assert report.counts.stored == 200
    assert 16 < server.most_at_once <= 33


def test_a_refused_record_is_found_by_bucket_and_key(server: BucketServer, world: World) -> None:
    server.objects[BAD] = b"no record\n"
    world.collect(window=TimeRange(datetime(2015, 5, 1), datetime(2015, 6, 1)))
    ((location, uri),) = world.query("select location, uri from tp_quarantine")
    scheme = uri.partition("://")[0]
    assert (scheme in ("s3", "gs"), location) == (True, f"{scheme}://logs/{BAD}")
