"""What the connections of all clouds have in common: settings as plain values, clients that wait and try again."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from tailrace.config.model import ConnectionSpec
from tailrace.config.values import Secret
from tailrace.core import ConfigError, SourceError
from tailrace.core.errors import DENIED

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

_METADATA = ("169.254.169.254", 80)
"Where machines of all three clouds ask who they are."
_CONNECT = timedelta(seconds=5)
_SILENCE = timedelta(seconds=30)
_LONGEST = timedelta(days=1)
_TRYING = timedelta(seconds=120)
_LONGEST_PAUSE = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a `connection` block says; secrets stay wrapped until a request needs them."""

    type: str
    name: str
    given: tuple[tuple[str, object], ...] = ()

    @classmethod
    def of(cls, connection: ConnectionSpec | None, kind: str, **more: object) -> Settings:
        """A connection of the right kind, or none; further values count where the block has none."""
        if connection is None:
            return cls(kind, "default", _pairs(more))
        if connection.type != kind:
            raise ConfigError(
                f"takes a connection of type {kind}, not {connection.type}",
                code="config.wrong-value", where=str(connection.where), hint=f"write connection.{kind}.…",
            )  # fmt: skip
        return cls(kind, connection.name, _pairs({**connection.args, **more}))

    def text(self, name: str) -> str | None:
        """The value itself: call it where a request is made, keep it nowhere."""
        value = dict(self.given).get(name)
        value = value.reveal() if isinstance(value, Secret) else value
        return None if value is None or value == "" else str(value)

    def number(self, name: str, default: float) -> float:
        value = dict(self.given).get(name)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else default

    def flag(self, name: str) -> bool | None:
        value = dict(self.given).get(name)
        return value if isinstance(value, bool) else None

    def refuse(self, *names: str, purpose: str = "objects") -> None:
        """Attributes that are understood and cannot be used."""
        for name in names:
            if self.text(name) is not None:
                raise ConfigError(
                    f"connection {self.type}.{self.name}: '{name}' cannot be used for {purpose}",
                    code="config.not-available", hint="use another way to log in",
                )  # fmt: skip


def _pairs(values: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    plain = ((name, tuple(value) if isinstance(value, list) else value) for name, value in values.items())
    return tuple((name, value) for name, value in plain if value is not None)


def client_options(endpoint: str | None) -> ClientConfig:
    """Silence is what ends a request, not its length: an object may take hours."""
    return {
        "allow_http": _is_plain(endpoint),
        "connect_timeout": _CONNECT,
        "read_timeout": _SILENCE,
        "timeout": _LONGEST,
    }


def retry_config(settings: Settings) -> RetryConfig:
    """Growing pauses with jitter."""
    return {
        "max_retries": _retries(settings),
        "retry_timeout": _TRYING,
        "backoff": {"init_backoff": _first_pause(settings), "max_backoff": _LONGEST_PAUSE, "base": 2},
    }


def delta_client(settings: Settings, endpoint: str | None) -> dict[str, str]:
    """Both of them for delta-rs, as it spells them."""
    spans = {
        "connect_timeout": _CONNECT,
        "read_timeout": _SILENCE,
        "timeout": _LONGEST,
        "retry_timeout": _TRYING,
        "backoff_config.init_backoff": _first_pause(settings),
        "backoff_config.max_backoff": _LONGEST_PAUSE,
    }
    told = {name: f"{span // timedelta(milliseconds=1)}ms" for name, span in spans.items()}
    return told | {"max_retries": str(_retries(settings)), "allow_http": str(_is_plain(endpoint)).lower()}


def _is_plain(endpoint: str | None) -> bool:
    return bool(endpoint) and str(endpoint).startswith("http://")


def _retries(settings: Settings) -> int:
    return int(settings.number("max_error_retry_attempts", 9))


def _first_pause(settings: Settings) -> timedelta:
    return timedelta(milliseconds=settings.number("min_error_retry_delay", 25))


def require_metadata(hint: str) -> None:
    """The last place for credentials is the machine itself; asking it in vain takes minutes, so knock first."""
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() != "true":
        with suppress(OSError):
            socket.create_connection(_METADATA, timeout=1).close()
            return
    raise SourceError("no credentials were found", code=DENIED, hint=hint)


def in_environment(*names: str) -> bool:
    return any(os.environ.get(name) for name in names)
