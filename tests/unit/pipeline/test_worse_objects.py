"""An object with other bytes takes its stored rows away only if it brings something for them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from bucketserver import BucketServer, serving
from inboxes import lines
from lakecheck import check, stored
from world import World

from tailrace.cli.summary import exit_code
from tailrace.clouds import s3
from tailrace.core import TimeRange
from tailrace.pipeline.job import LOSES, Counts, Held
from tailrace.pipeline.report import PartitionReport

CONFIG = """
connection "aws" "stand_in" {{
  endpoint_url = "{url}"
  access_key   = "AKIDTEST"
  secret_key   = "hidden"
  region       = "us-east-1"
}}
partition "nginx_access_log" "web" {{
  source "aws_s3_bucket" {{
    connection = connection.aws.stand_in
    bucket     = "logs"
  }}
}}
"""
KEY = "a.log.gz"
ROWS = 100
GOOD = lines(ROWS)
WINDOW = TimeRange(datetime(2015, 5, 1), datetime(2015, 6, 1))
WORSE = {
    "junk": (gzip.compress(b"junk\n" * ROWS), f"each of the {ROWS} records that it holds now is refused ("),
    "no gzip": (b"\x1f\x8bcorrupt", "the only record that it holds now is refused ("),
    "cut off": (gzip.compress(GOOD)[:-200], "the compressed data ends too early"),
    "empty": (b"", "it holds no record any more"),
    "packed and empty": (gzip.compress(b""), "it holds no record any more"),
}


@pytest.fixture
def server(world: World) -> Iterator[BucketServer]:
    s3.store.cache_clear()
    with serving(BucketServer({KEY: gzip.compress(GOOD)})) as server:
        world.write_config(CONFIG.format(url=server.url))
        report = collected(world)
        assert (report.clean, report.counts.stored) == (True, ROWS)
        yield server


def collected(world: World, *, overwrite: bool = False) -> PartitionReport:
    (report,) = world.collect(window=WINDOW, overwrite=overwrite)
    check(world.home, "nginx_access_log", "web")
    return report


@pytest.mark.parametrize(("bytes_now", "why"), WORSE.values(), ids=WORSE.keys())
def test_its_rows_are_kept_until_it_is_good_again(
    world: World, server: BucketServer, bytes_now: bytes, why: str
) -> None:
    before = stored(world.home)
    server.objects[KEY] = bytes_now
    for _ in range(2):
        report = collected(world)
        (trouble,) = report.troubles
        assert (trouble.code, exit_code([report], None)) == (LOSES, 5)
        assert why in trouble.message
        assert "they are kept, and nothing new of it was stored" in trouble.message
        assert (report.kept, report.counts.stored, report.counts.quarantined) == (1, 0, 0)
        assert stored(world.home) == before
    server.objects[KEY] = gzip.compress(lines(2 * ROWS))
    report = collected(world)
    assert (report.clean, report.counts.stored) == (True, 2 * ROWS)
    assert stored(world.home).total() == 2 * ROWS


def test_other_objects_are_stored_beside_it(world: World, server: BucketServer) -> None:
    server.objects |= {KEY: WORSE["junk"][0], "b.log.gz": gzip.compress(lines(7))}
    report = collected(world)
    assert (report.kept, report.counts.stored) == (1, 7)
    assert stored(world.home).total() == ROWS + 7


def test_fewer_rows_of_a_whole_object_are_as_good(world: World, server: BucketServer) -> None:
    """Somebody corrected it; that some of its records are bad is told in the usual way."""
    server.objects[KEY] = gzip.compress(b"junk\n" * 9 + lines(5))
    report = collected(world)
    assert (report.clean, report.counts.stored, report.counts.quarantined) == (True, 5, 9)
    assert stored(world.home).total() == 5


def test_one_that_was_emptied_on_purpose_is_overwritten(world: World, server: BucketServer) -> None:
    server.objects[KEY] = b""
    assert [trouble.code for trouble in collected(world).troubles] == [LOSES]
    assert collected(world, overwrite=True).clean
    assert not stored(world.home)


def test_a_local_file_keeps_its_rows_too(world: World, tmp_path: Path) -> None:
    path = tmp_path / "logs" / "a.log.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(GOOD))
    assert world.collect_one("nginx_access_log", str(path.parent)).counts.stored == ROWS
    for bytes_now, _ in (WORSE["junk"], WORSE["cut off"]):
        path.write_bytes(bytes_now)
        (report,) = world.collect()
        assert [trouble.code for trouble in report.troubles] == [LOSES]
        assert stored(world.home).total() == ROWS


def test_what_is_gone() -> None:
    held = Held(rows=10, filtered=2, refused=3, same_recipe=True)
    assert held.gone(Counts(received=9, quarantined=9), partial=False) == 10
    assert held.gone(Counts(received=9, quarantined=8, filtered=1), partial=False) == 0, "that one could be read"
    assert held.gone(Counts(received=4, stored=4), partial=False) == 0
    assert held.gone(Counts(received=4, stored=4), partial=True) == 6
    assert held.gone(Counts(received=12, stored=12), partial=True) == 0, "a log that is being packed"
    assert held.gone(Counts(), partial=False) == 0
    assert Held(10, 2, 3, may_be_empty=False).gone(Counts(), partial=False) == 10
