"""Clients of Azure's blobs; a container is named with its account, `account/container`."""

from __future__ import annotations

import os
import shutil
from functools import lru_cache
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
    from obstore.store import AzureConfig, AzureStore

CONNECTION_STRING = "AZURE_STORAGE_CONNECTION_STRING"
AUTHORITY = "AZURE_AUTHORITY_HOST"
"Where tokens come from, as Azure's own libraries take it."
HINT = "set client_id and client_secret, AZURE_STORAGE_CONNECTION_STRING, or run `az login`"
_KEYS = ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_TOKEN")
_MACHINE = ("IDENTITY_ENDPOINT", "MSI_ENDPOINT", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_CLIENT_ID")
_CLOUDS = {
    "AZUREPUBLICCLOUD": ("core.windows.net", "https://login.microsoftonline.com"),
    "AZUREUSGOVERNMENTCLOUD": ("core.usgovcloudapi.net", "https://login.microsoftonline.us"),
    "AZURECHINACLOUD": ("core.chinacloudapi.cn", "https://login.chinacloudapi.cn"),
}


def check(settings: Settings) -> None:
    """ConfigError where the connection cannot be meant."""
    settings.refuse("certificate_path", "certificate_password", "username", "password")
    cloud = settings.text("environment") or "AZUREPUBLICCLOUD"
    if cloud.upper() not in _CLOUDS:
        raise ConfigError(
            f"connection azure.{settings.name}: there is no environment '{cloud}'",
            code="config.wrong-value",
            hint=f"known: {', '.join(_CLOUDS)}",
        )
    if settings.text("client_secret") and not (settings.text("client_id") and settings.text("tenant_id")):
        raise ConfigError(
            f"connection azure.{settings.name}: client_secret goes with client_id and tenant_id",
            code="config.missing-attribute",
        )


@lru_cache(maxsize=256)
def store(settings: Settings, container: str) -> AzureStore:
    """A client, kept for the life of the process."""
    from obstore.store import AzureStore

    account, _, name = container.partition("/")
    config = _config(settings, account)
    return AzureStore(
        name,
        config=config,
        client_options=client_options(config.get("endpoint")),
        retry_config=retry_config(settings),
    )


def delta_options(settings: Settings, container: str) -> dict[str, str]:
    """The same for delta-rs."""
    config = _config(settings, container.partition("/")[0])
    options = {f"azure_storage_{name}": str(value) for name, value in config.items() if name != "use_azure_cli"}
    if config.get("use_azure_cli"):
        options["azure_use_azure_cli"] = "true"
    return options | delta_client(settings, config.get("endpoint"))


def _config(settings: Settings, account: str) -> AzureConfig:
    suffix, authority = _CLOUDS[(settings.text("environment") or "AZUREPUBLICCLOUD").upper()]
    config: AzureConfig = {"account_name": account, "authority_host": os.environ.get(AUTHORITY, authority)}
    said = _connection_string(account)
    if "endpoint" in said:
        config["endpoint"] = said["endpoint"]
    elif suffix != "core.windows.net":
        config["endpoint"] = f"https://{account}.blob.{suffix}"
    tenant, client, secret = (settings.text(name) for name in ("tenant_id", "client_id", "client_secret"))
    if client and secret and tenant:
        return config | {"tenant_id": tenant, "client_id": client, "client_secret": secret}
    if said or in_environment(*_KEYS):
        return config | said
    if client:
        return config | {"client_id": client}  # a managed identity of that name
    if not in_environment(*_MACHINE):
        if shutil.which("az"):
            return config | {"use_azure_cli": True}
        require_metadata(HINT)
    return config


def _connection_string(account: str) -> AzureConfig:
    """What the environment's connection string says, where it is of this account."""
    parts = [part.partition("=") for part in os.environ.get(CONNECTION_STRING, "").split(";") if part]
    values = {name.strip().lower(): value for name, _, value in parts}
    if values.get("accountname", account) != account:
        return {}
    config: AzureConfig = {}
    if "accountkey" in values:
        config["account_key"] = values["accountkey"]
    if "sharedaccesssignature" in values:
        config["sas_key"] = values["sharedaccesssignature"]
    if "blobendpoint" in values:
        config["endpoint"] = values["blobendpoint"].rstrip("/")
    return config
