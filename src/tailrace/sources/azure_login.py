"""How Azure is logged in to: a secret, a certificate, a password, the CLI's login or a managed identity."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tailrace.config.model import ConnectionSpec
from tailrace.core import ConfigError
from tailrace.core.registry import unknown
from tailrace.sources.credentials import needed, secret_of, text_of
from tailrace.sources.oauth import CommandLogin, Exchange, Granted
from tailrace.sources.signing import Assertion, certificate

_IDENTITY = "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01"


@dataclass(frozen=True, slots=True)
class Cloud:
    """Hosts of one of Azure's clouds."""

    management: str
    tokens: str


CLOUDS = {
    "AZUREPUBLICCLOUD": Cloud("management.azure.com", "https://login.microsoftonline.com"),
    "AZUREUSGOVERNMENTCLOUD": Cloud("management.usgovcloudapi.net", "https://login.microsoftonline.us"),
    "AZURECHINACLOUD": Cloud("management.chinacloudapi.cn", "https://login.chinacloudapi.cn"),
}


def cloud_of(connection: ConnectionSpec | None) -> Cloud:
    name = (text_of(connection, "environment") or "AZUREPUBLICCLOUD").upper()
    if name not in CLOUDS:
        raise unknown("environment", name, CLOUDS)
    return CLOUDS[name]


def login(connection: ConnectionSpec | None, cloud: Cloud) -> Granted:
    """As the connection says, else the CLI's login, else the machine's own identity."""
    resource = f"https://{cloud.management}"
    client = text_of(connection, "client_id")
    secret, file = secret_of(connection, "client_secret"), text_of(connection, "certificate_path")
    user, password = text_of(connection, "username"), secret_of(connection, "password")
    if secret or file or (user and password):
        tenant = text_of(connection, "tenant_id")
        if tenant is None or client is None:
            raise needed("azure", connection, "azure", "tenant_id", "client_id")
        url = f"{cloud.tokens}/{tenant}/oauth2/v2.0/token"
        form = (("client_id", client), ("scope", f"{resource}/.default"))
        if secret:
            return Granted(Exchange(url, (*form, ("grant_type", "client_credentials"), ("client_secret", secret))))
        if file:
            return Granted(_by_certificate(url, form, client, file, connection))
        assert user
        assert password
        return Granted(Exchange(url, (*form, ("grant_type", "password"), ("username", user), ("password", password))))
    if shutil.which("az"):
        return Granted(CommandLogin(("az", "account", "get-access-token", "--output", "json", "--resource", resource)))
    chosen = f"&client_id={client}" if client else ""
    return Granted(Exchange(f"{_IDENTITY}&resource={resource}{chosen}", headers=(("Metadata", "true"),)))


def _by_certificate(
    url: str, form: tuple[tuple[str, str], ...], client: str, file: str, connection: ConnectionSpec | None
) -> Exchange:
    try:
        content = Path(file).expanduser().read_bytes()
    except OSError as error:
        raise ConfigError(f"the certificate cannot be read: {error.strerror}", code="config.bad-argument") from None
    key, thumbprint = certificate(content, secret_of(connection, "certificate_password"), file)
    claims = (("iss", client), ("sub", client), ("aud", url))
    kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    more = (("grant_type", "client_credentials"), ("client_assertion_type", kind))
    return Exchange(url, (*form, *more), Assertion("client_assertion", key, claims, (("x5t", thumbprint),)))
