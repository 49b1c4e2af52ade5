"""Credentials that are sent as they are: headers and parameters that stay wrapped until a request is made."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass

from tailrace.config.model import ConnectionSpec
from tailrace.config.values import Secret
from tailrace.core import ConfigError
from tailrace.sources.slices import Pairs

Secrets = tuple[tuple[str, Secret], ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same with every request."""

    sent: Secrets = ()
    asked: Secrets = ()
    "Parameters of the URL."

    def headers(self) -> Mapping[str, str]:
        return {name: value.reveal() for name, value in self.sent}

    def params(self) -> Pairs:
        return tuple((name, value.reveal()) for name, value in self.asked)

    def forget(self) -> bool:
        return False


def bearer(token: Secret, scheme: str = "Bearer") -> Fixed:
    return Fixed((("Authorization", Secret(f"{scheme} {token.reveal()}")),))


def basic(username: str, password: Secret | None) -> Fixed:
    pair = f"{username}:{password.reveal() if password else ''}"
    return Fixed((("Authorization", Secret(f"Basic {b64encode(pair.encode()).decode()}")),))


def wrapped(value: object) -> Secrets:
    """A map of secrets as pairs."""
    given = value if isinstance(value, Mapping) else {}
    return tuple((str(name), secret) for name, secret in given.items() if isinstance(secret, Secret))


def text_of(connection: ConnectionSpec | None, name: str) -> str | None:
    value = connection.args.get(name) if connection else None
    return value if isinstance(value, str) and value else None


def secret_of(connection: ConnectionSpec | None, name: str) -> Secret | None:
    value = connection.args.get(name) if connection else None
    return value if isinstance(value, Secret) and value.reveal() else None


def from_environment(name: str) -> Secret | None:
    """What a variable of the environment holds, where the connection says nothing."""
    value = os.environ.get(name)
    return Secret(value) if value else None


def needed(kind: str, connection: ConnectionSpec | None, type: str, *names: str) -> ConfigError:
    """The error for a connection that lacks something."""
    where = str(connection.where) if connection else None
    wanted = " and ".join(f"`{name}`" for name in names)
    hint = f'connection "{type}" "main" {{ {names[0]} = … }}, and connection = connection.{type}.main in the source'
    return ConfigError(
        f"source '{kind}' needs a connection of type {type} with {wanted}",
        code="config.bad-argument", where=where, hint=hint,
    )  # fmt: skip
