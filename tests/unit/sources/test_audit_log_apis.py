"""The APIs of GitHub, Okta, Pipes, Google and Azure, each played by a server that asks and answers as they do."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from apiserver import Reply, Request, serving

from tailrace.config.model import ConnectionSpec
from tailrace.config.places import Where
from tailrace.config.values import Secret
from tailrace.core import ConfigError, TimeRange
from tailrace.sources import Unreadable, make_source
from tailrace.sources.slices import utc_now

HOUR = timedelta(hours=1)
NOW = utc_now().replace(minute=0, second=0, microsecond=0)
START = NOW - timedelta(days=2, hours=NOW.hour)
"Midnight, not long ago: some services forget what is older than 90 days."
MOMENTS = [START + n * timedelta(minutes=12, milliseconds=500 * (n % 2)) for n in range(15)]
"Three hours, with an event at the very beginning of each."
TOKEN = Secret("t0ken")


def connection(type: str, **args: object) -> ConnectionSpec:
    return ConnectionSpec(type, "c", args, Where("a.tpc", 1, 1))


def rfc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def read_all(source) -> tuple[list[str], list[dict]]:
    artifacts = list(source.discover(TimeRange(START, START + 3 * HOUR)))
    rows = []
    for artifact in artifacts:
        with source.open(artifact) as raw:
            rows += [json.loads(line) for line in raw.read().splitlines()]
    return [a.uri for a in artifacts], rows


def github(request: Request) -> Reply:
    assert request.headers["authorization"] == "Bearer t0ken"
    assert request.path == "/api/v3/orgs/acme/audit-log"
    words = request.params["phrase"].split()
    assert words[:-1] == ["actor:bob"]
    assert request.params["include"] == "all"
    since, until = (datetime.fromisoformat(t) for t in words[-1].removeprefix("created:").split(".."))
    held = [m.replace(tzinfo=UTC) for m in MOMENTS]
    # To the second, and both ends belong to the range.
    found = [m for m in held if since <= m.replace(microsecond=0) <= until]
    after = int(request.params.get("after", 0))
    page = [{"@timestamp": int(m.timestamp() * 1000), "action": "repo.create"} for m in found[after : after + 2]]
    query = f"phrase={words[0]}+{words[1]}&include=all&after={after + 2}"
    here = f"http://{request.headers['host']}{request.path}"
    link = f'<{here}>; rel="prev", <{here}?{query}>; rel="next"'
    return Reply(page, headers={"Link": link} if after + 2 < len(found) else {})


def test_github():
    with serving(github) as api:
        given = connection("github", token=TOKEN, base_url=api.url)
        args = {"organization": "acme", "phrase": "actor:bob", "include": "all"}
        uris, rows = read_all(make_source("github_audit_log_api", args, given))
    host = api.url.removeprefix("http://")
    stamp = f"{START:%Y-%m-%dT%H:%M:%SZ}"
    assert uris[-1].startswith(f"github://{host}/api/v3/orgs/acme/audit-log?include=all&phrase=actor:bob&from={stamp}")
    assert sorted(row["@timestamp"] for row in rows) == [int(m.replace(tzinfo=UTC).timestamp() * 1000) for m in MOMENTS]


def test_github_com_needs_no_address_but_a_token(monkeypatch):
    args = {"organization": "acme"}
    monkeypatch.setenv("GITHUB_TOKEN", "from the environment")
    source = make_source("github_audit_log_api", args)
    assert source.api.url == "https://api.github.com/orgs/acme/audit-log"
    assert "environment" not in repr(source)
    monkeypatch.delenv("GITHUB_TOKEN")
    with pytest.raises(ConfigError, match="needs a connection of type github with `token`") as error:
        make_source("github_audit_log_api", args)
    assert "connection.github.main" in error.value.hint


def okta(request: Request) -> Reply:
    assert request.headers["authorization"] == "SSWS t0ken"
    assert request.path == "/api/v1/logs"
    assert request.params["filter"] == 'eventType eq "user.session.start"'
    asked = request.params
    found = [rfc(m) for m in MOMENTS if asked["since"] <= rfc(m).replace(".000Z", "Z") < asked["until"]]
    after = int(asked.get("after", 0))
    page = [{"published": m, "uuid": m} for m in found[after : after + 2]]
    filter = asked["filter"].replace(" ", "%20").replace('"', "%22")
    query = f"since={asked['since']}&until={asked['until']}&filter={filter}&after={after + 2}"
    headers = {"X-Rate-Limit-Remaining": "50"}
    if after + 2 < len(found):
        headers["Link"] = f'<http://{request.headers["host"]}{request.path}?{query}>; rel="next"'
    return Reply(page, headers=headers)


def test_okta():
    with serving(okta) as api:
        given = connection("okta", token=TOKEN, domain=api.url)
        uris, rows = read_all(
            make_source("okta_system_log_api", {"filter": 'eventType eq "user.session.start"'}, given)
        )
    assert uris[-1].startswith("okta://127.0.0.1")
    assert "filter=eventType%20eq%20%22user.session.start%22" in uris[-1]
    assert sorted(row["published"] for row in rows) == [rfc(m) for m in MOMENTS]


def test_what_a_service_has_forgotten_is_told():
    given = connection("okta", token=TOKEN, domain="acme.okta.com")
    found = list(make_source("okta_system_log_api", {}, given).discover(TimeRange(NOW - timedelta(days=100), None)))
    forgotten, artifacts = found[0], found[1:]
    assert isinstance(forgotten, Unreadable)
    assert "remembers 90 days" in forgotten.reason
    assert len(artifacts) in (90 * 24, 90 * 24 + 1)
    assert all(a.day == b.day or a.day - b.day == timedelta(days=1) for a, b in pairwise(artifacts))


def pipes(request: Request) -> Reply:
    assert request.headers["authorization"] == "Bearer t0ken"
    assert request.path == "/api/v0/org/acme/audit_log"
    newest_first = [{"id": str(n), "created_at": rfc(m)} for n, m in enumerate(MOMENTS)][::-1]
    at = int(request.params.get("next_token", 0))
    more = {"next_token": str(at + 4)} if at + 4 < len(newest_first) else {}
    return Reply({"items": newest_first[at : at + 4], **more})


def test_pipes():
    with serving(pipes) as api:
        source = make_source(
            "pipes_audit_log_api", {}, connection("pipes", token=TOKEN, org_handle="acme", host=api.url)
        )
        uris, rows = read_all(source)
        assert len(uris) == 1
        assert sorted(row["created_at"] for row in rows) == [rfc(m) for m in MOMENTS]
        api.requests.clear()
        (later,) = source.discover(TimeRange(START + timedelta(days=1), START + timedelta(days=1, hours=1)))
        with source.open(later) as raw:
            assert raw.read() == b""
        assert len(api.requests) == 1, "the first page shows that the day holds nothing"


def google(request: Request) -> Reply:
    assert request.headers["authorization"] == "Bearer t0ken"
    asked = request.json()
    assert asked["resourceNames"] == ["projects/acme"]
    names = "cloudaudit.googleapis.com%2F"
    logs = f'logName=("projects/acme/logs/{names}activity" OR "projects/acme/logs/{names}policy")'
    assert asked["filter"].startswith(f'{logs} AND timestamp>="')
    assert asked["filter"].endswith(" AND (severity>=WARNING)")
    since, until = asked["filter"].split('"')[5], asked["filter"].split('"')[7]
    found = [m for m in map(rfc, MOMENTS) if since <= m.replace(".000Z", "Z") < until]
    at = int(asked.get("pageToken", 0))
    page = [{"timestamp": m, "insertId": m} for m in found[at : at + 2]]
    return Reply(({"entries": page} if page else {}) | ({"nextPageToken": str(at + 2)} if at + 2 <= len(found) else {}))


def test_google():
    with serving(google) as api:
        given = connection("gcp", project="acme", impersonate_access_token=TOKEN)
        args = {"log_types": ("policy", "activity"), "filter": "severity>=WARNING"}
        source = make_source("gcp_audit_log_api", args, given)
        source = replace(source, api=replace(source.api, url=f"{api.url}/v2/entries:list"))
        uris, rows = read_all(source)
    assert "gcp-logging://projects/acme?log_types=activity,policy&filter=severity%3E%3DWARNING&from=" in uris[0]
    assert sorted(row["timestamp"] for row in rows) == [rfc(m) for m in MOMENTS]


def azure(request: Request) -> Reply:
    if request.path.endswith("/oauth2/v2.0/token"):
        return Reply({"access_token": "t0ken", "expires_in": 3600})
    assert request.headers["authorization"] == "Bearer t0ken"
    since, until = request.params["$filter"].split("'")[1::2]
    found = [m for m in map(rfc, MOMENTS) if since <= m.replace(".000Z", "Z") <= until]
    at = int(request.params.get("$skip", 0))
    following = f"http://{request.headers['host']}{request.path}?%24filter={request.params['$filter']}&%24skip={at + 2}"
    more = {"nextLink": following.replace(" ", "%20")} if at + 2 < len(found) else {}
    return Reply({"value": [{"eventTimestamp": m} for m in found[at : at + 2]], **more})


def test_azure(monkeypatch):
    with serving(azure) as api:
        from tailrace.sources import azure_login

        cloud = azure_login.Cloud("management.azure.com", api.url)
        monkeypatch.setitem(azure_login.CLOUDS, "AZUREPUBLICCLOUD", cloud)
        given = connection("azure", tenant_id="t", client_id="c", client_secret=TOKEN, subscription_id="s-1")
        source = make_source("azure_activity_log_api", {}, given)
        assert source.api.url.startswith("https://management.azure.com/subscriptions/s-1/providers/")
        source = replace(source, api=replace(source.api, url=f"{api.url}/values"))
        uris, rows = read_all(source)
        assert sum(r.path.endswith("token") for r in api.requests) == 1, "one token serves all slices"
    assert uris[-1].startswith("azure-activity://management.azure.com/subscriptions/s-1?from=")
    assert sorted(row["eventTimestamp"] for row in rows) == [rfc(m) for m in MOMENTS]
