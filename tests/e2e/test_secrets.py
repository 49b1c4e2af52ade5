"""Secrets of connections and sources: used where they are needed, and to be found nowhere else."""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, time, timedelta
from pathlib import Path
from socket import socket

import pytest
from bucketserver import BucketServer, serving
from commandline import Home, ended, killed_afterwards, wait_for
from eventservice import event_service, events
from kafkabroker import Broker
from logfiles import access_lines, today, write

SECRETS = {
    "secret_key": "aws-S3CRET-one",
    "token": "bearer-S3CRET-two",
    "header": "header-S3CRET-three",
    "parameter": "parameter-S3CRET-four",
    "variable": "variable-S3CRET-five",
    "environment": "environment-S3CRET-six",
    "password": "sasl-S3CRET-seven",
}
MARK = b"S3CRET"
"In all of them, and in nothing else."
CONFIG = """
variable "from_outside" { type = string }
connection "aws" "stand_in" {
  endpoint_url        = "{bucket}"
  access_key          = "AKIDTEST"
  secret_key          = "{secret_key}"
  region              = "us-east-1"
  s3_force_path_style = true
}
connection "http" "shop" {
  token   = "{token}"
  headers = { X-Api-Key = "{header}" }
}
table "shop_event" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
}
partition "nginx_access_log" "bucket" {
  source "aws_s3_bucket" {
    connection = connection.aws.stand_in
    bucket     = "logs"
  }
}
partition "shop_event" "api" {
  source "http" {
    connection    = connection.http.shop
    url           = "{api}/events/link"
    secret_params = { api_key = "{parameter}" }
    params        = { since = "{from}", until = "{to}" }
    pagination    = "link"
  }
}
connection "kafka" "bus" {
  username = "tailrace"
  password = "{password}"
}
partition "shop_event" "bus" {
  source "kafka" {
    connection = connection.kafka.bus
    brokers    = ["{broker}"]
    topics     = ["events"]
    options    = { "security.protocol" = "PLAINTEXT" } // the broker of the test knows no SASL
  }
}
partition "nginx_access_log" "program" {
  source "file" { paths = ["{logs}"] }
  source "command" {
    command = ["sh", "{script}"]
    env     = { PASSWORD = var.from_outside, OTHER = env("SECRET_OF_TEST") }
  }
}
"""
MANY = 4000
"Small files, whose names alone make a job of more than a megabyte: Spark hands such a job on in a file."


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write(tmp_path / "lines", access_lines(today(), 5))
    (tmp_path / "logs").mkdir()
    script = f'echo $$ > "{tmp_path}/started"; while [ ! -e "{tmp_path}/go" ]; do sleep 0.05; done; '
    (tmp_path / "script").write_text(f'{script}test "$PASSWORD" = "$EXPECTED" || exit 9; cat "{tmp_path}/lines"\n')
    return tmp_path


@pytest.fixture
def servers(place: Path, home: Home) -> Iterator[None]:
    broker = Broker()
    broker.send("events", events(10, datetime.combine(today(), time.min)))
    with (
        serving(BucketServer({"a.log": access_lines(today(), 20).encode()})) as bucket,
        event_service(0) as (service, api),
    ):
        service.held = events(30, datetime.combine(today(), time.min))
        text = CONFIG
        places = {"bucket": bucket.url, "api": api.url, "broker": broker.address}
        files = {"logs": f"{place}/logs", "script": f"{place}/script"}
        for name, value in (SECRETS | places | files).items():
            text = text.replace(f"{{{name}}}", value)
        home.configure(text)
        yield


def variables(place: Path) -> dict[str, str]:
    return {
        "TAILRACE_VAR_from_outside": SECRETS["variable"],
        "SECRET_OF_TEST": SECRETS["environment"],
        "EXPECTED": SECRETS["variable"],
        "TMPDIR": str(place / "tmp"),
    }


