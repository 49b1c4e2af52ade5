"""Server logs of databases as other tools read them: what was stored, and which fields are equal."""

from __future__ import annotations

import json
import math
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
        # The other tool has seven digits; half is rounded up, as in SQL.
        row["round(duration_ms, 1)"] = math.floor(event["event.duration"] / 1e5 + 0.5) / 10
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
     ("lnav-logfiles/logfile_postgres.2", 8),
     ("plaso-test-data/postgresql.log", 20),
     ("opensearch-catalog/observability/amazon_rds/data/raw.log", 402)],
)  # fmt: skip
def test_other_postgres_servers(dataset: str, records: int, real_logs: Path, world: World) -> None:
    found = measure(world, "postgres_log", real_logs, dataset)
    found.check()
    assert found.received == records


MYSQL_ERROR = {
    "log.level": "level",
    "event.code": "error_code",
    "event.provider": "subsystem",
    "mysql.thread_id": "thread_id",
}
MYSQL_ERRORS = {
    "error": 11, "mariadb-10.4.8": 30, "mysql-darwin-brew-5.7.10": 185, "mysql-ubuntu-5.5.53-extented": 1,
    "mysql-ubuntu-5.5.53": 167, "mysql-ubuntu-8.0.15": 14,
}  # fmt: skip
"Files and their records; the other tool shows the first hundred."


def mysql_error(event: Event) -> Event:
    row = {column: event[field] for field, column in MYSQL_ERROR.items() if field in event}
    message = "concat('[' || error_code || '] ', '[' || subsystem || '] ', message)"
    return row | {
        message: event["message"].rstrip(),
        "date_trunc('millisecond', timestamp)": written(event["@timestamp"]),
    }


def written(text: str) -> datetime:
    """The time as it stands in the line: the other tool adds a zone of its own where the line has none."""
    return datetime.fromisoformat(text).replace(tzinfo=None)


@pytest.mark.parametrize("name", MYSQL_ERRORS)
def test_mysql_errors_as_beats_reads_them(name: str, real_logs: Path, world: World) -> None:
    place = f"mysql/error/test/{name}.log"
    expected: Expected = [mysql_error(event) for event in events_of(real_logs, place)]
    expected += [{}] * (MYSQL_ERRORS[name] - len(expected))
    measure(world, "mysql_error_log", real_logs, f"{BEATS}/{place}", expected=expected).check()


MYSQL_SLOW = {
    "mysql.slowlog.current_user": "current_user",
    "mysql.slowlog.lock_time.sec": "lock_time",
    "mysql.slowlog.rows_examined": "rows_examined",
    "mysql.slowlog.rows_sent": "rows_sent",
    "mysql.slowlog.rows_affected": "rows_affected",
    "mysql.slowlog.bytes_sent": "bytes_sent",
    "mysql.slowlog.schema": "database_name",
    "mysql.slowlog.full_scan": "full_scan",
    "mysql.slowlog.full_join": "full_join",
    "mysql.slowlog.tmp_table": "tmp_table",
    "mysql.slowlog.filesort": "filesort",
    "mysql.thread_id": "thread_id",
    "source.domain": "host",
    "source.ip": "client_ip",
    "user.name": "user_name",
}
MYSQL_SLOWS = (
    "mariadb-10.1.21", "mariadb-10.2.12", "mariadb-10.3.13", "mariadb-explain", "mysql-5.7.22",
    "mysql-darwin-brew-5.7.10", "mysql-debian-5.7.17", "mysql-debian-5.7.19", "mysql-ubuntu-5.5.53",
    "mysql-ubuntu-8.0.15", "percona-ubuntu-5.7.19-innodb", "percona-ubuntu-5.7.19", "percona-ubuntu-8.0.15",
)  # fmt: skip


def mysql_slow(event: Event) -> Event:
    """The other tool lists values that a record holds twice, goes on into what a server says as it starts, and has
    durations as floats."""
    row = {column: told_last(event[field]) for field, column in MYSQL_SLOW.items() if field in event}
    if "thread_id" in row:
        row["thread_id"] = int(row["thread_id"])
    statement = event["mysql.slowlog.query"].split("\n/usr/sbin/mysqld, Version: ")[0].rstrip("\n")
    row |= {"timestamp": moment(event["@timestamp"]), "statement": statement}
    return row | {"round(query_time * 1000)::bigint": round(event["event.duration"] / 1e6)}


def told_last(value: Any) -> Any:
    return value[-1] if isinstance(value, list) else value


@pytest.mark.parametrize("name", MYSQL_SLOWS)
def test_mysql_slow_statements_as_beats_reads_them(name: str, real_logs: Path, world: World) -> None:
    place = f"mysql/slowlog/test/{name}.log"
    expected: Expected = [mysql_slow(event) for event in events_of(real_logs, place)]
    measure(world, "mysql_slow_log", real_logs, f"{BEATS}/{place}", expected=expected).check()


@pytest.mark.parametrize(
    ("table", "dataset", "records"),
    [
        ("mysql_error_log", "lnav-logfiles/logfile_mysql_error.0", 4),
        ("mysql_slow_log", "lnav-logfiles/logfile_mysql_slow.0", 6),
    ],
)
def test_other_mysql_servers(table: str, dataset: str, records: int, real_logs: Path, world: World) -> None:
    found = measure(world, table, real_logs, dataset)
    found.check()
    assert found.stored == records
