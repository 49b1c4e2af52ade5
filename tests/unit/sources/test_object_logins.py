"""Logins of object stores: a stand-in grants tokens, and looks at who signed what."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from urllib.parse import parse_qs

import pytest
from apiserver import ApiServer, Reply, Request, serving
from bucketserver import BucketServer
from bucketserver import serving as serving_bucket
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from objectsources import EVER, connection, keys, unreadable

from tailrace.clouds import azure as clients
from tailrace.clouds import gcs
from tailrace.config.model import Location
from tailrace.config.values import Secret
from tailrace.core import Artifact
from tailrace.sources import Source, make_source

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
BLOBS = """<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs><Blob><Name>a.log</Name><Properties>
<Last-Modified>Sun, 01 Nov 2026 00:00:00 GMT</Last-Modified><Etag>0x8D</Etag><Content-Length>4</Content-Length>
<Content-Type>text/plain</Content-Type>
</Properties></Blob></Blobs><NextMarker/></EnumerationResults>"""


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    clients.store.cache_clear()
    gcs.store.cache_clear()
    for name in ("AZURE_STORAGE_CONNECTION_STRING", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)


def azure(request: Request) -> Reply:
    """Tokens of a tenant, and the blobs of an account for whoever has one."""
    if request.path == "/tenant/oauth2/v2.0/token":
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        if form["client_secret"] != "right":
            return Reply({"error": "invalid_client"}, 401)
        return Reply({"access_token": "granted", "token_type": "Bearer", "expires_in": 3600})
    if request.headers.get("authorization") != "Bearer granted":
        return Reply(b"<Error><Code>AuthenticationFailed</Code></Error>", 403)
    if request.params.get("comp") == "list":
        return Reply(BLOBS.encode(), headers={"Content-Type": "application/xml"})
    return Reply(b"data", headers={"ETag": '"0x8D"', "Last-Modified": "Sun, 01 Nov 2026 00:00:00 GMT"})


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    with serving(azure) as api:
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", api.url)
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"AccountName=acme;BlobEndpoint={api.url}/acme")
        yield api


def blobs(secret: str) -> Source:
    who = connection("azure", tenant_id="tenant", client_id="client", client_secret=Secret(secret))
    return make_source("azure_blob_storage", {}, who, (Location("acme/logs", "", "*"),))


def test_a_client_of_azure_gets_one_token_for_all(api: ApiServer) -> None:
    source = blobs("right")
    (found,) = source.discover(EVER)
    assert isinstance(found, Artifact)
    with source.open(found) as opened:
        assert opened.read() == b"data"
    asked = [request for request in api.requests if request.method == "POST"]
    assert len(asked) == 1
    form = {name: values[0] for name, values in parse_qs(asked[0].body.decode()).items()}
    assert (form["grant_type"], form["client_id"]) == ("client_credentials", "client")
    assert form["scope"] == "https://storage.azure.com/.default"


def test_a_client_of_azure_that_is_refused_is_told_without_its_secret(api: ApiServer) -> None:
    (trouble,) = unreadable(blobs("wrong-secret").discover(EVER))
    assert trouble.code == "source.denied"
    assert "wrong-secret" not in trouble.reason


def test_a_service_account_of_google_signs_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Google takes a statement that the account has signed in place of a token."""
    text = json.dumps({"type": "service_account", "client_email": "me@p", "private_key": PEM, "private_key_id": "k1"})
    with serving_bucket(BucketServer({"a.log": b"x"})) as server:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        who = connection("gcp", credentials=Secret(text))
        found = list(make_source("gcp_storage_bucket", {}, who, (Location("logs", "", "*"),)).discover(EVER))
    assert keys(found) == ["a.log"]
    (header,) = {headers["authorization"] for _, _, headers in server.requests}
    head, claims, signature = header.removeprefix("Bearer ").split(".")
    decoded = [urlsafe_b64decode(part + "===") for part in (head, claims, signature)]
    KEY.public_key().verify(decoded[2], f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())
    assert json.loads(decoded[0])["kid"] == "k1"
    told = json.loads(decoded[1])
    assert (told["iss"], told["sub"]) == ("me@p", "me@p")
    assert told["scope"] == "https://www.googleapis.com/auth/cloud-platform"


def test_a_key_file_of_google_that_is_none_shows_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_bucket(BucketServer({"a.log": b"x"})) as server:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        who = connection("gcp", credentials=Secret('{"type": "service_account", "private_key": "s3cret"}'))
        try:
            told = str(list(make_source("gcp_storage_bucket", {}, who, (Location("logs", "", "*"),)).discover(EVER)))
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
    assert "s3cret" not in told
    assert server.requests == []
