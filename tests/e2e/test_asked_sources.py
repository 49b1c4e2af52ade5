"""Sources that are no files, through the command line and Spark: an API, and a program as its owner wrote it down."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from apiserver import Reply
from eventservice import START, event_service, events
from lakecheck import check

from tailrace.core import TimeRange
from tailrace.sources.slices import utc_now

pytestmark = pytest.mark.warm

API = """
connection "http" "shop" {
  token = "t0ken-of-the-shop"
}
format "jsonl" "event" {}
table "shop_event" {
  format = format.jsonl.event
  column "tp_timestamp" { source = "time" }
  column "id" { type = "bigint" }
  column "user" {}
}
partition "shop_event" "api" {
  source "http" {
    connection   = connection.http.shop
    url          = "URL/events/link"
    params       = { since = "{from}", until = "{to}" }
    pagination   = "link"
    max_backoff  = 0.1
  }
}
"""
PROGRAM = """
collection "my_flows" {
  type = "aws_vpc_flow_log"
  source "command" {
    command = "sh 'SCRIPT' import_my_flowlogs"
  }
}
"""
FLOW = "2 123456789012 eni-1 10.0.0.1 10.0.0.2 443 5000 6 10 8400 {at} {end} ACCEPT OK"


def test_an_api_becomes_a_table(home, world):
    now = utc_now().replace(microsecond=0)
    with event_service(150) as (service, api):
        home.configure(API.replace("URL", api.url))
        api.faults = [Reply(status=503), Reply(b"[{", cut=True)]
        span = ("--from", f"{START:%Y-%m-%dT%H:%M:%S}", "--to", f"{START + timedelta(hours=3):%Y-%m-%dT%H:%M:%S}")
        summary = home.collect(*span)["shop_event.api"]
        assert (summary["rows"]["stored"], summary["artifacts"]["unchanged"]) == (150, 0)
        assert {r.headers["authorization"] for r in api.requests} == {"Bearer t0ken-of-the-shop"}

        asked = len(api.requests)
        window = TimeRange(START, START + timedelta(hours=3))
        again = world.summary(window=window)["shop_event.api"]
        assert (again["rows"]["received"], again["artifacts"]["unchanged"], len(api.requests)) == (0, 3, asked)

        # An hour that is not over: what came late replaces what was there.
        recent = now - timedelta(hours=1)
        late = [{**e, "id": 1000 + e["id"]} for e in events(8, now - timedelta(minutes=10))]
        service.held = late[:5]
        world.collect(window=TimeRange(recent))
        service.held = late
        home.collect("--from", f"{recent:%Y-%m-%dT%H:%M:%S}")
        rows = home.query("select id, count(*) as n from shop_event group by id order by id")
        assert [row["id"] for row in rows] == [*range(150), *range(1000, 1008)]
        assert {row["n"] for row in rows} == {1}
    check(home.path, "shop_event", "api")
    _nowhere(home.path, "t0ken-of-the-shop")


def _nowhere(directory: Path, secret: str) -> None:
    """The secret is in the configuration alone."""
    holding = [p for p in directory.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()]
    assert [p.suffix for p in holding] == [".tpc"]


def test_a_program_becomes_a_table(home, world, tmp_path):
    script = tmp_path / "flowpipe pipeline"
    at = int((START - timedelta(days=1)).timestamp())
    lines = "".join(f"{FLOW.format(at=at + n, end=at + n + 60)}\n" for n in range(50))
    (tmp_path / "import_my_flowlogs").write_text(lines)
    script.write_text(f'cat "{tmp_path}/$1"\n')
    home.configure(PROGRAM.replace("SCRIPT", str(script)))
    for collect in (world.summary, home.collect):
        summary = collect()["aws_vpc_flow_log.my_flows"]
        assert summary["rows"]["stored"] == 50
        (row,) = home.query("select count(*) as n, any_value(tp_source_type) as kind from aws_vpc_flow_log")
        assert row == {"n": 50, "kind": "command"}
    script.write_text("echo half; echo no such pipeline >&2; exit 7\n")
    failed = home.run("collect", "--output", "json")
    assert failed.code == 5
    assert "exit status 7: no such pipeline" in json.dumps(failed.json()) + failed.err
    (row,) = home.query("select count(*) as n from aws_vpc_flow_log")
    assert row == {"n": 50}
