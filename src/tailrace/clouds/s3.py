"""Clients of S3, or of a server that speaks its protocol."""

from __future__ import annotations

import http.client
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tailrace.clouds.aws import SessionCredentials, checked_credentials, endpoint_of, needs_session, region_of
from tailrace.clouds.settings import Settings, client_options, delta_client, retry_config
from tailrace.core import ConfigError

if TYPE_CHECKING:
    from obstore.store import S3Config, S3Store


def check(settings: Settings) -> None:
    """ConfigError where the connection cannot be meant."""
    if bool(settings.text("access_key")) != bool(settings.text("secret_key")):
        raise ConfigError(
            f"connection aws.{settings.name} needs access_key and secret_key together", code="config.missing-attribute"
        )


@lru_cache(maxsize=256)
def store(settings: Settings, bucket: str) -> S3Store:
    """A client, kept for the life of the process."""
    from obstore.store import S3Store

    return S3Store(
        bucket,
        config=_config(settings, bucket),
        client_options=client_options(endpoint_of(settings)),
        retry_config=retry_config(settings),
        credential_provider=_session(settings),
    )


def delta_options(settings: Settings, bucket: str) -> dict[str, str]:
    """The same for delta-rs, which renews nothing: keys of a session are those of this moment."""
    options = {f"aws_{name}": str(value) for name, value in _config(settings, bucket).items()}
    options["aws_virtual_hosted_style_request"] = options["aws_virtual_hosted_style_request"].lower()
    # What makes two writers of one version know of each other.
    options["aws_conditional_put"] = "etag"
    options |= delta_client(settings, endpoint_of(settings))
    session = _session(settings)
    if session is not None:
        keys = session()
        options |= {"aws_access_key_id": keys["access_key_id"], "aws_secret_access_key": keys["secret_access_key"]}
        options |= {"aws_session_token": keys["token"]} if keys["token"] else {}
    return options


def has_session(settings: Settings) -> bool:
    """Are its keys those of a session, which expire and are renewed?"""
    return needs_session(settings)


def _session(settings: Settings) -> SessionCredentials | None:
    return checked_credentials(settings) if needs_session(settings) else None


def _config(settings: Settings, bucket: str) -> S3Config:
    endpoint = endpoint_of(settings)
    config: S3Config = {"region": region_of(settings) or _region_of_bucket(bucket, endpoint)}
    path_style = settings.flag("s3_force_path_style")
    in_host = "." not in bucket if path_style is None and endpoint is None else path_style is False
    config["virtual_hosted_style_request"] = in_host
    if endpoint:
        url = urlsplit(endpoint)
        config["endpoint"] = f"{url.scheme}://{bucket}.{url.netloc}{url.path}" if in_host else endpoint
    key, secret, token = (settings.text(name) for name in ("access_key", "secret_key", "session_token"))
    if key and secret and not needs_session(settings):
        config |= {"access_key_id": key, "secret_access_key": secret}
        config |= {"session_token": token} if token else {}
    return config


@lru_cache(maxsize=256)
def _region_of_bucket(bucket: str, endpoint: str | None) -> str:
    """S3 tells anybody where a bucket lies; other servers mostly do not care."""
    if endpoint is None:
        try:
            connection = http.client.HTTPSConnection("s3.amazonaws.com", timeout=5)
            connection.request("HEAD", f"/{bucket}")
            return connection.getresponse().getheader("x-amz-bucket-region") or "us-east-1"
        except OSError:
            pass  # the request that follows tells what is wrong
    return "us-east-1"
