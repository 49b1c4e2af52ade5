"""Credentials of AWS against moto's S3 and STS: who signed what, and what is told when nobody may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from motobuckets import Moto, moto_buckets
from objectsources import EVER, connection, keys, unreadable

from tailrace.clouds import aws, s3
from tailrace.config.model import Location
from tailrace.config.values import Secret
from tailrace.core import ConfigError
from tailrace.sources import Found, make_source

ROLE = "arn:aws:iam::123456789012:role/reader"


@pytest.fixture
def moto(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Moto]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    s3.store.cache_clear()
    aws.boto_session.cache_clear()
    with moto_buckets() as server:
        server.bucket("logs", {"a/1.log": b"one", "a/2.log": b"two"})
        yield server


def listed(moto: Moto, **attributes: object) -> list[Found]:
    spec = connection("aws", endpoint_url=moto.url, **attributes)
    source = make_source("aws_s3_bucket", {"region": "eu-west-1"}, spec, (Location("logs", "a/", "*"),))
    return list(source.discover(EVER))


def test_keys_of_the_connection(moto: Moto) -> None:
    found = listed(moto, access_key=Secret("AKIDONE"), secret_key=Secret("s"), session_token=Secret("t"))
    assert keys(found) == ["a/1.log", "a/2.log"]
    assert moto.signers() == {"AKIDONE"}


def test_a_profile_of_the_shared_files(moto: Moto, tmp_path: Path) -> None:
    profile = "[reader]\naws_access_key_id = AKIDFILE\naws_secret_access_key = s\n"
    (tmp_path / "credentials").write_text(profile)
    assert keys(listed(moto, profile="reader")) == ["a/1.log", "a/2.log"]
    assert moto.signers() == {"AKIDFILE"}
    (trouble,) = unreadable(listed(moto, profile="nobody"))
    assert (trouble.code, trouble.reason) == ("source.denied", "profile 'nobody' was not found")


def test_a_role_is_assumed_with_its_external_id(moto: Moto) -> None:
    more = {"role_arn": ROLE, "external_id": Secret("ours"), "session_name": "nightly"}
    found = listed(moto, access_key=Secret("AKIDBASE"), secret_key=Secret("s"), **more)
    assert keys(found) == ["a/1.log", "a/2.log"]
    (assumed,) = moto.signers() - {"AKIDBASE"}
    assert assumed.startswith("ASIA")
    assert {path for method, path, query in moto.requests if query.get("key") == "AKIDBASE"} == {"/"}
    moto.denied.add("/")
    aws.boto_session.cache_clear()
    s3.store.cache_clear()
    (trouble,) = unreadable(listed(moto, access_key=Secret("AKIDBASE"), secret_key=Secret("s"), **more))
    assert trouble.reason == f"role {ROLE} cannot be assumed: access denied (AccessDenied)"


def test_the_default_chain(moto: Moto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (trouble,) = unreadable(listed(moto))
    assert trouble.code == "source.denied"
    assert "no credentials were found" in trouble.reason
    s3.store.cache_clear()
    (tmp_path / "credentials").write_text("[default]\naws_access_key_id = AKIDDEF\naws_secret_access_key = s\n")
    assert keys(listed(moto))
    assert moto.signers() == {"AKIDDEF"}
    moto.requests.clear()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    s3.store.cache_clear()
    assert keys(listed(moto))
    assert moto.signers() == {"AKIDENV"}


def test_what_does_not_fit_together_is_told_before_any_request(moto: Moto) -> None:
    with pytest.raises(ConfigError, match="access_key and secret_key together"):
        listed(moto, access_key=Secret("AKIDONE"))
    with pytest.raises(ConfigError, match="takes a connection of type aws, not gcp"):
        make_source("aws_s3_bucket", {}, connection("gcp"), (Location("logs", "", "*"),))
    assert not moto.requests


def test_a_bucket_that_does_not_exist(moto: Moto) -> None:
    spec = connection("aws", endpoint_url=moto.url, access_key=Secret("AKIDONE"), secret_key=Secret("s"))
    (trouble,) = unreadable(make_source("aws_s3_bucket", {}, spec, (Location("nope", "", "*"),)).discover(EVER))
    assert (trouble.code, trouble.location) == ("source.gone", "s3://nope/")
    assert "no such bucket" in trouble.reason
