"""Source `gcp_storage_bucket`: objects of Google Cloud Storage."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from tailrace.core import ConfigError
from tailrace.sources.access import Settings, client_options, in_environment, require_metadata, retry_config
from tailrace.sources.base import Given
from tailrace.sources.buckets import Bucket
from tailrace.sources.objects import ObjectSource, object_source

if TYPE_CHECKING:
    from obstore.store import GCSConfig, GCSStore

KIND = "gcp_storage_bucket"
EMULATOR = "STORAGE_EMULATOR_HOST"
"Address of a server that stands in for Google's, as Google's own libraries take it."
HINT = "set `credentials`, GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`"
_KEYS = ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_KEY")
_LOGGED_IN = "~/.config/gcloud/application_default_credentials.json"


@dataclass(frozen=True, slots=True)
class GcsAccess:
    """Google Cloud Storage through a connection."""

    scheme: ClassVar[str] = "gs"
    settings: Settings

    def store(self, container: str) -> GCSStore:
        return _store(self.settings, container)

    def exact_bucket(self, container: str) -> Bucket | None:
        return None

    def exact_open(self, container: str, key: str, location: str) -> BinaryIO | None:
        return None


def make(given: Given) -> ObjectSource:
    """`bucket` and `prefix`, or `paths`; `file_layout`, `patterns`."""
    settings = Settings.of(given.connection, "gcp")
    settings.refuse("impersonate_service_account")
    return object_source(KIND, given, GcsAccess(settings))


@lru_cache(maxsize=256)
def _store(settings: Settings, bucket: str) -> GCSStore:
    from obstore.store import GCSStore

    emulator = os.environ.get(EMULATOR)
    endpoint = emulator if emulator is None or "://" in emulator else f"http://{emulator}"
    headers = {"accept-encoding": "gzip"}  # else Google unpacks objects on the way, and lengths do not fit
    quota = settings.text("quota_project")
    if quota:
        headers["x-goog-user-project"] = quota
    return GCSStore(
        bucket,
        config=_config(settings, endpoint),
        client_options={**client_options(endpoint), "default_headers": headers},
        retry_config=retry_config(settings),
    )


def _config(settings: Settings, endpoint: str | None) -> GCSConfig:
    config: GCSConfig = {"base_url": endpoint} if endpoint else {}
    credentials, token = settings.text("credentials"), settings.text("impersonate_access_token")
    if token:
        config["bearer_token"] = token
    elif credentials and credentials.lstrip().startswith("{"):
        config["service_account_key"] = credentials
    elif credentials:
        path = Path(credentials).expanduser()
        if not path.is_file():
            raise ConfigError(
                f"connection gcp.{settings.name}: `credentials` is neither the text of a key file nor the path of one",
                code="config.bad-path",
            )
        config["application_credentials"] = str(path)
    elif endpoint:
        config["skip_signature"] = True
    elif not in_environment(*_KEYS) and not Path(_LOGGED_IN).expanduser().exists():
        require_metadata(HINT)
    return config
