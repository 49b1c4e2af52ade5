"""Source `http`: pages, slices, names of artifacts, and what becomes of an answer."""

from __future__ import annotations

import json
import tracemalloc
from datetime import datetime, timedelta

import pytest
from apiserver import Reply, serving
from eventservice import START, event_service

from tailrace.config.model import ConnectionSpec
from tailrace.config.places import Where
from tailrace.config.values import Secret
from tailrace.core import Artifact, ConfigError, SourceError, TimeRange
from tailrace.sources import make_source
from tailrace.sources.slices import utc_now

TIMES = {"since": "{from}", "until": "{to}"}
MORNING = TimeRange(START, START + timedelta(hours=3))
QUICK = {"max_backoff": 0.01, "max_retries": 2}


def source(url: str, connection: ConnectionSpec | None = None, **args: object):
    return make_source("http", {"url": url, **QUICK, **args}, connection)


def read(source, artifact) -> list[dict]:
    with source.open(artifact) as raw:
        content = raw.read()
    assert content == b"" or content.endswith(b"\n")
    return [json.loads(line) for line in content.splitlines()]


PAGINGS = {
    "none": {},
    "link": {"pagination": "link"},
    "cursor": {"pagination": "cursor", "cursor_path": "meta.next", "cursor_param": "at", "records": "data.events"},
    "page": {"pagination": "page", "cursor_param": "page", "records": "data.events"},
    "offset": {"pagination": "offset", "cursor_param": "at", "records": "data.events"},
}


@pytest.mark.parametrize(
    ("method", "how"), [*(("GET", how) for how in PAGINGS), *(("POST", how) for how in PAGINGS if how != "link")]
)
def test_all_records_of_all_pages_in_the_slices_of_the_window(method, how):
    with event_service() as (service, api):
        told = {"params": TIMES} if method == "GET" else {"method": "POST", "body": TIMES}
        asked = source(f"{api.url}/events/{how}", **told, **PAGINGS[how])
        artifacts = list(asked.discover(MORNING))
        assert [a.hour for a in artifacts] == [11, 10, 9]
        assert {a.day for a in artifacts} == {START.date()}
        rows = [row for artifact in artifacts for row in read(asked, artifact)]
    assert sorted(row["id"] for row in rows) == list(range(150))
    assert all(row in service.held for row in rows)


def test_the_next_page_may_be_a_url():
    with event_service() as (_, api):
        asked = source(f"{api.url}/events/url", pagination="cursor", cursor_path="meta.url", records="data.events")
        (artifact,) = asked.discover(MORNING)
        assert len(read(asked, artifact)) == 150
        assert artifact.day is None


def test_services_without_times_are_read_back_to_the_slice():
    with event_service(by_time=False) as (_, api):
        how = {"pagination": "offset", "cursor_param": "at", "records": "data.events"}
        asked = source(f"{api.url}/events/walk", time_field="time", **how)
        last, middle, first = asked.discover(MORNING)
        assert [row["id"] for row in read(asked, last)] == list(reversed(range(120, 150)))
        # 150 events in pages of 20: the second of them holds the beginning of the slice.
        assert len(api.requests) == 2
        assert len(read(asked, middle)) == len(read(asked, first)) == 60


def test_names_hold_what_decides_on_the_answer_and_no_credentials():
    connection = ConnectionSpec("http", "c", {"token": Secret("t0ken")}, Where("a.tpc", 1, 1))
    asked = source(
        "https://api.example.com/v1/logs?kind=a&api_key=in-the-url", connection,
        params={"since": "{from}", "level": "warn or worse"}, headers={"X-Key": Secret("hidden")},
        secret_params={"key": Secret("hidden")}, records="items",
    )  # fmt: skip
    (artifact,) = asked.discover(TimeRange(START, START + timedelta(minutes=5)))
    assert artifact.uri == (
        "https://api.example.com/v1/logs?kind=a&api_key=f3ce68ec214875d4&level=warn%20or%20worse&records=items"
        "&from=2026-03-01T09:00:00Z&to=2026-03-01T10:00:00Z"
    )
    assert "t0ken" not in repr(asked)
    assert "hidden" not in repr(asked)
    assert "in-the-url" not in repr(asked)


def test_a_slice_is_whole_once_it_has_settled():
    now = utc_now()
    asked = source("https://api.example.com", params=TIMES)
    newest, *older = asked.discover(TimeRange(now - timedelta(hours=4), None))
    assert abs(datetime.fromisoformat(newest.version).replace(tzinfo=None) - now) < timedelta(minutes=1)
    assert older[0].version == newest.version, "it ended less than an hour ago"
    assert {a.version for a in older[2:]} == {"whole"}
    assert len(list(asked.discover(TimeRange(now + timedelta(days=1), None)))) == 0


def test_slices_are_aligned_and_as_long_as_said():
    asked = source("https://api.example.com", params=TIMES, slice="15m")
    window = TimeRange(START + timedelta(minutes=10), START + timedelta(minutes=31))
    assert [a.uri[-20:] for a in asked.discover(window)] == [f"2026-03-01T09:{end}:00Z" for end in ("45", "30", "15")]
    with pytest.raises(ConfigError, match="whole slices"):
        source("https://api.example.com", params=TIMES, slice="7h")


