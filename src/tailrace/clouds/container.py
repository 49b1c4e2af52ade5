"""A bucket or container, named by a URL and reached through a connection. A plain value, its secrets wrapped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, cast

from tailrace.clouds import azure, gcs, s3
from tailrace.clouds.settings import Settings
from tailrace.config.model import ConnectionSpec
from tailrace.core import ConfigError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az", "https": "az"}
_CLOUDS: dict[str, tuple[str, ModuleType]] = {"s3": ("aws", s3), "gs": ("gcp", gcs), "az": ("azure", azure)}
"Type of connection, and clients, by scheme."
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://([^/]+)(?:/+(.*))?", re.IGNORECASE)
_AZURE_HOST = re.compile(r"(?:([^@]+)@)?([^.@]+)\.(?:blob|dfs)\.core\.\S+", re.IGNORECASE)
FORMS = "s3://bucket/prefix, gs://bucket/prefix or az://account/container/prefix"


@dataclass(frozen=True, slots=True)
class Container:
    """One of S3, Google Cloud Storage or Azure."""

    scheme: str
    "`s3`, `gs` or `az`."
    name: str
    "A bucket; of Azure the account too, `account/container`."
    settings: Settings

    @property
    def uri(self) -> str:
        return f"{self.scheme}://{self.name}"

    @property
    def delta_uri(self) -> str:
        """As delta-rs writes it: the account is one of its options."""
        return f"{self.scheme}://{self.name.rpartition('/')[2]}"

    def store(self) -> ObjectStore:
        """A client, kept for the life of the process. Never before a process forks."""
        return cast("ObjectStore", _CLOUDS[self.scheme][1].store(self.settings, self.name))

    def delta_options(self) -> dict[str, str]:
        """What delta-rs has to be told, secrets included: keep it nowhere."""
        return dict(_CLOUDS[self.scheme][1].delta_options(self.settings, self.name))

    @property
    def renews_keys(self) -> bool:
        """Do its keys expire, and are got anew by us alone?"""
        return self.scheme == "s3" and s3.has_session(self.settings)


def container_at(url: str, connection: ConnectionSpec | None) -> tuple[Container, str]:
    """The container that a URL names, and what follows it; ConfigError where they do not fit together."""
    found = _URL.fullmatch(url)
    scheme = _SCHEMES.get(found[1].lower()) if found else None
    if found is None or scheme is None:
        raise ConfigError(f"'{url}' is no place that is known", code="config.bad-path", hint=f"write {FORMS}")
    name, prefix = found[2], found[3] or ""
    if scheme == "az":
        name, prefix = _of_azure(url, name, prefix)
    kind, cloud = _CLOUDS[scheme]
    settings = Settings.of(connection, kind)
    cloud.check(settings)
    return Container(scheme, name, settings), prefix.strip("/")


def _of_azure(url: str, host: str, rest: str) -> tuple[str, str]:
    """Account and container, however they are written."""
    by_host = _AZURE_HOST.fullmatch(host)
    if by_host is not None and by_host[1]:
        return f"{by_host[2]}/{by_host[1]}", rest
    container, _, prefix = rest.partition("/")
    if not container or (url.lower().startswith("https") and by_host is None):
        raise ConfigError(
            f"'{url}' names no container of Azure", code="config.bad-path", hint="write az://account/container/prefix"
        )
    return f"{by_host[2] if by_host else host}/{container}", prefix
