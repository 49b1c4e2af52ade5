"""Server logs in plain text as other tools read them: what was stored, and which fields are equal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conformance import PYTHON, Expected, Measured, measure
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


SYSLOG = {"host.hostname": "hostname", "process.name": "app_name", "process.pid": "proc_id", "message": "trim(message)"}


def syslog(event: Event) -> Event:
    row = renamed(event, SYSLOG)
    if "] (" in row.get("app_name", ""):  # launchd writes for another process, which is kept in tp_extra here
        del row["app_name"]
    return row | ({"proc_id": str(row["proc_id"])} if "proc_id" in row else {})


IIS = {
    "http.request.method": "cs_method",
    "http.response.status_code": "sc_status",
    "iis.access.sub_status": "sc_substatus",
    "iis.access.win32_status": "sc_win32_status",
    "iis.access.site_name": "s_sitename",
    "iis.access.server_name": "s_computername",
    "destination.address": "s_ip",
    "destination.port": "s_port",
    "destination.domain": "cs_host",
    "source.address": "c_ip",
    "source.port": "c_port",
    "user.name": "cs_username",
    "user_agent.original": "cs_user_agent",
    "http.request.referrer": "cs_referer",
    "http.request.body.bytes": "cs_bytes",
    "http.response.body.bytes": "sc_bytes",
    "network.forwarded_ip": "x_forwarded_for",
    "iis.error.reason_phrase": "s_reason",
    "iis.error.queue_name": "s_queuename",
}


def iis(event: Event) -> Event:
    row = {"tp_timestamp": moment(event)} | renamed(event, IIS)
    if event["event.dataset"] == "iis.error":
        return row | renamed(event, {"url.original": "cs_uri", "http.version": "replace(cs_version, 'HTTP/', '')"})
    row = {column: value for column, value in row.items() if not isinstance(value, list)}
    row |= renamed(event, {"url.path": "cs_uri_stem", "url.query": "url_decode(replace(cs_uri_query, '+', ' '))"})
    return row | {"time_taken * 1000000": event["event.duration"]}


HAPROXY = {
    "haproxy.frontend_name": "frontend_name",
    "haproxy.backend_name": "backend_name",
    "haproxy.server_name": "server_name",
    "haproxy.bytes_read": "bytes_read",
    "haproxy.backend_queue": "backend_queue",
    "haproxy.server_queue": "srv_queue",
    "haproxy.connections.active": "actconn",
    "haproxy.connections.frontend": "feconn",
    "haproxy.connections.backend": "beconn",
    "haproxy.connections.server": "srv_conn",
    "haproxy.connections.retries": "retries",
    "haproxy.connection_wait_time_ms": "time_connect",
    "haproxy.total_waiting_time_ms": "time_queue",
    "haproxy.http.request.time_wait_ms": "time_request",
    "haproxy.http.request.time_wait_without_data_ms": "time_response",
    "haproxy.termination_state": "termination_state",
    "haproxy.mode": "mode",
    "http.request.method": "request_method",
    "http.response.status_code": "status",
    "url.original": "request_uri",
    "process.pid": "pid",
    "process.name": "process_name",
    "source.ip": "client_ip",
    "source.port": "client_port",
    "destination.ip": "destination_ip",
    "destination.port": "destination_port",
}


def haproxy(event: Event) -> Event:
    row = renamed(event, HAPROXY)
    if "event.duration" in event:
        row["time_total"] = event["event.duration"] // 1_000_000
    if event.get("haproxy.http.request.captured_headers"):
        row["list_filter(request_headers, lambda h: h <> '')"] = event["haproxy.http.request.captured_headers"]
    return row


TRAEFIK = {
    "http.request.method": "request_method",
    "http.response.status_code": "status",
    "http.response.body.bytes": "size",
    "http.request.referrer": "referer",
    "url.original": "request_path",
    "user_agent.original": "user_agent",
    "source.address": "client_host",
    "traefik.access.request_count": "request_count",
    "traefik.access.frontend_name": "router_name",
    "traefik.access.backend_url": "service_url",
}


def traefik(event: Event) -> Event:
    row = {"tp_timestamp": moment(event)} | renamed(event, TRAEFIK)
    row = {column: None if value == "-" else value for column, value in row.items()}
    if "event.duration" in event:
        row["duration_ms * 1000000"] = event["event.duration"]
    return row | {"coalesce(client_user, '-')": event["user.name"]}


Told = Callable[[Event], Event]
HAPROXY_FILES = ("default", "haproxy", "httplog-no-headers", "tcplog")
IIS_FILES = (
    "test", "test-iis-7.2", "test-iis-7.5", "test-ipv6zone", "test-x-forward-for", "test-x-forward-for-extended"
)  # fmt: skip
PAIRS: list[tuple[str, str, Told]] = [
    ("nginx_error_log", "nginx/error/test/error.log", nginx_error),
    ("apache_error_log", "apache/error/test/darwin-2.4.23.log", apache_error),
    ("apache_error_log", "apache/error/test/sublevel.log", apache_error),
    ("apache_error_log", "apache/error/test/test.log", apache_error),
    ("apache_error_log", "apache/error/test/ubuntu-2.2.22.log", apache_error),
    *(("iis_access_log", f"iis/access/test/{name}.log", iis) for name in IIS_FILES),
    *(("iis_access_log", f"iis/error/test/{name}.log", iis) for name in ("iis_error_url", "ipv6_zone_id", "test")),
    *(("haproxy_log", f"haproxy/log/test/{name}.log", haproxy) for name in HAPROXY_FILES),
    ("traefik_access_log", "traefik/access/test/test.log", traefik),
    ("syslog", "system/auth/test/auth-ubuntu1204.log", syslog),
    ("syslog", "system/auth/test/secure-rhel7.log", syslog),
    ("syslog", "system/auth/test/test.log", syslog),
    ("syslog", "system/auth/test/timestamp.log", syslog),
    ("syslog", "system/syslog/test/darwin-syslog-sample.log", syslog),
    ("syslog", "system/syslog/test/darwin-syslog.log", syslog),
    ("syslog", "system/syslog/test/suse-syslog.log", syslog),
    ("syslog", "system/syslog/test/tz-offset.log", syslog),
]
CUT = {"auth-ubuntu1204.log": 1000, "secure-rhel7.log": 1000, "darwin-syslog.log": 382}
"Records of files of which the other tool shows the first hundred only."


def beats(world: World, data: Path, table: str, name: str, told: Told) -> Measured:
    path = data / BEATS / name
    events = json.loads(path.with_name(f"{path.name}-expected.json").read_text())
    expected: Expected = [told(event) for event in events]
    expected += [{}] * (CUT.get(path.name, 0) - len(expected))
    return measure(world, table, data, f"{BEATS}/{name}", expected=expected)


@pytest.mark.parametrize(("table", "name", "told"), PAIRS, ids=lambda value: value if isinstance(value, str) else "")
def test_as_beats_reads_it(table: str, name: str, told: Told, real_logs: Path, world: World) -> None:
    beats(world, real_logs, table, name, told).check()


PLASO_IIS = {
    "iis10": 1, "iis10_cookies": 3, "iis10_edge_cases": 15, "iis6": 12, "iis7_owa": 3, "iis7_sqli": 2,
    "iis_without_date": 11,
}  # fmt: skip

# Without answers of others: lines as their own header names the words


def w3c(path: Path) -> Expected:
    """The fields that have no quotes and blanks, by the last header before the line."""
    names: list[str] = []
    found: Expected = []
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        if line.startswith("#Fields:"):
            names = line.split()[1:]
        elif line.strip() and not line.startswith("#"):
            words = dict(zip(names, line.split(), strict=False)) if '"' not in line else {}
            found.append(
                {column: None if words[name] == "-" else words[name] for name, column in W3C.items() if name in words}
            )
    return found


W3C = {"cs-method": "cs_method", "cs-uri-stem": "cs_uri_stem", "cs-uri-query": "cs_uri_query", "c-ip": "c_ip",
       "s-ip": "s_ip", "sc-status": "sc_status::varchar", "cs-username": "cs_username"}  # fmt: skip


@pytest.mark.parametrize(
    ("dataset", "records"),
    [
        *((f"plaso-test-data/iis/{name}.log", records) for name, records in PLASO_IIS.items()),
        *((f"lnav-logfiles/logfile_w3c.{n}", records) for n, records in ((0, 1), (1, 1), (2, 14), (4, 2), (6, 1))),
        ("lnav-logfiles/logfile_w3c_big.0", 210),
    ],
)
def test_lines_equal_the_words_of_their_header(dataset: str, records: int, real_logs: Path, world: World) -> None:
    expected = w3c(real_logs / dataset)
    measured = measure(world, "iis_access_log", real_logs, dataset, expected=expected, reader=PYTHON)
    measured.check()
    assert measured.stored == records


@pytest.mark.parametrize(
    ("table", "dataset", "stored", "bad"),
    [
        # Only the local time is told, and no zone.
        ("iis_access_log", "lnav-logfiles/logfile_w3c.3", 0, 3),
        # The header names fewer fields than the line has.
        ("iis_access_log", "lnav-logfiles/logfile_w3c.5", 0, 1),
        ("haproxy_log", "lnav-logfiles/logfile_haproxy.0", 17, 0),
        ("nginx_access_log", "lnav-logfiles/logfile_access_log_dupe.0", 3, 0),
    ],
)
def test_exactly_the_bad_lines_are_refused(
    table: str, dataset: str, stored: int, bad: int, real_logs: Path, world: World
) -> None:
    measured = measure(world, table, real_logs, dataset, bad=bad)
    measured.check()
    assert (measured.stored, measured.quarantined) == (stored, bad)
