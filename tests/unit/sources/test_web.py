"""One request through everything that goes wrong on the way."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest
from apiserver import ApiServer, Reply, Request, serving

from tailrace.config.values import Secret
from tailrace.core import SourceError
from tailrace.sources import web
from tailrace.sources.credentials import Fixed, bearer
from tailrace.sources.web import Manners, Web

QUICK = Manners(timeout=5, retries=3, max_backoff=0.01)
TOKEN = Secret("s3cr3t-t0ken")


def asker(api: ApiServer, manners: Manners = QUICK, auth: Fixed = bearer(TOKEN)) -> Web:  # noqa: B008
    return Web(manners, auth, api.url, "the place")


def fine(_: Request) -> Reply:
    return Reply([1, 2])


@pytest.fixture
def api():
    with serving(fine) as server:
        yield server


@pytest.mark.parametrize(
    "fault",
    [
        Reply(status=429, headers={"Retry-After": "0"}),
        Reply(status=500),
        Reply(status=503, headers={"Retry-After": formatdate(usegmt=True)}),
        Reply(status=403, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "0"}),
        Reply(b"[1, 2, 3, 4]", cut=True),
        Reply(b"[1, 2]", length=600),
        Reply(b"not gzip at all", headers={"Content-Encoding": "gzip"}),
    ],
    ids=["429", "500", "503 until a date", "403 by rate limit", "cut", "wrong length", "wrong encoding"],
)
def test_faults_that_pass_are_tried_again(api, fault):
    api.faults = [fault, fault]
    assert asker(api).ask(web.Request(api.url)).body == b"[1, 2]"
    assert len(api.requests) == 3


def test_a_fault_that_stays_is_told_in_the_end_and_may_pass_later(api):
    api.faults = [Reply(status=502)] * 10
    with pytest.raises(SourceError, match="status 502, also after 3 more tries") as told:
        asker(api).ask(web.Request(api.url))
    assert told.value.code == "source.io"
    assert len(api.requests) == 4


def test_nobody_listens():
    with serving(fine) as api:
        url = api.url
    with pytest.raises(SourceError, match="the connection is refused"):
        Web(QUICK, Fixed(), url, "the place").ask(web.Request(url))


@pytest.mark.parametrize("slow", [Reply([1], delay=1.5), Reply(b"[1, 2, 3, 4, 5, 6]", drip=0.2)], ids=["late", "drips"])
def test_slow_answers_are_given_up(api, slow):
    api.faults = [slow]
    manners = Manners(timeout=0.5, retries=1, max_backoff=0.01)
    began = time.monotonic()
    assert asker(api, manners).ask(web.Request(api.url)).body == b"[1, 2]"
    assert time.monotonic() - began < 5
    api.faults = [slow, slow]
    with pytest.raises(SourceError, match=r"no answer within 0.5 seconds"):
        asker(api, manners).ask(web.Request(api.url))


def test_a_long_pause_is_left_to_the_next_run(api):
    api.faults = [Reply(status=429, headers={"Retry-After": "5000"})]
    with pytest.raises(SourceError, match="wants no further request before") as told:
        asker(api).ask(web.Request(api.url))
    assert told.value.code == "source.io"


def test_a_used_up_limit_is_waited_for(api):
    api.faults = [Reply([0], headers={"X-Rate-Limit-Remaining": "0", "X-Rate-Limit-Reset": "1"})]
    asking = asker(api)
    asking.ask(web.Request(api.url))
    began = time.monotonic()
    asking.ask(web.Request(api.url))
    assert 0.5 < time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("status", "code"), [(400, "refused"), (401, "denied"), (403, "denied"), (404, "gone"), (422, "refused")]
)
def test_refusals_are_final_and_say_why(api, status, code):
    api.faults = [Reply({"message": f"no {TOKEN.reveal()} today"}, status)]
    with pytest.raises(SourceError, match=f"status {status}: no [*]{{3}} today") as told:
        asker(api).ask(web.Request(api.url))
    assert told.value.code == f"source.{code}"
    assert told.value.where == "the place"
    assert len(api.requests) == 1


def test_redirects_take_credentials_to_nobody_else(api):
    with serving(fine) as other:
        api.faults = [Reply(status=302, headers={"Location": f"{other.url}/there"})]
        secret = Fixed(bearer(TOKEN).sent, (("key", TOKEN),))
        assert asker(api, auth=secret).ask(web.Request(api.url, (("a", "b"),))).body == b"[1, 2]"
        (seen,) = other.requests
    assert (seen.path, seen.params) == ("/there", {})
    assert "authorization" not in seen.headers
    assert api.requests[0].headers["authorization"] == "Bearer s3cr3t-t0ken"
    assert api.requests[0].params == {"a": "b", "key": "s3cr3t-t0ken"}


def test_redirects_keep_the_request_where_they_should(api):
    api.faults = [Reply(status=307, headers={"Location": "/a"}), Reply(status=303, headers={"Location": "/b"})]
    asker(api).ask(web.Request(api.url, (), "POST", b'{"q": 1}'))
    assert [(r.method, r.path, r.body) for r in api.requests] == [
        ("POST", "/", b'{"q": 1}'),
        ("POST", "/a", b'{"q": 1}'),
        ("GET", "/b", b""),
    ]
    api.faults = [Reply(status=302, headers={"Location": "/"})] * 9
    with pytest.raises(SourceError, match="in circles"):
        asker(api).ask(web.Request(api.url))


def test_what_is_asked_over_tls_is_not_sent_on_without(api):
    asking = Web(QUICK, bearer(TOKEN), "https://example.com", "the place")
    with pytest.raises(SourceError, match="without TLS"):
        asking.ask(web.Request(api.url))
    assert not api.requests


def test_answers_have_a_largest_size(api, monkeypatch):
    monkeypatch.setattr(web, "LARGEST_ANSWER", 100_000)
    api.faults = [Reply(b" " * 5_000_000, zipped=True)]
    with pytest.raises(SourceError, match="larger than") as told:
        asker(api).ask(web.Request(api.url))
    assert told.value.code == "source.too-large"


def test_gzip_and_one_connection(api):
    api.faults = [Reply(["é" * 1000], zipped=True)]
    assert asker(api).ask(web.Request(api.url)).body.startswith(b'["\\u00e9')
    for _ in range(5):
        asker(api).ask(web.Request(api.url))
    assert len(api.connections) == 1
    assert api.requests[0].headers["accept-encoding"] == "gzip"


def test_rate_limits_hold(api):
    began = time.monotonic()
    for _ in range(5):
        asker(api, Manners(rate=10)).ask(web.Request(api.url))
    assert 0.4 <= time.monotonic() - began < 3
