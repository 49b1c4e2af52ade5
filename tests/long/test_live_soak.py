"""Live data for a long time, and for many tenants: memory stays as it was (statement 37 of the sink)."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import flatwrite as fw
import pyarrow.parquet as pq
from livesink import HOUR, NOW, Sink, frames
from servedprocess import children, end, home_with, resident, served

SECONDS = float(os.environ.get("TAILRACE_SOAK_SECONDS", "1200"))
TENANTS = int(os.environ.get("TAILRACE_SOAK_TENANTS", "1000"))
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


def test_memory_stays_flat(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    home, port = home_with(tmp_path, CONFIG)
    sizes: list[int] = []
    with served(home, tmp_path) as process:
        sent = _send(port, process.pid, sizes)
        end(process)
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
