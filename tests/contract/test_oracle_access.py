"""nginx and apache access logs as stored equal what Python's `re`, and other tools' published answers, find."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from generated import generate

if TYPE_CHECKING:
    from tests.conftest import World

Row = dict[str, Any]
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_LINE = re.compile(
    rf"(\S+) (\S+) (\S+) \[([^]]*)\] {_QUOTED} (\d+) (\S+)(?: {_QUOTED} {_QUOTED})?(?: (.*))?", re.DOTALL
)
_REQUEST = re.compile(r"(\S*) (.*) (HTTP/\S*)", re.DOTALL)
NGINX = "nginx_access_log"
APACHE = "apache_access_log"
COLUMNS = (
    "remote_addr", "remote_user", "request_method", "request_uri", "server_protocol", "status",
    "body_bytes_sent", "http_referer", "http_user_agent", "tp_timestamp",
)  # fmt: skip


def value(text: str | None) -> str | None:
    return None if text in (None, "-") else text


def moment(text: str) -> datetime:
    return datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z").astimezone(UTC).replace(tzinfo=None)


def requested(text: str) -> tuple[str | None, str | None, str | None]:
    whole = _REQUEST.fullmatch(text)
    if whole:
        return whole[1], whole[2], whole[3]
    method, _, target = text.partition(" ")
    return (value(method) or None, target or None, None)


def parsed(line: str) -> tuple[Any, ...]:
    """The line read by a regular expression, in the order of COLUMNS."""
    found = _LINE.fullmatch(line)
    assert found, line
    address, _, user, time, request, status, size, referer, agent, _rest = found.groups()
    number = int(size) if size != "-" else None
    whole = requested(request)
    return (address, value(user), *whole, int(status), number, value(referer), value(agent), moment(time))


def stored(world: World, table: str, columns: Iterable[str] = COLUMNS) -> list[tuple[Any, ...]]:
    """The rows in the order of files and of lines in them."""
    return world.query(f"select {', '.join(columns)} from {table} order by tp_source_location, tp_id")


def rows_of(world: World, table: str, path: Path, more: str) -> list[Row]:
    columns = (*COLUMNS, "tp_source_ip", "tp_ips", "tp_extra", *more.split())
    report = world.collect_one(table, str(path))
    assert report.clean
    return [dict(zip(columns, row, strict=True)) for row in stored(world, table, columns)]


def extra(row: Row) -> Row:
    return dict(json.loads(row["tp_extra"] or "{}"))


@pytest.mark.parametrize(
    ("table", "place"),
    [
        (APACHE, "elastic-examples/apache_logs/apache_logs"),
        (APACHE, "beats-filebeat-apache2/apache/access/test/ubuntu-2.2.22.log"),
        (NGINX, "opensearch-catalog/observability/nginx/data/raw.log"),
        (NGINX, "lnav-logfiles/logfile_shop_access_log.0"),
        (NGINX, "lnav-logfiles/logfile_access_log.0"),
        (NGINX, "lnav-logfiles/logfile_access_log.1"),
        (NGINX, "beats-filebeat-apache2/nginx/ingress_controller/test/test.log"),
    ],
)
def test_real_files_equal_a_regular_expression(table: str, place: str, real_logs: Path, world: World) -> None:
    path = real_logs / place
    wanted = [parsed(line) for line in path.read_bytes().decode().split("\n") if line]
    report = world.collect_one(table, str(path))
    assert (report.counts.received, report.counts.stored) == (len(wanted), len(wanted))
    assert stored(world, table) == wanted


def test_generated_nginx_equals_a_regular_expression(world: World, tmp_path: Path) -> None:
    texts = generate(tmp_path / "logs", "write_nginx(root, rows=4000, hosts=2, days=2)")
    lines = [line for text in texts for line in text.splitlines()]
    report = world.collect_one(NGINX, str(tmp_path / "logs"))
    assert report.counts.stored == len(lines) == 4000
    assert stored(world, NGINX) == [parsed(line) for line in lines]


BEATS = "beats-filebeat-apache2"
ECS = {
    "http.request.method": "request_method",
    "url.original": "request_uri",
    "http.response.status_code": "status",
    "http.response.body.bytes": "body_bytes_sent",
    "http.request.referrer": "http_referer",
    "user_agent.original": "http_user_agent",
    "user.name": "remote_user",
}


def assert_ecs(row: Row, event: Row) -> None:
    """Each field that the other tool found has the same value here, and those it did not find are null."""
    for field, column in ECS.items():
        assert row[column] == value(event.get(field)), (field, event["event.original"])
    assert (row["server_protocol"] or "HTTP/").removeprefix("HTTP/") == event.get("http.version", "")
    assert row["tp_timestamp"].isoformat() + ".000Z" == event["@timestamp"]


@pytest.mark.parametrize("name", ["darwin-2.4.23", "ssl-request", "test-vhost", "test", "ubuntu-2.2.22"])
def test_apache_as_other_tools_read_it(name: str, real_logs: Path, world: World) -> None:
    path = real_logs / BEATS / "apache/access/test" / f"{name}.log"
    events = json.loads(path.with_name(f"{name}.log-expected.json").read_text())
    rows = rows_of(world, APACHE, path, "server_name")
    assert len(rows) == len(events)
    for row, event in zip(rows, events, strict=True):
        assert_ecs(row, event)
        assert row["remote_addr"] == event.get("source.address", event.get("source.ip"))
        assert row["tp_source_ip"] == event.get("source.ip")
        assert row["server_name"] == event.get("destination.domain")
        assert extra(row).get("ssl_cipher") == event.get("tls.cipher")
        assert extra(row).get("ssl_protocol") == event.get("apache.access.ssl.protocol")


@pytest.mark.parametrize("name", ["access", "test", "test-with-host"])
def test_nginx_as_other_tools_read_it(name: str, real_logs: Path, world: World) -> None:
    path = real_logs / BEATS / "nginx/access/test" / f"{name}.log"
    events = json.loads(path.with_name(f"{name}.log-expected.json").read_text())
    rows = rows_of(world, NGINX, path, "host server_port")
    assert len(rows) == len(events)
    for row, event in zip(rows, events, strict=True):
        if "http.request.method" in event:
            assert_ecs(row, event)
        assert row["status"] == event["http.response.status_code"]
        assert row["host"] == event.get("destination.domain", event.get("destination.ip"))
        assert row["server_port"] == (int(event["destination.port"]) if "destination.port" in event else None)
        forwarded = extra(row).get("http_x_forwarded_for")
        addresses = ", ".join(filter(None, (forwarded, row["remote_addr"]))).split(", ")
        assert sorted(addresses) == sorted(event.get("nginx.access.remote_ip_list", addresses))


def test_lists_of_addresses(world: World, tmp_path: Path) -> None:
    rest = '- - [07/Dec/2016:11:05:07 +0100] "GET / HTTP/1.1" 200 571 "-" "curl/8"'
    path = tmp_path / "access.log"
    path.write_text(f"10.0.0.2, 10.0.0.1, ::1 {rest}\nunix: {rest}\n1.1.1.1 {rest}\n- {rest}\n")
    rows = rows_of(world, NGINX, path, "")
    assert [(r["remote_addr"], r["tp_source_ip"], r["tp_ips"]) for r in rows] == [
        ("10.0.0.2, 10.0.0.1, ::1", "10.0.0.2", ["10.0.0.2", "10.0.0.1", "::1"]),
        ("unix:", None, None),
        ("1.1.1.1", "1.1.1.1", ["1.1.1.1"]),
        (None, None, None),
    ]


@pytest.mark.parametrize("table", [NGINX, APACHE])
def test_user_names_with_blanks(table: str, world: World, tmp_path: Path) -> None:
    rest = '[07/Dec/2016:11:05:07 +0100] "GET / HTTP/1.1" 200 571 "-" "curl/8"'
    path = tmp_path / "access.log"
    path.write_text(f"1.1.1.1 - John Ronald Doe {rest}\n1.1.1.1 - bob {rest}\n")
    rows = rows_of(world, table, path, "")
    assert [(r["remote_addr"], r["remote_user"]) for r in rows] == [
        ("1.1.1.1", "John Ronald Doe"), ("1.1.1.1", "bob")
    ]  # fmt: skip


def test_nginx_samples_with_their_fields(real_logs: Path, world: World, tmp_path: Path) -> None:
    samples = json.loads((real_logs / "opensearch-catalog/observability/nginx/data/sample.json").read_text())
    path = tmp_path / "access.log"
    path.write_text("".join(f"{sample['body']}\n" for sample in samples))
    rows = rows_of(world, NGINX, path, "")
    assert len(rows) == len(samples) == 990
    for row, sample in zip(rows, samples, strict=True):
        http = sample["http"]
        assert row["remote_addr"] == sample["communication"]["source"]["ip"]
        assert (row["request_method"], row["request_uri"]) == (http["request"]["method"], http["url"])
        assert (str(row["status"]), row["body_bytes_sent"]) == (
            http["response"]["status_code"], http["response"]["bytes"]
        )  # fmt: skip
        assert row["server_protocol"] == f"HTTP/{http['flavor']}"
        assert f"{row['tp_timestamp'].isoformat()}.000Z" == sample["@timestamp"]


def test_common_log_format_as_jc_reads_it(real_logs: Path, world: World) -> None:
    place = real_logs / "jc-fixtures/generic"
    answers = json.loads((place / "common-log-format.json").read_text())
    good = [a for a in answers if "unparsable" not in a]
    report = world.collect_one(APACHE, str(place / "common-log-format.log"))
    assert (report.counts.stored, report.counts.quarantined) == (len(good), len(answers) - len(good))
    columns = ("remote_addr", "remote_logname", "remote_user", "status", "body_bytes_sent", "http_referer")
    rows = stored(world, APACHE, (*columns, "http_user_agent", "tp_timestamp", "tp_extra"))
    for row, answer in zip(rows, good, strict=True):
        names = ("host", "ident", "authuser", "status", "bytes", "referer", "user_agent")
        assert row[:7] == tuple(answer[name] for name in names)
        assert row[7] == moment(answer["date"])
        assert extra({"tp_extra": row[8]}).get("tp_rest") == answer["extra"]
    raw = world.query("select raw from tp_quarantine order by position")
    assert [r.decode() for (r,) in raw] == [a["unparsable"] for a in answers if "unparsable" in a]


def test_plaso_lines(real_logs: Path, world: World) -> None:
    path = real_logs / "plaso-test-data/apache_access.log"
    rows = rows_of(world, APACHE, path, "server_name server_port")
    lines = path.read_text().splitlines()
    assert len(rows) == len(lines) == 15
    for row, line in zip(rows, lines, strict=True):
        front, _, rest = line.partition(" ") if ":443 " in line else ("", "", line)
        host = front.partition(":")[0] or None
        assert (row["server_name"], row["server_port"]) == (host, 443 if host else None)
        assert row["remote_addr"] == rest.split(" ")[0]
        assert row["tp_timestamp"] == moment(rest[rest.index("[") + 1 : rest.index("]")])
        assert (row["request_method"], row["status"]) == ("GET", int(re.findall(r'" (\d{3}) ', rest)[0]))
