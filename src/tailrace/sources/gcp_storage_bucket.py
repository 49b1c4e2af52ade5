"""Source `gcp_storage_bucket`: objects of Google Cloud Storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from tailrace.clouds import gcs
from tailrace.clouds.settings import Settings
from tailrace.sources.base import Given
from tailrace.sources.buckets import Bucket
from tailrace.sources.objects import ObjectSource, object_source

if TYPE_CHECKING:
    from obstore.store import GCSStore

KIND = "gcp_storage_bucket"


@dataclass(frozen=True, slots=True)
class GcsAccess:
    """Google Cloud Storage through a connection."""

    scheme: ClassVar[str] = "gs"
    settings: Settings

    def store(self, container: str) -> GCSStore:
        return gcs.store(self.settings, container)

    def exact_bucket(self, container: str) -> Bucket | None:
        return None

    def exact_open(self, container: str, key: str, location: str) -> BinaryIO | None:
        return None


def make(given: Given) -> ObjectSource:
    """`bucket` and `prefix`, or `paths`; `file_layout`, `patterns`."""
    settings = Settings.of(given.connection, "gcp")
    gcs.check(settings)
    return object_source(KIND, given, GcsAccess(settings))
