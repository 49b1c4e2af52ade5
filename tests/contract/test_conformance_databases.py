"""Server logs of databases as other tools read them: what was stored, and which fields are equal."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conformance import Expected, Measured, measure
from world import World

Event = dict[str, Any]
BEATS = "beats-filebeat-apache2"


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)


def events_of(data: Path, name: str) -> list[Event]:
    path = data / BEATS / name
    found: list[Event] = json.loads(path.with_name(f"{path.name}-expected.json").read_text())
    return found


POSTGRES = {
    "log.level": "error_severity",
    "user.name": "coalesce(user_name, 'unknown')",
    "postgresql.log.database": "coalesce(database_name, 'unknown')",
    "postgresql.log.sql_state_code": "sql_state_code",
    "postgresql.log.session_id": "session_id",
    "postgresql.log.transaction_id": "transaction_id",
    "postgresql.log.command_tag": "command_tag",
    "postgresql.log.virtual_transaction_id": "virtual_transaction_id",
    "postgresql.log.application_name": "application_name",
    "postgresql.log.backend_type": "backend_type",
    "postgresql.log.detail": "detail",
}


def postgres(event: Event) -> Event:
    row = {column: event[field] for field, column in POSTGRES.items() if field in event}
    if event["event.timezone"] != "EST":  # the other tool takes it for the time of New York, in summer too
        row["log_time"] = moment(event["@timestamp"])
    if "process.pid" in event:
        row["process_id"] = int(event["process.pid"])
    if "event.duration" in event:
        row["round(duration_ms, 1)"] = round(event["event.duration"] / 1e6, 1)  # the other tool has seven digits
    if "postgresql.log.session_start_time" in event:
        row["session_start_time"] = moment(event["postgresql.log.session_start_time"])
    if "postgresql.log.client_addr" in event:
        address, port = event["postgresql.log.client_addr"], event["postgresql.log.client_port"]
        row["connection_from"] = f"{address}:{port}"
    whole = event.get("message", "").startswith(event["postgresql.log.timestamp"])
    if "postgresql.log.query_step" not in event and "event.duration" not in event and not whole:
        row["message"] = event["message"]
    elif "postgresql.log.query" in event:
        row["coalesce(statement, query)"] = event["postgresql.log.query"].rstrip("\n")
    return row


TEXT = (
    "10-default", "10-min-duration-statement", "11.4", "12-default", "12-min-duration-statement",
    "13-log-statement-all", "9-log-statement-all", "9.6-debian-with-slowlog", "9.6-multi-core", "9.6-new-timestamp",
    "query-steps-slowlog", "ubuntu-9.5",
)  # fmt: skip
CSV = (
    "11-autovacuum", "11-connection-disconnection", "11-duration", "11-ipv6", "11-multi-line", "11-parse-bind",
    "11-start-stop", "11-tempfile", "13-error-code", "13",
)  # fmt: skip
CUT = {"13-log-statement-all": 221, "9-log-statement-all": 202}
"Records of files of which the other tool shows the first hundred only."


def postgres_text(world: World, data: Path, name: str) -> Measured:
    place = f"postgresql/log/test/postgresql-{name}.log"
    expected: Expected = [postgres(event) for event in events_of(data, place)]
    expected += [{}] * (CUT.get(name, 0) - len(expected))
    return measure(world, "postgres_log", data, f"{BEATS}/{place}", expected=expected)


def postgres_csv(world: World, data: Path, name: str) -> Measured:
    place = f"postgresql/log/test/postgresql-{name}.csv.log"
    expected: Expected = [postgres(event) for event in events_of(data, place)]
    source = {"format": "format.postgres_log.csv"}
    return measure(world, "postgres_log", data, f"{BEATS}/{place}", expected=expected, source=source)


@pytest.mark.parametrize("name", TEXT)
def test_postgres_text_as_beats_reads_it(name: str, real_logs: Path, world: World) -> None:
    postgres_text(world, real_logs, name).check()


@pytest.mark.parametrize("name", CSV)
def test_postgres_csv_as_beats_reads_it(name: str, real_logs: Path, world: World) -> None:
    postgres_csv(world, real_logs, name).check()


@pytest.mark.parametrize(
    ("dataset", "records"),
    [("lnav-logfiles/logfile_postgres.0", 21), ("lnav-logfiles/logfile_postgres.1", 7),
     ("lnav-logfiles/logfile_postgres.2", 8), ("plaso-test-data/postgresql.log", 20)],
)  # fmt: skip
def test_other_postgres_servers(dataset: str, records: int, real_logs: Path, world: World) -> None:
    found = measure(world, "postgres_log", real_logs, dataset)
    found.check()
    assert found.received == records
