"""What all sources promise that are asked: stable artifacts, bytes as often as wanted, a journey, and silence."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise

import pytest
from apiserver import ApiServer, Reply, serving
from kafkabroker import Broker
from motoserver import aws, moto_server

from tailrace.config.declare_sources import KINDS
from tailrace.config.model import ConnectionSpec
from tailrace.config.places import Where
from tailrace.config.values import Secret
from tailrace.core import Artifact, TimeRange
from tailrace.sources import Source, make_source, source_kinds
from tailrace.sources.base import Asked, Unreadable
from tailrace.sources.slices import utc_now

END = utc_now().replace(minute=0, second=0, microsecond=0) - timedelta(days=2)
START = END - timedelta(hours=5)
WINDOW = TimeRange(START, END)
HIDDEN = "c0nfidential"
SECRET = Secret(HIDDEN)


@dataclass
class Servers:
    api: ApiServer
    moto: str
    broker: Broker


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    broker = Broker()
    broker.send("topic", ({"n": n} for n in range(20)), lambda n: n % 2)
    record = {"@timestamp": f"{START:%Y-%m-%dT%H:%M:%SZ}", "created_at": f"{START:%Y-%m-%dT%H:%M:%SZ}"}
    held = {name: [record] for name in ("items", "entries", "value")}
    with serving(lambda r: Reply(held if r.path == "/held" else [record])) as api, moto_server() as moto:
        aws("logs", moto).create_log_group(logGroupName="/g")
        yield Servers(api, moto, broker)


def _made(kind: str, args: dict, type: str = "", **given: object) -> Source:
    connection = ConnectionSpec(type, "c", given, Where("a.tpc", 1, 1)) if type else None
    return make_source(kind, args, connection)


def _sent_to(source: Source, servers: Servers) -> Source:
    """Services with an address that nobody can change, played by the server."""
    return replace(source, api=replace(source.api, url=f"{servers.api.url}/held"))  # type: ignore[attr-defined,type-var]


MAKERS: dict[str, Callable[[Servers], Source]] = {
    "http": lambda s: _made("http", {"url": s.api.url, "params": {"a": "{from}"}}, "http", token=SECRET),
    "command": lambda _: _made(
        "command", {"command": (sys.executable, "-c", "print(1)", "{from}"), "env": {"X": SECRET}}
    ),
    "kafka": lambda s: _made(
        "kafka", {"brokers": (s.broker.address,), "topics": ("topic",), "options": {"client.rack": SECRET}}
    ),
    "aws_cloudwatch_log_group": lambda s: _made(
        "aws_cloudwatch_log_group", {"log_group_name": "/g"}, "aws",
        access_key=Secret("k"), secret_key=SECRET, region="eu-west-1", endpoint_url=s.moto,
    ),
    "github_audit_log_api": lambda s: _made(
        "github_audit_log_api", {"organization": "acme"}, "github", token=SECRET, base_url=s.api.url
    ),
    "okta_system_log_api": lambda s: _made("okta_system_log_api", {}, "okta", token=SECRET, domain=s.api.url),
    "pipes_audit_log_api": lambda s: _sent_to(
        _made("pipes_audit_log_api", {}, "pipes", token=SECRET, org_handle="acme", host=s.api.url), s
    ),
    "gcp_audit_log_api": lambda s: _sent_to(
        _made("gcp_audit_log_api", {}, "gcp", project="p", impersonate_access_token=SECRET), s
    ),
    "azure_activity_log_api": lambda s: replace(
        azure := _sent_to(
            _made("azure_activity_log_api", {}, "azure", subscription_id="s", tenant_id="t", client_id="c",
                  client_secret=SECRET), s,
        ),
        api=replace(azure.api, auth=MAKERS["http"](s).api.auth),  # type: ignore[attr-defined]
    ),
}  # fmt: skip


@pytest.fixture(params=MAKERS)
def source(request: pytest.FixtureRequest, servers: Servers) -> Source:
    return MAKERS[request.param](servers)


def artifacts(source: Source, window: TimeRange = WINDOW) -> list[Artifact]:
    return [found for found in source.discover(window) if isinstance(found, Artifact)]


def content(source: Source, artifact: Artifact) -> bytes:
    with source.open(artifact) as raw:
        return raw.read()


def test_every_kind_that_is_asked_is_here():
    asked = {kind for kind in source_kinds() if KINDS[kind].active and "paths" not in KINDS[kind].attributes}
    assert {kind for kind in asked if not kind.endswith(("_bucket", "_storage"))} == set(MAKERS)


def test_artifacts_are_stable_and_say_what_they_are(source):
    found = artifacts(source)
    assert found
    assert found == artifacts(source)
    assert len({a.uri for a in found}) == len(found)
    for artifact in found:
        assert artifact.source_type == source.kind
        assert "://" in artifact.uri
        assert artifact.location
        assert (artifact.version, artifact.size) == ("whole", 0)
    assert not [f for f in source.discover(WINDOW) if isinstance(f, Unreadable)]


def test_slices_cover_the_window_newest_first(source):
    found = artifacts(source)
    if found[0].day is None:
        return
    assert all(a.day >= b.day for a, b in pairwise(found))
    assert {a.day for a in found} == {START.date(), (END - timedelta(seconds=1)).date()}
    inner = artifacts(source, TimeRange(START + timedelta(minutes=70), START + timedelta(minutes=80)))
    assert len(inner) == 1
    assert inner[0] in found


def test_bytes_come_as_often_as_asked_and_in_small_pieces(source):
    artifact = artifacts(source)[-1]
    whole = content(source, artifact)
    assert whole == content(source, artifact)
    with source.open(artifact) as raw:
        assert b"".join(iter(lambda: raw.read(3), b"")) == whole
    with source.open(artifact) as raw:
        raw.read(1)
    assert raw.closed


def test_a_source_travels_to_the_tasks(source):
    there = pickle.loads(pickle.dumps(source))
    assert there == source
    artifact = artifacts(source)[-1]
    assert content(there, pickle.loads(pickle.dumps(artifact))) == content(source, artifact)


def test_no_secret_shows(source):
    assert isinstance(source, Asked)
    shown = [repr(source), str(source), *(repr(artifact) for artifact in artifacts(source))]
    assert not [text for text in shown if HIDDEN in text]
