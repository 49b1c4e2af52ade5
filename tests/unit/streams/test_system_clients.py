"""Programs that every system has, `logger` and `curl`: what they send arrives."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from liveserver import EVENT, KEY, serving

needs_logger = pytest.mark.skipif(shutil.which("logger") is None, reason="there is no logger")
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")


@needs_logger
def test_logger(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        ways = (
            ("--tcp", "--rfc3164"), ("--tcp", "--rfc5424"), ("--tcp", "--rfc5424", "--octet-count"),
            ("--udp", "--rfc3164"), ("--udp", "--rfc5424=notq"),
        )  # fmt: skip
        for number, way in enumerate(ways):
            host, port = served.place("syslog.s/udp" if "--udp" in way else "syslog.s")
            sent = ["logger", "--server", host, "--port", str(port), *way, "-t", "app", "-p", "user.warning"]
            subprocess.run([*sent, f"message {number}"], check=True, timeout=30)
        deadline = time.monotonic() + 20
        while served.count("messages_received") < len(ways) and time.monotonic() < deadline:
            time.sleep(0.02)
        rows = served.rows("logs")
    assert sorted(json.loads(row["document"])["message"] for row in rows) == [f"message {n}" for n in range(len(ways))]
    assert {(row["level"], row["service"], row["workspace_id"]) for row in rows} == {("warning", "app", 9)}
    assert all(row["source"] for row in rows)


@needs_curl
def test_curl(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        host, port = served.place("http.h")
        curl = ["curl", "--silent", "--show-error", f"http://{host}:{port}/v1/events", "--data-binary", "@-", "-H"]
        packed = [*curl, f"Authorization: Bearer {KEY}", "-H", "Content-Encoding: gzip"]
        in_pieces = [*curl, f"X-API-Key: {KEY}", "-H", "Transfer-Encoding: chunked"]
        for command, body, count in ((packed, gzip.compress(EVENT + b"\n" + EVENT), 2), (in_pieces, EVENT, 1)):
            run = subprocess.run(command, input=body, check=True, timeout=30, stdout=subprocess.PIPE)
            assert json.loads(run.stdout)["accepted"] == count
        assert len(served.rows("events")) == 3
