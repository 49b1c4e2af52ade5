"""Objects that a queue announces: collected once, and the message goes only when their rows are committed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from motobuckets import moto_buckets
from queues import BUCKET, TEST_EVENT, Queue, by_eventbridge, by_sns, notification, queue_of, record
from world import World

from tailrace.clouds import s3
from tailrace.core import SourceError, TimeRange
from tailrace.pipeline.job import UnitResult
from tailrace.sources import sqs_delivery

CONFIG = """
connection "aws" "stand_in" {{
  endpoint_url = "{url}"
  access_key   = "AKIDTEST"
  secret_key   = "hidden"
  region       = "us-east-1"
}}
partition "nginx_access_log" "web" {{
  source "aws_s3_bucket" {{
    connection    = connection.aws.stand_in
    bucket        = "trails"
    file_layout   = `web/%{{YEAR:year}}/%{{MONTHNUM:month}}/%{{MONTHDAY:day}}/%{{DATA}}.log`
    {queue}
  }}
}}
"""


@pytest.fixture
def queue(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    s3.store.cache_clear()
    monkeypatch.setattr(sqs_delivery, "_WAIT", 0)
    with moto_buckets() as moto:
        queue = queue_of(moto)
        world.write_config(CONFIG.format(url=moto.url, queue=f'sqs_queue_url = "{queue.url}"'))
        yield queue


def key(day: int, name: str = "a") -> str:
    return f"web/2026/10/{day:02}/{name}.log"


def lines(day: int, count: int = 3) -> bytes:
    line = '10.0.0.1 - - [{:02}/Oct/2026:12:00:{:02} +0000] "GET /{} HTTP/1.1" 200 1 "-" "-"\n'
    return "".join(line.format(day, n, n) for n in range(count)).encode()


def stored(world: World) -> list[tuple[Any, ...]]:
    return world.query("select tp_source_location, count(*) from nginx_access_log group by all order by all")


def test_announced_objects_are_collected_and_nothing_is_listed(world: World, queue: Queue) -> None:
    queue.put(key(9, "not announced"), lines(9))
    plain = queue.put(key(5, "blank + plus"), lines(5))
    queue.put(key(6), lines(6))
    sent = [
        plain,
        by_sns(queue.put(key(7), lines(7))),
        by_eventbridge(key(6), lines(6)),
        TEST_EVENT,
        by_sns(TEST_EVENT),
    ]
    queue.send(*sent, notification(record("web/other.txt", b"x"), record(key(5), b"", "ObjectRemoved:Delete")))
    queue.moto.requests.clear()
    (report,) = world.collect()
    assert report.clean, report.troubles
    assert (report.counts.stored, report.unmatched) == (9, 1)
    assert stored(world) == [(key(5, "blank + plus"), 3), (key(6), 3), (key(7), 3)]
    assert queue.moto.lists() == []
    assert queue.counts() == (0, 0)
    (again,) = world.collect()
    assert (again.clean, again.discovered, again.counts.stored) == (True, 0, 0)


def test_a_message_delivered_again_stores_nothing_and_goes(world: World, queue: Queue) -> None:
    message = queue.put(key(5), lines(5))
    queue.send(message, message)
    world.collect()
    queue.send(message, by_sns(message))
    queue.moto.requests.clear()
    (again,) = world.collect()
    assert (again.unchanged, again.counts.received) == (1, 0)
    assert queue.moto.gets() == []
    assert queue.counts() == (0, 0)
    assert stored(world) == [(key(5), 3)]


def test_a_changed_object_replaces_its_rows_and_the_last_announcement_counts(world: World, queue: Queue) -> None:
    first = record(key(5), lines(5), sequencer="9F")
    queue.send(queue.put(key(5), lines(5)))
    world.collect()
    queue.put(key(5), lines(5, 8))
    queue.send(notification(record(key(5), lines(5, 8), sequencer="10A")), notification(first))
    (report,) = world.collect()
    assert report.counts.stored == 8
    assert stored(world) == [(key(5), 8)]
    assert queue.counts() == (0, 0)


def test_a_process_that_dies_between_commit_and_delete(
    world: World, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.send(queue.put(key(5), lines(5)))
    with monkeypatch.context() as patch:
        patch.setattr(sqs_delivery.SqsDelivery, "_delete", lambda *_: None)
        world.collect()
    assert queue.counts() == (1, 0)
    (again,) = world.collect()
    assert (again.unchanged, again.counts.stored) == (1, 0)
    assert queue.counts() == (0, 0)
    assert stored(world) == [(key(5), 3)]


def test_a_queue_that_lets_nobody_delete_is_told(world: World, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = sqs_delivery.ask

    def denying(client: Any, url: str, call: str, **request: object) -> dict[str, Any]:
        if call == "delete_message_batch":
            raise SourceError("the service answers AccessDenied", code="source.denied", where=url)
        return asked(client, url, call, **request)

    monkeypatch.setattr(sqs_delivery, "ask", denying)
    queue.send(queue.put(key(5), lines(5)))
    (report,) = world.collect()
    assert [(t.code, t.where) for t in report.troubles] == [("source.denied", queue.url)]
    assert stored(world) == [(key(5), 3)]


def test_a_day_that_is_rolled_back_is_announced_again(world: World, queue: Queue) -> None:
    queue.send(queue.put(key(5), lines(5)))
    run = world.run
    world.run = lambda _, job, units: [UnitResult(u.number, error="the line was cut") for u in units]
    (report,) = world.collect()
    assert report.troubles[0].code == "collect.rolled-back"
    assert queue.counts() == (1, 0)
    world.run = run
    (again,) = world.collect()
    assert again.counts.stored == 3
    assert queue.counts() == (0, 0)


def test_an_object_that_may_not_be_read_keeps_its_message_alone(world: World, queue: Queue) -> None:
    queue.send(queue.put(key(5), lines(5)), queue.put(key(5, "denied"), lines(5)))
    queue.moto.denied.add(f"/{BUCKET}/{key(5, 'denied')}")
    (report,) = world.collect()
    assert (report.counts.stored, report.failed) == (3, 1)
    assert queue.counts() == (1, 0)
    queue.moto.denied.clear()
    (again,) = world.collect()
    assert (again.clean, again.counts.stored) == (True, 3)
    assert queue.counts() == (0, 0)


def test_an_object_that_is_gone_is_told_once(world: World, queue: Queue) -> None:
    queue.send(notification(record(key(5), lines(5))))
    (report,) = world.collect()
    assert (report.failed, "no such object" in report.troubles[0].message) == (1, True)
    assert queue.counts() == (0, 0)
    assert world.collect()[0].clean


def test_messages_that_are_none_are_told_and_stay(world: World, queue: Queue) -> None:
    queue.send("words", notification(record(key(5), b"", bucket="elsewhere")), queue.put(key(5), lines(5)))
    for _ in range(2):
        (report,) = world.collect()
        assert sorted(t.code for t in report.troubles) == ["source.refused"] * 2
        assert "no notification" in str(report.troubles)
        assert "bucket elsewhere" in str(report.troubles)
        assert queue.counts() == (2, 0)
    assert stored(world) == [(key(5), 3)]


def test_ranges_leave_the_rest_in_the_queue(world: World, queue: Queue) -> None:
    queue.send(*(queue.put(key(day), lines(day)) for day in (5, 6, 7)))
    noon = TimeRange(datetime(2026, 10, 6), datetime(2026, 10, 7, 12, 0, 1))
    (report,) = world.collect(window=noon)
    assert (report.counts.stored, report.counts.out_of_range) == (4, 2)
    assert queue.counts() == (2, 0)
    assert world.collect()[0].clean
    assert queue.counts() == (0, 0)
    assert stored(world) == [(key(5), 3), (key(6), 3), (key(7), 3)]


def test_a_dry_run_and_an_overwrite_take_nothing(world: World, queue: Queue) -> None:
    from tailrace.pipeline.prepare import survey
    from tailrace.pipeline.report import PartitionReport

    queue.send(queue.put(key(5), lines(5)), queue.put(key(6), lines(6)))
    config = world.config()
    report = PartitionReport("web")
    found = survey(config, world.lake, config.partitions[0], TimeRange(), report, overwrite=False)
    assert found.listed.artifacts == ()
    assert "about 2 messages wait" in report.advice[0].message
    assert queue.counts() == (2, 0)
    window = TimeRange(datetime(2026, 10, 5), datetime(2026, 10, 6))
    (overwritten,) = world.collect(window=window, overwrite=True)
    assert (overwritten.clean, overwritten.counts.stored) == (True, 3)
    assert queue.counts() == (2, 0)


def test_messages_stay_hidden_while_the_work_goes_on(
    world: World, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqs_delivery, "HELD", 1)
    queue.send(queue.put(key(5), lines(5)))
    seen: list[tuple[int, int]] = []
    run = world.run

    def slow(session: Any, job: Any, units: Any) -> list[UnitResult]:
        time.sleep(2.5)
        seen.append(queue.counts())
        return run(session, job, units)

    world.run = slow
    (report,) = world.collect()
    assert seen == [(0, 1)]
    assert report.counts.stored == 3
    assert queue.counts() == (0, 0)


def test_cloudtrails_own_messages_are_looked_up(world: World, queue: Queue) -> None:
    import json

    queue.put(key(5), lines(5))
    queue.send(by_sns(json.dumps({"s3Bucket": BUCKET, "s3ObjectKey": [key(5), key(6)]})))
    (report,) = world.collect()
    assert (report.counts.stored, [t.code for t in report.troubles]) == (3, ["source.gone"])
    assert queue.counts() == (0, 0)


def test_what_was_listed_is_known_to_the_queue(world: World, queue: Queue) -> None:
    message = queue.put(key(5), lines(5))
    world.write_config(CONFIG.format(url=queue.moto.url, queue=""))
    window = TimeRange(datetime(2026, 10, 1), None)
    assert world.collect(window=window)[0].counts.stored == 3
    world.write_config(CONFIG.format(url=queue.moto.url, queue=f'sqs_queue_url = "{queue.url}"'))
    queue.send(message)
    assert world.collect(window=window)[0].counts.stored == 0
    assert stored(world) == [(key(5), 3)]
