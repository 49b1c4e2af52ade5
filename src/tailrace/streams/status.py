"""What a driver writes down for those who ask how a sink stands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

_STATUS = "status.json"


class Told(Protocol):
    """A sink of which something is told."""

    @property
    def name(self) -> str: ...

    @property
    def state(self) -> Path: ...

    @property
    def metrics_enabled(self) -> bool: ...


def write_status(state: Path, told: Mapping[str, Any]) -> None:
    """Whoever reads it sees all of it or what was told before."""
    temporary = state / f"{_STATUS}.new"
    temporary.write_bytes(msgspec.json.encode(told))
    temporary.rename(state / _STATUS)


def status_of(options: Told) -> dict[str, Any]:
    """What the driver wrote down last; empty where it never ran."""
    try:
        found: dict[str, Any] = msgspec.json.decode((options.state / _STATUS).read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return found
