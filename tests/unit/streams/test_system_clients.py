"""Programs that every system has, `logger` and `curl`, and rsyslog of Debian: what they send arrives."""

from __future__ import annotations

import gzip
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from liveserver import EVENT, KEY, serving

needs_logger = pytest.mark.skipif(shutil.which("logger") is None, reason="there is no logger")
RSYSLOGD = shutil.which("rsyslogd", path="/usr/sbin:/sbin:/usr/bin") or ""
needs_rsyslog = pytest.mark.skipif(not RSYSLOGD, reason="there is no rsyslogd; on Debian: apt install rsyslog")
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


RSYSLOG = """
global(workDirectory="{root}")
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="{root}/log")
action(type="omfwd" target="{host}" port="{tcp}" protocol="tcp" template="RSYSLOG_SyslogProtocol23Format" {counted}
       queue.type="linkedList" action.resumeRetryCount="-1")
action(type="omfwd" target="{host}" port="{udp}" protocol="udp" template="RSYSLOG_TraditionalForwardFormat")
"""


@needs_rsyslog
@pytest.mark.parametrize("counted", ["", 'TCP_Framing="octet-counted"'])
def test_rsyslog(tmp_path: Path, counted: str) -> None:
    """Messages of a program, forwarded by the daemon of Debian over TCP and UDP."""
    with serving(tmp_path) as served:
        (host, tcp), (_, udp) = served.place("syslog.s"), served.place("syslog.s/udp")
        file = tmp_path / "rsyslog.conf"
        file.write_text(RSYSLOG.format(root=tmp_path, host=host, tcp=tcp, udp=udp, counted=counted))
        command = [RSYSLOGD, "-n", "-f", str(file), "-i", str(tmp_path / "pid")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as daemon:
            try:
                _until(lambda: (tmp_path / "log").exists())
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                    sender.connect(str(tmp_path / "log"))
                    for number in range(20):
                        sender.send(b"<12>Nov 18 10:00:00 app[7]: order %d" % number)
                _until(lambda: served.count("messages_received") >= 40)
            finally:
                daemon.terminate()
        rows = [row for row in served.rows("logs") if row["service"] == "app"]
    messages = [json.loads(row["document"])["message"].strip() for row in rows]
    assert sorted(messages) == sorted(2 * [f"order {n}" for n in range(20)])
    assert {(row["level"], row["workspace_id"]) for row in rows} == {("warning", 9)}
    assert all(row["source"] for row in rows)


def _until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
