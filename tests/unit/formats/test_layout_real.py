from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest
from layoutread import NGINX, Row, read

from tailrace.tables.apache_access_log import TABLE as APACHE
from tailrace.tables.nginx_access_log import COMBINED as NGINX_COMBINED

INDEPENDENT = re.compile(
    rb'(\S+) (\S+) (\S+) \[([^\]]+)\] "(\S+) (.*?) (HTTP/\S+)" (\d+) (\d+|-)'
    rb' "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"'
)


def test_apache_logs_equal_an_independent_reader(real_logs: Path) -> None:
    data = (real_logs / "elastic-examples/apache_logs/apache_logs").read_bytes()
    result = read(APACHE, [data[i : i + 100_000] for i in range(0, len(data), 100_000)])
    assert result.bad == []
    by_position = {row["at"]: row for row in result.rows}
    position = compared = 0
    names = "remote_addr remote_logname remote_user timestamp request_method request_uri server_protocol status"
    keys = [*names.split(), "body_bytes_sent", "http_referer", "http_user_agent"]
    for raw in data.split(b"\n")[:-1]:
        found = INDEPENDENT.fullmatch(raw)
        if found:
            want: Row = dict(zip(keys, (part.decode() for part in found.groups()), strict=True))
            want = {k: v for k, v in want.items() if v != "-"}
            time = datetime.strptime(want["timestamp"], "%d/%b/%Y:%H:%M:%S +0000")
            want |= {"timestamp": time, "status": int(want["status"]), "at": position}
            if "body_bytes_sent" in want:
                want["body_bytes_sent"] = int(want["body_bytes_sent"])
            assert by_position[position] == want
            compared += 1
        position += len(raw) + 1
    assert compared >= 9_990
    assert len(result.rows) == 10_000


def expectations(path: Path) -> dict[int, Row]:
    return {row["log.offset"]: row for row in json.loads(Path(f"{path}-expected.json").read_text())}


def compare(row: Row, want: Row) -> None:
    pairs = {
        "request_method": "http.request.method",
        "status": "http.response.status_code",
        "body_bytes_sent": "http.response.body.bytes",
        "http_user_agent": "user_agent.original",
        "request_uri": "url.original",
    }
    if "extra" in row:  # a request line that is none: ours keeps it, theirs differs
        pairs = {"status": pairs["status"]}
    for ours, theirs in pairs.items():
        assert row.get(ours) == (None if want.get(theirs) == "-" else want.get(theirs)), (ours, want)
    if "extra" not in row and "http.version" in want:
        assert row["server_protocol"] == f"HTTP/{want['http.version']}"


@pytest.mark.parametrize("name", ["darwin-2.4.23", "test-vhost", "test", "ubuntu-2.2.22"])
def test_beats_apache(real_logs: Path, name: str) -> None:
    path = real_logs / f"beats-filebeat-apache2/apache/access/test/{name}.log"
    result = read(APACHE, path.read_bytes())
    wanted = expectations(path)
    assert result.bad == []
    assert len(result.rows) == len(wanted)
    for row in result.rows:
        want = wanted[row["at"]]
        compare(row, want)
        assert row["timestamp"] == datetime.fromisoformat(want["@timestamp"]).replace(tzinfo=None)
        assert row["remote_addr"] == want.get("source.address", row["remote_addr"])


def test_beats_apache_ssl_request(real_logs: Path) -> None:
    path = real_logs / "beats-filebeat-apache2/apache/access/test/ssl-request.log"
    text = '%t %h %{SSL_PROTOCOL}x %{SSL_CIPHER}x "%r" %b'
    rows = read(APACHE, path.read_bytes(), text=text, also=()).rows
    for row in rows:
        want = expectations(path)[row["at"]]
        assert row["request_uri"] == want["url.original"]
        assert row["extra"]["ssl_protocol"] == "TLSv1.2"


def test_beats_nginx(real_logs: Path) -> None:
    path = real_logs / "beats-filebeat-apache2/nginx/access/test/access.log"
    rows = read(NGINX, path.read_bytes(), also=(f"$host {NGINX_COMBINED.text}",)).rows
    wanted = expectations(path)
    assert len(rows) == len(wanted)
    for row in rows:
        compare(row, wanted[row["at"]])
    path = path.with_name("test.log")
    for row in read(NGINX, path.read_bytes()).rows:
        if "tp_rest" in row.get("extra", {}):
            del row["extra"]
        compare(row, expectations(path)[row["at"]])


def test_beats_ingress(real_logs: Path) -> None:
    path = real_logs / "beats-filebeat-apache2/nginx/ingress_controller/test/test.log"
    text = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
    text += '"$http_user_agent" $request_length $request_time [$proxy_upstream_name] '
    text += "[$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time "
    text += "$upstream_status $req_id"
    result = read(NGINX, path.read_bytes(), text=text)
    assert result.bad == []
    wanted = expectations(path)
    assert len(result.rows) == len(wanted)
    for row in result.rows:
        want = wanted[row["at"]]
        assert row["request_uri"] == want["url.original"]
        assert row["extra"]["req_id"] == want["nginx.ingress_controller.http.request.id"]
