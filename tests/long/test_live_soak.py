"""Live data for a long time, and for many tenants: memory stays as it was (statement 37 of the sink)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import flatwrite as fw
import pyarrow.parquet as pq
from commandline import Home
from livesink import HOUR, NOW, Sink, frames

SECONDS = float(os.environ.get("TAILRACE_SOAK_SECONDS", "1200"))
TENANTS = int(os.environ.get("TAILRACE_SOAK_TENANTS", "1000"))
KEY = "000102030405060708090a0b0c0d0e0f"
RATE = 20_000
CONFIG = """
listener "tcp" "t" {{
  port = {port}
  api_keys_file = "{root}/keys"
}}
sink "parquet" "p" {{
  path = "{root}/parquet"
  flush_interval = "2s"
}}
"""


def resident(*processes: int) -> int:
    """Bytes; shared pages count for each."""
    pages = (int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in processes)
    return sum(pages) * os.sysconf("SC_PAGE_SIZE")


def children(process: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_memory_stays_flat(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Home(tmp_path / "home")
    (tmp_path / "keys").write_text(f"{KEY}:42\n")
    home.configure(CONFIG.format(root=tmp_path, port=port))
    command = [sys.executable, "-m", "tailrace.cli.main", "serve", "--quiet"]
    served = subprocess.Popen(command, env=home.environment(), cwd=tmp_path, stderr=subprocess.DEVNULL)
    sizes: list[int] = []
    try:
        sent = _send(port, served.pid, sizes)
        served.send_signal(signal.SIGTERM)
        assert served.wait(300) == 0
    finally:
        served.kill()
        served.wait()
    stored = sum(pq.read_metadata(path).num_rows for path in (tmp_path / "parquet").rglob("events.parquet"))
    assert stored == sent
    quarter = len(sizes) // 4
    second, last = max(sizes[quarter : 2 * quarter]), max(sizes[-quarter:])
    record_property("rows", stored)
    record_property("largest memory in the second quarter, MB", second >> 20)
    record_property("largest memory in the last quarter, MB", last >> 20)
    assert last <= 1.2 * second


def _send(port: int, supervisor: int, sizes: list[int]) -> int:
    """At a steady rate; the number of rows."""
    deadline = time.monotonic() + 60
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=60)
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    sent, began, looked = 0, time.monotonic(), 0.0
    with connection:
        while (now := time.monotonic()) - began < SECONDS:
            stamp = int(time.time() * 1000)
            data = fw.framed(fw.events([fw.event(sent + n, timestamp=stamp) for n in range(1000)]))
            connection.sendall(data)
            sent += 1000
            time.sleep(max(began + sent / RATE - now, 0))
            if now - looked > max(SECONDS / 200, 0.5):
                looked = now
                sizes.append(resident(*children(supervisor)))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
    return sent


def test_37_many_tenants_and_hours(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    sink = Sink(tmp_path, rotation="hourly")
    sizes = []
    for hour in range(48):
        moment = NOW + hour * HOUR
        message = fw.events([fw.event(timestamp=moment)])
        sink.send(*(frames(message, workspace=tenant + 1, at=moment) for tenant in range(TENANTS)))
        sizes.append(resident(os.getpid()))
    assert len(sink.tree()) == 48 * TENANTS
    record_property("files", 48 * TENANTS)
    record_property("largest memory after two hours, MB", sizes[1] >> 20)
    record_property("largest memory after 48 hours, MB", sizes[-1] >> 20)
    assert sizes[-1] <= 1.2 * sizes[1]