def holding(directory: Path) -> list[str]:
    """Files in which a secret can be read, but for the configuration itself."""
    found = []
    # `os.walk` passes over directories that go meanwhile.
    for path in (Path(above, name) for above, _, names in os.walk(directory) for name in names):
        with suppress(OSError):
            if path.is_file() and path.name != "test.tpc" and MARK in path.read_bytes():
                found.append(str(path))
    return found


def told_by_spark(port: int) -> bytes:
    """What Spark's own pages and its API say of a running application."""
    base = f"http://127.0.0.1:{port}"

    def get(path: str) -> bytes:
        with urllib.request.urlopen(base + path, timeout=20) as answer:
            return bytes(answer.read())

    (application,) = json.loads(get("/api/v1/applications"))
    address = f"/api/v1/applications/{application['id']}"
    pages = ["/environment/", "/jobs/", "/stages/", "/executors/", "/SQL/", "/storage/"]
    asked = [f"{address}/{name}" for name in ("environment", "jobs", "stages", "sql", "allexecutors")]
    return b"".join(map(get, [*pages, *asked]))


def command_lines(home: Home) -> list[str]:
    return list(home.processes().values())


@pytest.mark.usefixtures("servers")
def test_a_secret_shows_nowhere(home: Home, place: Path) -> None:
    """Neither on disk, on the screen and in Spark's pages, nor in any process's command line, while it is used."""
    (place / "tmp").mkdir()
    line = access_lines(today(), 1)
    for number in range(MANY):
        (place / "logs" / f"{'long' * 25}-{number:06}.log").write_text(line)
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    conf = {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        "spark.local.dir": f"{place}/tmp",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{place}/tmp",
    }
    settings = [part for pair in conf.items() for part in ("--spark-conf", "=".join(pair))]
    span = ("--from", f"{today()}", "--to", f"{today() + timedelta(days=1)}")
    seen: list[str] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            seen.extend(holding(place / "tmp"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        command = ("-vv", *settings, "collect", *span)
        with killed_afterwards(home.start(*command, **variables(place))) as process:
            wait_for(lambda: (place / "started").exists() or process.poll() is not None)
            assert MARK not in told_by_spark(port)
            assert not [line for line in command_lines(home) if MARK.decode() in line]
            (place / "go").touch()
            done = ended(process)
    finally:
        over.set()
        watcher.join()
    assert done.code == 0, done
    assert MARK.decode() not in done.out + done.err
    assert holding(place) == []
    assert set(seen) == set()
    assert home.query("select count(*) as n from nginx_access_log") == [{"n": 20 + 5 + MANY}]
    assert home.query("select count(*) as n from shop_event") == [{"n": 30 + 10}]


@pytest.mark.usefixtures("servers")
def test_nor_when_everything_fails(home: Home, place: Path) -> None:
    """Programs that tell their password, services that quote the request: -vv shows where, not what."""
    (place / "script").write_text('echo "cannot log in with $PASSWORD at http://me:$OTHER@host/" >&2; exit 3\n')
    text = (home.path / "config" / "test.tpc").read_text()
    broken = text.replace("/events/link", "/nothing/here").replace('"logs"', '"other"', 1)
    # librdkafka quotes what it does not understand.
    broken = broken.replace('"security.protocol" = "PLAINTEXT"', f'"sasl.mechanism" = "{SECRETS["password"]}"')
    home.configure(broken + '\npartition "syslog" "denied" {\n source "file" { paths = ["/proc/1/environ"] }\n}\n')
    done = home.run("-vv", "collect", "--from", f"{today()}", "--output", "json", **variables(place))
    assert done.code == 3, done
    assert "exit status 3: cannot log in with ***" in done.out
    assert MARK.decode() not in done.out + done.err
    assert holding(place) == []
    looked = home.run("-vv", "collect", "--dry-run", **variables(place))
    assert "Unsupported SASL mechanism: ***" in looked.err
    assert MARK.decode() not in looked.out + looked.err
    connections = (("connection", "show", name) for name in ("shop", "bus"))
    for command in (("source", "list"), *connections, ("config", "show", "--origin")):
        shown = home.run(*command, "--output", "json", **variables(place))
        assert shown.code == 0, shown
        assert MARK.decode() not in shown.out + shown.err
