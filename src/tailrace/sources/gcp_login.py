"""How Google Cloud is logged in to: a token, a key file, or what the machine offers."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tailrace.config.model import ConnectionSpec
from tailrace.config.values import Secret
from tailrace.core import ConfigError
from tailrace.sources.credentials import bearer, from_environment, needed, secret_of, text_of
from tailrace.sources.oauth import Exchange, Grant, Granted, Impersonation
from tailrace.sources.signing import Assertion
from tailrace.sources.web import Auth

_METADATA = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"
_USERS = "~/.config/gcloud/application_default_credentials.json"


class KeyFile(msgspec.Struct):
    """What is read of a file with credentials."""

    type: str = "service_account"
    project_id: str | None = None
    quota_project_id: str | None = None
    client_email: str = ""
    private_key: str = ""
    token_uri: str = "https://oauth2.googleapis.com/token"
    client_id: str = ""
    client_secret: str = ""
    refresh_token: str = ""


def login(kind: str, connection: ConnectionSpec | None, scope: str) -> Auth:
    """As the connection says, else the application's default credentials."""
    token = secret_of(connection, "impersonate_access_token")
    if token:
        return bearer(token)
    file = key_file(connection)
    auth = Granted(_grant(kind, file, scope) if file else Exchange(_METADATA, headers=(("Metadata-Flavor", "Google"),)))
    account = text_of(connection, "impersonate_service_account")
    return Granted(Impersonation(account, scope, auth)) if account else auth


def project_of(kind: str, connection: ConnectionSpec | None) -> str:
    given = text_of(connection, "project") or os.environ.get("GOOGLE_CLOUD_PROJECT")
    file = None if given else key_file(connection)
    project = given or (file and (file.project_id or file.quota_project_id))
    if not project:
        raise needed(kind, connection, "gcp", "project")
    return project


def key_file(connection: ConnectionSpec | None) -> KeyFile | None:
    """The credentials that are named, or lie where Google's tools put them."""
    given = secret_of(connection, "credentials") or from_environment("GOOGLE_APPLICATION_CREDENTIALS")
    text = given.reveal() if given else _USERS
    where = str(connection.where) if connection else "credentials"
    try:
        content = text.encode() if text.lstrip().startswith("{") else Path(text).expanduser().read_bytes()
        return msgspec.json.decode(content, type=KeyFile)
    except (OSError, ValueError, msgspec.DecodeError):
        if given is None:
            return None
    raise ConfigError(
        "the credentials of connection type gcp cannot be read", code="config.bad-argument", where=where,
        hint="`credentials` is the path or the text of a JSON key file",
    )  # fmt: skip


def _grant(kind: str, file: KeyFile, scope: str) -> Grant:
    if file.type == "service_account":
        claims = (("iss", file.client_email), ("aud", file.token_uri), ("scope", scope))
        how = (("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),)
        return Exchange(file.token_uri, how, Assertion("assertion", Secret(file.private_key), claims))
    if file.type == "authorized_user":
        form = (("grant_type", "refresh_token"), ("client_id", file.client_id))
        secrets = (("client_secret", Secret(file.client_secret)), ("refresh_token", Secret(file.refresh_token)))
        return Exchange(file.token_uri, (*form, *secrets))
    raise ConfigError(
        f"source '{kind}' cannot log in with credentials of type {file.type}", code="config.bad-argument",
        hint="a key of a service account, or a user's default credentials",
    )  # fmt: skip
