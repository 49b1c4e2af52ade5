"""Source `aws_s3_bucket`: objects of S3, or of a server that speaks its protocol."""

from __future__ import annotations

import http.client
import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, ClassVar
from urllib.parse import urlsplit

from tailrace.core import ConfigError
from tailrace.sources.access import Settings, client_options, retry_config
from tailrace.sources.aws_access import checked_credentials, endpoint_of, needs_session, region_of
from tailrace.sources.base import Given
from tailrace.sources.buckets import Bucket
from tailrace.sources.objects import ObjectSource, object_source

if TYPE_CHECKING:
    from obstore.store import S3Config, S3Store

KIND = "aws_s3_bucket"


@dataclass(frozen=True, slots=True)
class S3Access:
    """S3 through a connection."""

    scheme: ClassVar[str] = "s3"
    settings: Settings

    def store(self, container: str) -> S3Store:
        return _store(self.settings, container)

    def exact_bucket(self, container: str) -> Bucket | None:
        if importlib.util.find_spec("boto3") is None:
            return None
        from tailrace.sources.s3_exact import ExactBucket

        return ExactBucket(self.settings, container)

    def exact_open(self, container: str, key: str, location: str) -> BinaryIO | None:
        if importlib.util.find_spec("boto3") is None:
            return None
        from tailrace.sources.s3_exact import open_exact

        return open_exact(self.settings, container, key, location)


def make(given: Given) -> ObjectSource:
    """`bucket` and `prefix`, or `paths`; `region`, `file_layout`, `patterns`; `sqs_queue_url`."""
    settings = Settings.of(given.connection, "aws", **_region(given))
    if bool(settings.text("access_key")) != bool(settings.text("secret_key")):
        raise ConfigError(
            f"connection aws.{settings.name} needs access_key and secret_key together", code="config.missing-attribute"
        )
    access = S3Access(settings)
    listed = object_source(KIND, given, access)
    queue = given.args.get("sqs_queue_url")
    if queue is None:
        return listed
    from tailrace.sources.s3_notified import notified

    return notified(listed, str(queue), settings)


def _region(given: Given) -> dict[str, object]:
    region = given.args.get("region")
    return {"region": region} if region else {}


@lru_cache(maxsize=256)
def _store(settings: Settings, bucket: str) -> S3Store:
    from obstore.store import S3Store

    endpoint = endpoint_of(settings)
    config: S3Config = {"region": region_of(settings) or _region_of_bucket(bucket, endpoint)}
    path_style = settings.flag("s3_force_path_style")
    in_host = "." not in bucket if path_style is None and endpoint is None else path_style is False
    config["virtual_hosted_style_request"] = in_host
    if endpoint:
        url = urlsplit(endpoint)
        config["endpoint"] = f"{url.scheme}://{bucket}.{url.netloc}{url.path}" if in_host else endpoint
    credentials = checked_credentials(settings) if needs_session(settings) else None
    key, secret, token = (settings.text(name) for name in ("access_key", "secret_key", "session_token"))
    if credentials is None and key and secret:
        config |= {"access_key_id": key, "secret_access_key": secret}
        config |= {"session_token": token} if token else {}
    return S3Store(
        bucket,
        config=config,
        client_options=client_options(endpoint),
        retry_config=retry_config(settings),
        credential_provider=credentials,
    )


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
