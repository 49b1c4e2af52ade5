"""Source `azure_blob_storage`: blobs of a container."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from tailrace.clouds import azure
from tailrace.clouds.settings import Settings
from tailrace.sources.base import Given
from tailrace.sources.buckets import Bucket
from tailrace.sources.objects import ObjectSource, object_source

if TYPE_CHECKING:
    from obstore.store import AzureStore

KIND = "azure_blob_storage"


@dataclass(frozen=True, slots=True)
class AzureAccess:
    """Azure's blobs through a connection."""

    scheme: ClassVar[str] = "az"
    settings: Settings

    def store(self, container: str) -> AzureStore:
        return azure.store(self.settings, container)

    def exact_bucket(self, container: str) -> Bucket | None:
        return None

    def exact_open(self, container: str, key: str, location: str) -> BinaryIO | None:
        return None


def make(given: Given) -> ObjectSource:
    """`account_name`, `container`, `prefix`; `file_layout`, `patterns`."""
    settings = Settings.of(given.connection, "azure")
    azure.check(settings)
    return object_source(KIND, given, AzureAccess(settings))