@pytest.mark.parametrize(
    ("written", "told"),
    [("rfc3339", "2026-03-01T09:00:00Z"), ("date", "2026-03-01"), ("epoch", "1772355600"),
     ("epoch_ms", "1772355600000")],
)  # fmt: skip
def test_times_are_written_as_the_service_wants_them(written, told):
    with event_service() as (_, api):
        asked = source(f"{api.url}/events/none", params={"since": "{from}"}, time_format=written)
        artifact = list(asked.discover(MORNING))[-1]
        read(asked, artifact)
        assert api.requests[0].params["since"] == told


def test_pretty_printed_records_become_lines():
    body = json.dumps([{"a": "x\ny", "b": [1, 2]}, {"a": "é"}], indent=2).replace("\n", "\r\n").encode()
    with serving(lambda _: Reply(body)) as api:
        asked = source(api.url)
        assert read(asked, next(asked.discover(MORNING))) == [{"a": "x\ny", "b": [1, 2]}, {"a": "é"}]


def test_lines_single_objects_and_nothing():
    lines = b'{"a": 1}\n\n{"a": 2}\n'
    replies = [Reply(lines, headers={"Content-Type": "application/x-ndjson"}), Reply({"a": 3}), Reply([]), Reply(b"")]
    with serving(lambda _: replies.pop(0)) as api:
        asked = source(api.url)
        assert [len(read(asked, next(asked.discover(MORNING)))) for _ in range(4)] == [2, 1, 0, 0]


@pytest.mark.parametrize(
    ("reply", "told", "code"),
    [
        (Reply({"data": {"events": {}}}), "'data.events' of the answer is no array", "source.refused"),
        (Reply({"data": {"rows": []}}), "the answer has no 'data.events'", "source.refused"),
        (Reply(b"<html>log in</html>"), "the answer is no JSON", "source.io"),
        (Reply([{"a": 1}], status=404), "status 404", "source.gone"),
    ],
)
def test_answers_that_are_not_what_was_described_are_errors(reply, told, code):
    with serving(lambda _: reply) as api:
        asked = source(api.url, records="data.events")
        with pytest.raises(SourceError, match=told) as error:
            read(asked, next(asked.discover(MORNING)))
    assert error.value.code == code


def test_empty_answers_may_leave_the_records_out():
    with serving(lambda _: Reply({})) as api:
        asked = source(api.url, records="data.events")
        assert read(asked, next(asked.discover(MORNING))) == []


def test_a_page_that_expires_may_be_there_in_the_next_run():
    with event_service() as (_, api):
        asked = source(f"{api.url}/events/cursor", params=TIMES, **PAGINGS["cursor"])
        artifact = list(asked.discover(MORNING))[-1]
        serve = api.answer
        api.answer = lambda r: Reply({"message": "cursor expired"}, 400) if "at" in r.params else serve(r)
        with pytest.raises(SourceError, match=r"page 2 has expired: .*cursor expired") as error:
            read(asked, artifact)
    assert error.value.code == "source.io"


def test_pages_that_repeat_end():
    with serving(lambda _: Reply({"items": [1], "next": "same"})) as api:
        how = {"pagination": "cursor", "cursor_path": "next", "cursor_param": "at", "records": "items"}
        asked = source(api.url, **how)
        with pytest.raises(SourceError, match="page 3 is page 2 again"):
            read(asked, next(asked.discover(MORNING)))


def test_pages_are_read_one_by_one():
    """Memory: nobody asks for the second page before the first was taken."""
    with event_service() as (_, api):
        asked = source(f"{api.url}/events/link", params=TIMES, pagination="link")
        artifact = list(asked.discover(MORNING))[-1]
        with asked.open(artifact) as raw:
            assert raw.read(10)
            assert len(api.requests) == 1
            while raw.read(1 << 20):
                pass
        assert len(api.requests) == 3


def test_memory_is_that_of_a_page():
    page = json.dumps([{"n": n, "text": "x" * 1000} for n in range(1000)]).encode()

    def answer(request):
        number = int(request.params["page"])
        return Reply(page if number <= 30 else b"[]")

    with serving(answer) as api:
        asked = source(api.url, pagination="page")
        tracemalloc.start()
        size = 0
        with asked.open(next(asked.discover(MORNING))) as raw:
            while block := raw.read(4 << 20):
                size += len(block)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert size > 30_000_000
    assert peak < 10 * len(page)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"url": "ftp://example.com"}, "`url` must be"),
        ({"url": "https://me:secret@example.com"}, "`url` must be"),
        ({"url": "https://example.com", "pagination": "cursor"}, "needs `cursor_path`"),
        ({"url": "https://example.com", "page_size": 5}, "belong together"),
    ],
)
def test_what_cannot_be_right_is_told_before_anything_is_asked(args, told):
    with pytest.raises(ConfigError, match=told) as error:
        make_source("http", args)
    assert "secret" not in str(error.value)


def test_logins():
    where = Where("a.tpc", 1, 1)
    with event_service() as (_, api):
        basic = {"username": "u", "password": Secret("p")}
        for args in ({"token": Secret("t")}, basic, {"headers": {"X-K": Secret("k")}}):
            asked = source(f"{api.url}/events/none", ConnectionSpec("http", "c", args, where))
            read(asked, Artifact(api.url, 0, "", "http"))
        sent = [(r.headers.get("authorization"), r.headers.get("x-k")) for r in api.requests]
    assert sent == [("Bearer t", None), ("Basic dTpw", None), (None, "k")]
