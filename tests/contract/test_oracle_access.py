"""nginx and apache access logs as stored equal what Python's `re`, and other tools' published answers, find."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conformance import PYTHON, Measured, measure
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


def rows_of(world: World, table: str, path: Path) -> list[Row]:
    columns = (*COLUMNS, "tp_source_ip", "tp_ips")
    report = world.collect_one(table, str(path))
    assert report.clean
    return [dict(zip(columns, row, strict=True)) for row in stored(world, table, columns)]


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
    lines = [line for line in (real_logs / place).read_bytes().decode().split("\n") if line]
    wanted = [dict(zip(COLUMNS, parsed(line), strict=True)) for line in lines]
    measured = measure(world, table, real_logs, place, expected=wanted, reader=PYTHON)
    measured.check()
    assert (measured.received, measured.stored, measured.differing) == (len(wanted), len(wanted), ())


def test_apache_samples_equal_a_regular_expression(real_logs: Path, world: World, tmp_path: Path) -> None:
    """The samples' own fields were made up for another line."""
    dataset = "opensearch-catalog/observability/apache/data/sample.json"
    lines = [sample["body"] for sample in json.loads((real_logs / dataset).read_text())]
    lines = [line for line in lines if not line.startswith("[")]  # of the error log
    (tmp_path / "access.log").write_text("".join(f"{line}\n" for line in lines))
    wanted = [dict(zip(COLUMNS, parsed(line), strict=True)) for line in lines]
    measured = measure(world, APACHE, tmp_path, "access.log", expected=wanted, reader=PYTHON, shown=dataset)
    measured.check()
    assert (measured.stored, measured.differing) == (3, ())


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


def ecs(event: Row) -> Row:
    """The fields that the other tool found; those it did not find are null."""
    found = {column: value(event.get(field)) for field, column in ECS.items()}
    found["replace(coalesce(server_protocol, ''), 'HTTP/', '')"] = event.get("http.version", "")
    return found | {"tp_timestamp": datetime.fromisoformat(event["@timestamp"]).replace(tzinfo=None)}


def beats(world: World, data: Path, table: str, name: str, told: Callable[[Row], Row]) -> Measured:
    place = f"{BEATS}/{table.partition('_')[0]}/access/test/{name}.log"
    events = json.loads((data / f"{place}-expected.json").read_text())
    return measure(world, table, data, place, expected=[told(event) for event in events])


def apache(event: Row) -> Row:
    return ecs(event) | {
        "remote_addr": event.get("source.address", event.get("source.ip")),
        "tp_source_ip": event.get("source.ip"),
        "server_name": event.get("destination.domain"),
        "tp_extra ->> 'ssl_cipher'": event.get("tls.cipher"),
        "tp_extra ->> 'ssl_protocol'": event.get("apache.access.ssl.protocol"),
    }


@pytest.mark.parametrize("name", ["darwin-2.4.23", "ssl-request", "test-vhost", "test", "ubuntu-2.2.22"])
def test_apache_as_other_tools_read_it(name: str, real_logs: Path, world: World) -> None:
    measured = beats(world, real_logs, APACHE, name, apache)
    measured.check()
    assert not measured.differing


def nginx(event: Row) -> Row:
    row = ecs(event) if "http.request.method" in event else {}
    if "nginx.access.remote_ip_list" in event:
        listed = "list_sort(split(concat_ws(', ', tp_extra ->> 'http_x_forwarded_for', remote_addr), ', '))"
        row[listed] = sorted(event["nginx.access.remote_ip_list"])
    return row | {
        "status": event["http.response.status_code"],
        "host": event.get("destination.domain", event.get("destination.ip")),
        "server_port": int(event["destination.port"]) if "destination.port" in event else None,
    }


@pytest.mark.parametrize("name", ["access", "test", "test-with-host"])
def test_nginx_as_other_tools_read_it(name: str, real_logs: Path, world: World) -> None:
    measured = beats(world, real_logs, NGINX, name, nginx)
    measured.check()
    assert not measured.differing


def test_lists_of_addresses(world: World, tmp_path: Path) -> None:
    rest = '- - [07/Dec/2016:11:05:07 +0100] "GET / HTTP/1.1" 200 571 "-" "curl/8"'
    path = tmp_path / "access.log"
    path.write_text(f"10.0.0.2, 10.0.0.1, ::1 {rest}\nunix: {rest}\n1.1.1.1 {rest}\n- {rest}\n")
    rows = rows_of(world, NGINX, path)
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
    rows = rows_of(world, table, path)
    assert [(r["remote_addr"], r["remote_user"]) for r in rows] == [
        ("1.1.1.1", "John Ronald Doe"), ("1.1.1.1", "bob")
    ]  # fmt: skip


SAMPLES = "opensearch-catalog/observability/nginx/data/sample.json"


def sampled(sample: Row) -> Row:
    http = sample["http"]
    return {
        "remote_addr": sample["communication"]["source"]["ip"],
        "request_method": http["request"]["method"],
        "request_uri": http["url"],
        "status::varchar": http["response"]["status_code"],
        "body_bytes_sent": http["response"]["bytes"],
        "server_protocol": f"HTTP/{http['flavor']}",
        "tp_timestamp": datetime.fromisoformat(sample["@timestamp"]).replace(tzinfo=None),
    }


def test_nginx_samples_with_their_fields(real_logs: Path, world: World, tmp_path: Path) -> None:
    samples = json.loads((real_logs / SAMPLES).read_text())
    (tmp_path / "access.log").write_text("".join(f"{sample['body']}\n" for sample in samples))
    answers = [sampled(sample) for sample in samples]
    measured = measure(world, NGINX, tmp_path, "access.log", expected=answers, shown=SAMPLES)
    measured.check()
    assert (measured.stored, measured.differing) == (990, ())


def test_common_log_format_as_jc_reads_it(real_logs: Path, world: World) -> None:
    place = "jc-fixtures/generic/common-log-format"
    answers = json.loads((real_logs / f"{place}.json").read_text())
    good = [a for a in answers if "unparsable" not in a]
    names = {
        "host": "remote_addr", "ident": "remote_logname", "authuser": "remote_user", "status": "status",
        "bytes": "body_bytes_sent", "referer": "http_referer", "user_agent": "http_user_agent",
        "extra": "tp_extra ->> 'tp_rest'",
    }  # fmt: skip
    wanted = [{column: a[name] for name, column in names.items()} | {"tp_timestamp": moment(a["date"])} for a in good]
    measured = measure(world, APACHE, real_logs, f"{place}.log", expected=wanted, bad=len(answers) - len(good))
    measured.check()
    assert not measured.differing
    raw = world.query("select raw from tp_quarantine order by position")
    assert [r.decode() for (r,) in raw] == [a["unparsable"] for a in answers if "unparsable" in a]


def plaso(line: str) -> Row:
    front, _, rest = line.partition(" ") if ":443 " in line else ("", "", line)
    host = front.partition(":")[0] or None
    return {
        "server_name": host,
        "server_port": 443 if host else None,
        "remote_addr": rest.split(" ")[0],
        "tp_timestamp": moment(rest[rest.index("[") + 1 : rest.index("]")]),
        "request_method": "GET",
        "status": int(re.findall(r'" (\d{3}) ', rest)[0]),
    }


def test_plaso_lines(real_logs: Path, world: World) -> None:
    place = "plaso-test-data/apache_access.log"
    wanted = [plaso(line) for line in (real_logs / place).read_text().splitlines()]
    measured = measure(world, APACHE, real_logs, place, expected=wanted, reader=PYTHON)
    measured.check()
    assert (measured.stored, measured.differing) == (15, ())
