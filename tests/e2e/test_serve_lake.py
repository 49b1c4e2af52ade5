"""`tailrace serve` into tables of the lake: what clients send is in `tailrace query` a moment later, without a JVM."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from commandline import Home

KEY = "000102030405060708090a0b0c0d0e0f"
CONFIG = """
listener "http" "h" {{
  port          = 0
  api_keys_file = "{root}/keys"
}}
listener "syslog" "s" {{
  port     = 0
  protocol = "tcp"
}}
table "clicks" {{
  column "tp_timestamp" {{
    source = "timestamp"
    time   = "epoch_ms"
  }}
}}
sink "lake" "web" {{
  table          = "clicks"
  listeners      = [listener.http.h]
  flush_interval = "200ms"
}}
sink "lake" "hosts" {{
  table          = "syslog"
  listeners      = [listener.syslog.s]
  flush_interval = "200ms"
}}
"""
PATIENCE = 120.0


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_rows_of_listeners_are_in_the_lake(tmp_path: Path) -> None:
    home, said = Home(tmp_path / "home"), tmp_path / "err"
    (tmp_path / "keys").write_text(f"{KEY}:42:first\n")
    home.configure(CONFIG.format(root=tmp_path))
    with said.open("w") as err:
        command = [sys.executable, "-m", "tailrace.cli.main", "serve"]
        process = subprocess.Popen(command, env=home.environment(), stderr=err, cwd=home.path)
    try:
        until(lambda: "syslog.s on" in said.read_text() or process.poll() is not None)
        ports = dict(re.findall(r"listener (\S+) on \S+:(\d+)", said.read_text()))
        send(int(ports["http.h"]), 5)
        with socket.create_connection(("127.0.0.1", int(ports["syslog.s"]))) as client:
            client.sendall(b"<34>1 2024-05-01T10:00:00Z web-1 su 77 ID47 - failed\nno syslog at all\n")
        status = home.path / "spool" / "default.lake" / "hosts" / "status.json"
        until(lambda: status.exists() and "rows_written" in status.read_text())
        rows = home.query("select hostname, app_name, tp_date::varchar as day, tp_source_type from syslog")
        assert rows == [{"hostname": "web-1", "app_name": "su", "day": "2024-05-01", "tp_source_type": "syslog"}]
        # What was accepted just before the end is stored on the way out.
        send(int(ports["http.h"]), 3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, said.read_text()
    finally:
        process.kill()
        process.wait()
    assert home.query("select count(*) as n, count(distinct tp_id) as ids from clicks") == [{"n": 8, "ids": 8}]
    told = home.run("sink", "status", "--output", "json").json()
    assert [(row["name"], row["path"], row["rows"], row["quarantined"]) for row in told] == [
        ("hosts", "syslog.live", 2, 1), ("web", "clicks.live", 8, 0),
    ]  # fmt: skip
    listed = home.run("partition", "list", "--output", "json").json()
    assert [(row["name"], row["state"], row["rows"]) for row in listed] == [
        ("clicks.live", "live", 8), ("syslog.live", "live", 1),
    ]  # fmt: skip
    shown = home.run("partition", "show", "syslog.live", "--output", "json").json()
    assert shown["collected_by_source"][0]["source"] == "listener.syslog.s"
    refused = home.run("quarantine", "show", "syslog.live", "--output", "json")
    assert "no syslog at all" in refused.out
    assert not list((home.path / "spool" / "default").glob("*.segment"))


def send(port: int, count: int) -> None:
    event = {"type": "track", "device_id": "550e8400-e29b-41d4-a716-446655440000", "event": "e"}
    body = "\n".join(json.dumps(event | {"n": n}) for n in range(count)).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/events", body, {"X-API-Key": KEY})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        assert answer.status == 202
