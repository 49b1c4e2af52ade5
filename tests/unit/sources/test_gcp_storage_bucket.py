"""Google Cloud Storage: a small server that speaks the XML protocol which obstore uses stands in for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bucketserver import BucketServer, serving
from objectsources import EVER, connection, days, keys, unreadable

from tailrace.clouds import gcs
from tailrace.config.model import Location
from tailrace.config.values import Secret
from tailrace.core import Artifact, ConfigError
from tailrace.core.registry import find_table
from tailrace.sources import Source, make_source

NAMES = [f"cloudaudit.googleapis.com/activity/2026/10/{day:02}/01:00:00_01:59:59_S0.json" for day in range(1, 31)]
LAYOUT = dict(find_table("gcp_audit_log").file_layout)["gcp_storage_bucket"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketServer]:
    gcs.store.cache_clear()
    with serving(BucketServer({name: name.encode() for name in NAMES})) as server:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        yield server


def source(layout: str | None = LAYOUT, **attributes: object) -> Source:
    args = {"file_layout": layout} if layout else {}
    return make_source("gcp_storage_bucket", args, connection("gcp", **attributes), (Location("logs", "", "*"),))


def test_a_day_is_listed_and_read(server: BucketServer) -> None:
    gcs = source()
    (found,) = gcs.discover(days("2026-10-07"))
    assert isinstance(found, Artifact)
    assert found.uri == "gs://logs/cloudaudit.googleapis.com/activity/2026/10/07/01:00:00_01:59:59_S0.json"
    assert (found.hour, found.source_type, found.source_name) == (1, "gcp_storage_bucket", "logs")
    with gcs.open(found) as opened:
        assert opened.read() == found.location.encode()
    assert {query["prefix"] for query in server.lists()} == {
        "cloudaudit.googleapis.com/",
        "cloudaudit.googleapis.com/activity/",
        "cloudaudit.googleapis.com/activity/2026/10/07/",
    }


def test_objects_are_sent_as_stored_and_the_project_is_charged(server: BucketServer) -> None:
    list(source(quota_project="billing").discover(days("2026-10-07")))
    headers = [headers for _, _, headers in server.requests]
    assert {h["accept-encoding"] for h in headers} == {"gzip"}
    assert {h["x-goog-user-project"] for h in headers} == {"billing"}


def test_a_token_signs(server: BucketServer) -> None:
    list(source(impersonate_access_token=Secret("ya29.token")).discover(days("2026-10-07")))
    assert {h["authorization"] for _, _, h in server.requests} == {"Bearer ya29.token"}


def test_names_that_cannot_be_asked_for_cost_their_directory_alone(server: BucketServer) -> None:
    server.objects = {"a/1.log": b"x", "b//2.log": b"x", "b/3.log": b"x", "c/d/4.log": b"x", "e.log": b"x"}
    found = list(source(None).discover(EVER))
    assert sorted(keys(found)) == ["a/1.log", "c/d/4.log", "e.log"]
    assert [(u.location, u.code) for u in unreadable(found)] == [("gs://logs/b/", "source.special")]


def test_credentials_are_text_or_path(server: BucketServer, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="neither the text of a key file nor the path of one") as raised:
        list(source(credentials=Secret(str(tmp_path / "none.json"))).discover(EVER))
    assert "none.json" not in str(raised.value)
    with pytest.raises(ConfigError, match="'impersonate_service_account' cannot be used"):
        source(impersonate_service_account="robot@x.iam.gserviceaccount.com")
