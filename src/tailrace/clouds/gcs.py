"""Clients of Google Cloud Storage."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.clouds.settings import (
    Settings,
    client_options,
    delta_client,
    in_environment,
    require_metadata,
    retry_config,
)
from tailrace.core import ConfigError

if TYPE_CHECKING:
    from obstore.store import GCSConfig, GCSStore

EMULATOR = "STORAGE_EMULATOR_HOST"
"Address of a server that stands in for Google's, as Google's own libraries take it."
HINT = "set `credentials`, GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`"
_KEYS = ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_KEY")
_LOGGED_IN = "~/.config/gcloud/application_default_credentials.json"


def check(settings: Settings) -> None:
    """ConfigError where the connection cannot be meant."""
    settings.refuse("impersonate_service_account")


@lru_cache(maxsize=256)
def store(settings: Settings, bucket: str) -> GCSStore:
    """A client, kept for the life of the process."""
    from obstore.store import GCSStore

    endpoint = _endpoint()
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


def delta_options(settings: Settings, bucket: str) -> dict[str, str]:
    """The same for delta-rs, which takes no token."""
    settings.refuse("impersonate_access_token", purpose="a lake")
    endpoint = _endpoint()
    options = {f"google_{name}": str(value) for name, value in _config(settings, endpoint).items()}
    if "google_skip_signature" in options:
        options["google_skip_signature"] = "true"
    return options | delta_client(settings, endpoint)


def _endpoint() -> str | None:
    emulator = os.environ.get(EMULATOR)
    return emulator if emulator is None or "://" in emulator else f"http://{emulator}"


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
