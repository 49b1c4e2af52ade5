"""Server logs in plain text as other tools read them: what was stored, and which fields are equal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conformance import Expected, Measured, measure
from world import World

Event = dict[str, Any]
BEATS = "beats-filebeat-apache2"


def written(event: Event) -> datetime:
    """The time as it stands in the line: the other tool adds a zone of its own where the line has none."""
    return datetime.fromisoformat(event["@timestamp"]).replace(tzinfo=None)


def moment(event: Event) -> datetime:
    return datetime.fromisoformat(event["@timestamp"]).astimezone(UTC).replace(tzinfo=None)


NUMBERS = ("pid", "client_port", "process_id", "source_port", "error_code")


def renamed(event: Event, names: dict[str, str]) -> Event:
    """The fields that the other tool found, under the names of columns; numbers as such."""
    found = {column: event[field] for field, column in names.items() if field in event}
    return {column: int(value) if column in NUMBERS else value for column, value in found.items()}


NGINX_ERROR = {"log.level": "level", "message": "message", "process.pid": "pid", "process.thread.id": "tid"}


def nginx_error(event: Event) -> Event:
    return {"tp_timestamp": written(event)} | renamed(
        event, NGINX_ERROR | {"nginx.error.connection_id": "connection_id"}
    )


APACHE_ERROR = {
    "log.level": "level",
    "message": "message",
    "process.pid": "pid",
    "process.thread.id": "tid",
    "source.address": "client_addr",
    "source.port": "client_port",
    "apache.error.module": "module",
    "http.request.referrer": "referer",
}


def apache_error(event: Event) -> Event:
    row = renamed(event, APACHE_ERROR)
    # What stands around the message has columns of its own here.
    message = "concat_ws(', referer: ', concat_ws(': ', code, message), referer)"
    row[message] = re.sub(r"^\S+\.c\(\d+\): \[client [^]]*\] ", "", row.pop("message"))
    return {"date_trunc('millisecond', tp_timestamp)": written(event)} | row


PAIRS: list[tuple[str, str, Callable[[Event], Event]]] = [
    ("nginx_error_log", "nginx/error/test/error.log", nginx_error),
    ("apache_error_log", "apache/error/test/darwin-2.4.23.log", apache_error),
    ("apache_error_log", "apache/error/test/sublevel.log", apache_error),
    ("apache_error_log", "apache/error/test/test.log", apache_error),
    ("apache_error_log", "apache/error/test/ubuntu-2.2.22.log", apache_error),
]


def beats(world: World, data: Path, table: str, name: str, told: Callable[[Event], Event]) -> Measured:
    path = data / BEATS / name
    events = json.loads(path.with_name(f"{path.name}-expected.json").read_text())
    expected: Expected = [told(event) for event in events]
    return measure(world, table, data, f"{BEATS}/{name}", expected=expected)


@pytest.mark.parametrize(("table", "name", "told"), PAIRS, ids=lambda value: value if isinstance(value, str) else "")
def test_as_beats_reads_it(
    table: str, name: str, told: Callable[[Event], Event], real_logs: Path, world: World
) -> None:
    beats(world, real_logs, table, name, told).check()
