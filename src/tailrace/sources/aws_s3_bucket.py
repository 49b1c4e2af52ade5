"""Source `aws_s3_bucket`: objects of S3, or of a server that speaks its protocol."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from tailrace.clouds import s3
from tailrace.clouds.settings import Settings
from tailrace.sources.base import Given
from tailrace.sources.buckets import Bucket
from tailrace.sources.objects import ObjectSource, object_source

if TYPE_CHECKING:
    from obstore.store import S3Store

KIND = "aws_s3_bucket"


@dataclass(frozen=True, slots=True)
class S3Access:
    """S3 through a connection."""

    scheme: ClassVar[str] = "s3"
    settings: Settings

    def store(self, container: str) -> S3Store:
        return s3.store(self.settings, container)

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
    s3.check(settings)
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
