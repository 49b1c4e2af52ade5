"""S3 through boto3, for keys that obstore cannot tell exactly: `a//b`, `./x`, control characters."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from typing import Any, BinaryIO, cast

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tailrace.clouds.aws import boto_session, endpoint_of, region_of
from tailrace.clouds.errors import source_error
from tailrace.clouds.settings import Settings
from tailrace.sources.buckets import Entry
from tailrace.sources.key_ranges import KeyRange

_IN_MEMORY = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExactBucket:
    """Lists with boto3."""

    settings: Settings
    bucket: str

    def level(self, directory: str) -> tuple[list[str], list[Entry]]:
        names: list[str] = []
        entries: list[Entry] = []
        for page in self._asked(Prefix=directory, Delimiter="/"):
            names += [found["Prefix"][len(directory) :].removesuffix("/") for found in page.get("CommonPrefixes", ())]
            entries += [_entry(found) for found in page.get("Contents", ())]
        return names, entries

    def pages(self, keys: KeyRange) -> Iterator[list[Entry]]:
        start = {"StartAfter": keys.after} if keys.after else {}
        for page in self._asked(Prefix=keys.directory, **start):
            yield [_entry(found) for found in page.get("Contents", ())]

    def _asked(self, **request: str) -> Iterator[dict[str, Any]]:
        pager = _client(self.settings).get_paginator("list_objects_v2")
        yield from pager.paginate(Bucket=self.bucket, **request)


def open_exact(settings: Settings, bucket: str, key: str, location: str) -> BinaryIO:
    """The object, copied aside: boto3 takes up broken downloads by itself."""
    spooled = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  (whoever reads it closes it)
    try:
        _client(settings).download_fileobj(bucket, key, spooled)
    except (BotoCoreError, ClientError) as error:
        spooled.close()
        raise source_error(error, location) from None
    spooled.seek(0)
    return cast(BinaryIO, spooled)


def _client(settings: Settings) -> Any:
    tries = int(settings.number("max_error_retry_attempts", 9))
    asked = settings.flag("s3_force_path_style")
    path_style = endpoint_of(settings) is not None if asked is None else asked
    return boto_session(settings).client(
        "s3",
        endpoint_url=endpoint_of(settings),
        region_name=region_of(settings) or "us-east-1",
        config=Config(
            retries={"max_attempts": tries, "mode": "standard"},
            s3={"addressing_style": "path" if path_style else "auto"},
        ),
    )


def _entry(found: dict[str, Any]) -> Entry:
    moment = found["LastModified"].astimezone(UTC).replace(tzinfo=None)
    return Entry(found["Key"], found["Size"], found.get("ETag", "").strip('"'), moment)
