"""Sources that are asked, on the way into a lake: nothing twice, unfinished slices replaced, days whole."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

from apiserver import Reply
from eventservice import START, EventService, event_service, events
from kafkabroker import Broker
from motoserver import aws, moto_server
from world import World

from tailrace.core import TimeRange
from tailrace.sources import api as api_sources
from tailrace.sources.slices import utc_now

MORNING = TimeRange(START, START + timedelta(hours=3))
TABLE = """
format "jsonl" "e" {}
table "event" {
  format = format.jsonl.e
  column "tp_timestamp" { source = "time" }
  column "id" { type = "bigint" }
  column "user" {}
}
partition "event" "p" {
  SOURCE
}
"""
HTTP = """
source "http" {
  url          = "URL/events/cursor"
  params       = { since = "{from}", until = "{to}" }
  records      = "data.events"
  pagination   = "cursor"
  cursor_path  = "meta.next"
  cursor_param = "at"
  max_retries  = 1
  max_backoff  = 0.01
}
"""
CLOUDWATCH = """
source "aws_cloudwatch_log_group" {
  connection     = connection.aws.moto
  log_group_name = "/app"
  settle         = "SETTLE"
}
"""
MOTO = """
connection "aws" "moto" {
  access_key   = "k"
  secret_key   = "s"
  region       = "eu-west-1"
  endpoint_url = "URL"
}
"""


def configured(world, source: str) -> None:
    world.write_config(TABLE.replace("SOURCE", source))


def ids(world) -> list[int]:
    return [row[0] for row in world.query("select id from event order by id")]


def test_second_runs_ask_for_nothing(world):
    with event_service() as (_, api):
        configured(world, HTTP.replace("URL", api.url))
        (report,) = world.collect(window=MORNING)
        assert (report.counts.stored, report.troubles) == (150, [])
        asked = len(api.requests)
        (report,) = world.collect(window=MORNING)
        assert (report.wanted, report.unchanged, len(api.requests)) == (0, 3, asked)
    assert ids(world) == list(range(150))
    (row,) = world.query("select distinct tp_source_type, tp_date, split_part(tp_source_location, '?', 1) from event")
    assert row == ("http", START.date(), f"{api.url}/events/cursor")


def test_an_unfinished_slice_is_asked_for_again_and_replaced(world):
    now = utc_now().replace(microsecond=0)
    with event_service(0) as (service, api):
        configured(world, HTTP.replace("URL", api.url))
        window = TimeRange(now - timedelta(hours=5), None)
        service.held = events(10, now - timedelta(minutes=20))
        world.collect(window=window)
        first = len(api.requests)
        # A late event among those that are known, and one more at the end: positions in the slice move.
        service.held = events(12, now - timedelta(minutes=20, seconds=30))
        world.collect(window=window)
        assert 0 < len(api.requests) - first <= 3, "whole slices are not asked for again"
    assert ids(world) == list(range(12))
    (rows,) = world.query("select count(*), count(distinct tp_id), min(tp_timestamp) from event")
    assert rows[:2] == (12, 12)
    assert rows[2] == now - timedelta(minutes=20, seconds=30)


def test_a_wider_range_reads_a_slice_again(world):
    with event_service() as (_, api):
        configured(world, HTTP.replace("URL", api.url))
        world.collect(window=TimeRange(START + timedelta(minutes=30), START + timedelta(minutes=90)))
        assert ids(world) == list(range(30, 90))
        world.collect(window=MORNING)
        assert ids(world) == list(range(150))


def test_another_filter_is_other_data(world):
    with event_service(60) as (_, api):
        source = HTTP.replace("URL", api.url)
        configured(world, source)
        world.collect(window=MORNING)
        configured(world, source.replace('until = "{to}"', 'until = "{to}", level = "warn"'))
        (report,) = world.collect(window=MORNING)
        assert report.wanted == 3


def test_a_day_with_an_expired_page_is_rolled_back_and_tried_again(world):
    """Two days of events; the first page of one is there, its second is not."""
    with event_service(0) as (service, api):
        service.held = [*events(50), *({**e, "id": e["id"] + 1000} for e in events(50, START + timedelta(days=1)))]
        configured(world, HTTP.replace("URL", api.url))
        serve = service.answer

        def expiring(request):
            late = request.params["since"] >= "2026-03-02" and "at" in request.params
            return Reply({"message": "expired"}, 410) if late else serve(request)

        api.answer = expiring
        window = TimeRange(START, START + timedelta(days=2))
        (report,) = world.collect(window=window)
        assert ids(world) == list(range(50))
        assert [t.code for t in report.troubles] == ["collect.rolled-back"]
        assert "page 2 has expired" in report.troubles[0].message
        api.answer = serve
        (report,) = world.collect(window=window)
        assert len(ids(world)) == 100
        assert not report.troubles


def test_denied_is_told_and_not_tried_with_every_slice(world, monkeypatch):
    with event_service() as (_, api):
        api.answer = lambda _: Reply({"message": "bad credentials"}, 401)
        configured(world, HTTP.replace("URL", api.url))
        (report,) = world.collect(window=MORNING)
        assert len(report.troubles) == 3
        assert len(api.requests) == 1
        for trouble in report.troubles:
            assert trouble.code == "source.denied"
            assert "bad credentials; check the credentials of the connection" in trouble.message
            assert trouble.where not in trouble.message
        api.answer = EventService(events(150)).answer
        monkeypatch.setattr(api_sources, "DENIED_FOR", 0.0)
        (report,) = world.collect(window=MORNING)
        assert (report.counts.stored, report.troubles) == (150, [])


def test_learned_columns_cost_one_look(world):
    with event_service() as (_, api):
        config = TABLE.replace("SOURCE", HTTP.replace("URL", api.url)).replace('column "user" {}', 'map_fields = ["*"]')
        world.write_config(config.replace('column "id" { type = "bigint" }', ""))
        world.collect(window=MORNING)
        assert world.query("select max(id), max(user) from event") == [(149, "u2")]
        asked = len(api.requests)
        world.collect(window=MORNING)
        assert len(api.requests) == asked


def test_programs_replace_what_they_printed_before(world, tmp_path: Path):
    printed = tmp_path / "printed.jsonl"
    configured(world, f'source "command" {{ command = "cat \'{printed}\'" }}')
    for count in (3, 5, 2):
        printed.write_text("".join(f"{json.dumps(e)}\n" for e in events(count)))
        (report,) = world.collect()
        assert report.troubles == []
        assert ids(world) == list(range(count))
    printed.unlink()
    (report,) = world.collect()
    (trouble,) = report.troubles
    assert "No such file or directory; the rows of its earlier version are kept" in trouble.message
    assert ids(world) == [0, 1]


def test_topics_go_on_where_they_ended(world):
    broker = Broker()
    configured(world, f'source "kafka" {{\n brokers = ["{broker.address}"]\n topics = ["t"]\n}}')
    held = events(500)
    for first in (0, 200, 200):
        broker.send("t", held[first : first + 200], lambda n: n % 3)
        (report,) = world.collect()
        assert report.troubles == []
    # The same messages sent twice are messages of their own.
    assert ids(world) == sorted([*range(400), *range(200, 400)])
    (report,) = world.collect()
    assert (report.wanted, report.unchanged) == (0, 9)


def test_cloudwatch_events_of_one_millisecond_are_stored(tmp_path):
    start = utc_now().replace(second=0, microsecond=0) - timedelta(minutes=30)
    with moto_server() as url:
        logs = aws("logs", url)
        logs.create_log_group(logGroupName="/app")
        logs.create_log_stream(logGroupName="/app", logStreamName="s")
        now = int((start - datetime(1970, 1, 1)).total_seconds() * 1000)
        sent = [{"timestamp": now, "message": json.dumps(e)} for e in events(50, start, timedelta(0))]
        logs.put_log_events(logGroupName="/app", logStreamName="s", logEvents=sent)
        for settle in ("1h", "1m"):
            world = World(tmp_path / settle)
            configured(world, CLOUDWATCH.replace("SETTLE", settle))
            with (world.home / "config" / "test.tpc").open("a") as config:
                config.write(MOTO.replace("URL", url))
            for _ in range(2):
                (report,) = world.collect(window=TimeRange(start - timedelta(hours=2), None))
                assert report.troubles == []
                assert ids(world) == list(range(50))
