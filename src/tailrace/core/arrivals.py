"""What listeners have taken in, on its way to a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

JSON, SYSLOG, OTLP = "json", "syslog", "otlp"
"Forms of bodies: JSON lines, one message, one request. Any other: one Parquet file of rows that were decoded before."


class Sent(NamedTuple):
    """Who sent something, and when it came."""

    received_at: int
    "Milliseconds since 1970."
    workspace: int
    source_ip: str | None


class Refused(NamedTuple):
    """What is known to be no row before a table has seen it."""

    raw: bytes
    reason: str


@dataclass(slots=True)
class Arrived:
    """What came to one listener in one form, in the order in which it came."""

    listener: str
    "Type and name: `http.public`."
    form: str
    bodies: list[bytes] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    "Of each body; of each run of rows where there are `starts`."
    starts: Sequence[int] | None = None
    "Rows of the only body with which runs begin that were sent together."
    refused: list[Refused] = field(default_factory=list)


@dataclass(slots=True)
class Stored:
    """What became of it."""

    received: int = 0
    rows: int = 0
    filtered: int = 0
    duplicates: int = 0
    quarantined: int = 0
