"""Blobs on Azurite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from azuriteserver import ACCOUNT, Azurite, azurite_server
from objectsources import EVER, connection, days, keys, unreadable

from tailrace.clouds import azure
from tailrace.config.model import Location
from tailrace.config.values import Secret
from tailrace.core import Artifact, ConfigError, SourceError
from tailrace.core.registry import find_table
from tailrace.sources import Source, make_source

LAYOUT = dict(find_table("azure_activity_log").file_layout)["azure_blob_storage"]
NAMES = [
    f"SUBSCRIPTIONS/{subscription}/y=2026/m=10/d={day:02}/h=0{hour}/m=00/PT1H.json"
    for subscription in ("AAA", "BBB")
    for day in range(1, 11)
    for hour in range(3)
]


@pytest.fixture(scope="module")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    with azurite_server(tmp_path_factory.mktemp("azurite")) as server:
        server.container("activity", {name: name.encode() for name in NAMES})
        server.container("odd", {name: name.encode() for name in ("a%20b%25.log", "%C3%BC/1.log", "big.log")})
        yield server


@pytest.fixture(autouse=True)
def _environment(azurite: Azurite, monkeypatch: pytest.MonkeyPatch) -> None:
    azure.store.cache_clear()
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)


def source(container: str, layout: str | None = None, account: str = ACCOUNT, **attributes: object) -> Source:
    args = {"file_layout": layout} if layout else {}
    place = Location(f"{account}/{container}", "", "*")
    return make_source("azure_blob_storage", args, connection("azure", **attributes), (place,))


def test_a_day_is_listed_and_read(azurite: Azurite) -> None:
    before = len(azurite.requests())
    blobs = source("activity", LAYOUT)
    found = list(blobs.discover(days("2026-10-07")))
    assert keys(found) == [name for name in NAMES if "d=07" in name]
    assert isinstance(found[0], Artifact)
    assert found[0].uri == f"az://{ACCOUNT}/activity/{NAMES[18]}"
    with blobs.open(found[0]) as opened:
        assert opened.read() == NAMES[18].encode()
    lists = [request for request in azurite.requests()[before:] if "comp=list" in request]
    assert sum("d%3D07" in request or "d=07" in request for request in lists) == 2
    assert not any(f"d%3D{day:02}" in request for request in lists for day in (6, 8))


def test_a_range_over_several_days_and_everything() -> None:
    blobs = source("activity", LAYOUT)
    assert len(keys(blobs.discover(days("2026-10-03", 5)))) == 2 * 5 * 3
    assert keys(blobs.discover(EVER)) == sorted(NAMES)


def test_odd_names() -> None:
    blobs = source("odd")
    found = [item for item in blobs.discover(EVER) if isinstance(item, Artifact)]
    assert keys(found) == ["a b%.log", "big.log", "ü/1.log"]
    for artifact in found:
        with blobs.open(artifact) as opened:
            assert opened.read()


def test_what_is_not_there() -> None:
    (trouble,) = unreadable(source("nowhere").discover(EVER))
    assert (trouble.code, trouble.location) == ("source.gone", f"az://{ACCOUNT}/nowhere/")
    assert trouble.reason == "cannot be listed: no such container (404, ContainerNotFound)"
    gone = Artifact(f"az://{ACCOUNT}/odd/none.log", 1, "v", "azure_blob_storage", "odd", "none.log")
    with pytest.raises(SourceError) as raised:
        source("odd").open(gone)
    assert raised.value.code == "source.gone"


def test_a_wrong_key_is_denied_and_not_shown(azurite: Azurite, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = azurite.connection_string.replace("Eby8", "AAAA")
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", wrong)
    (trouble,) = unreadable(source("odd").discover(EVER))
    assert trouble.code == "source.denied"
    assert "AAAA" not in trouble.reason


def test_what_does_not_fit_together() -> None:
    with pytest.raises(ConfigError, match="there is no environment 'MOON'"):
        source("odd", environment="MOON")
    with pytest.raises(ConfigError, match="client_secret goes with client_id and tenant_id"):
        source("odd", client_secret=Secret("x"))
    with pytest.raises(ConfigError, match="'certificate_path' cannot be used"):
        source("odd", certificate_path="/x.pem")
