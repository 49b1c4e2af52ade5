"""Listeners, driver and workers killed at random under load, beside readers: all that was acknowledged is stored once.

Statements 2, 16 and 17 of the sink.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import urllib3
from commandline import Home

KEY = "000102030405060708090a0b0c0d0e0f"
SENDERS, KILLS, REQUEST = 2, 20, 2000
MARKS = {"listeners": b"\0--part\0listeners\0", "driver": b"\0--part\0driver\0", "worker": b".daemon\0"}
"In command lines."
SECONDS = float(os.environ.get("TAILRACE_LONG_SECONDS", "200"))
ROWS = int(os.environ.get("TAILRACE_LONG_LIVE_ROWS", "1000000"))
ENGINES = {"local": ROWS, "spark": ROWS // 5}
EVENT = '{"type":"track","device_id":"550e8400-e29b-41d4-a716-446655440000","event":"%d.%d","properties":{"text":"' + (
    "x" * 100 + '"}}'
)
CONFIG = """
listener "http" "h" {{
  port = {port}
  api_keys_file = "{root}/keys"
}}
sink "parquet" "p" {{
  path = "{root}/parquet"
  flush_interval = "500ms"
}}
"""


class Sender(threading.Thread):
    """Sends until it is told to stop, the same request again until it is acknowledged."""

    def __init__(self, number: int, url: str, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.number, self.url, self.stop = number, url, stop
        self.acknowledged = 0
        self.again = 0

    def run(self) -> None:
        pool = urllib3.PoolManager(retries=False, timeout=10.0)
        while not self.stop.is_set():
            numbers = range(self.acknowledged, self.acknowledged + REQUEST)
            body = "\n".join(EVENT % (self.number, n) for n in numbers).encode()
            headers = {"X-API-Key": KEY, "Idempotency-Key": f"{self.number}.{self.acknowledged}"}
            while True:
                try:
                    if pool.request("POST", f"{self.url}/v1/events", body=body, headers=headers).status == 202:
                        break
                except urllib3.exceptions.HTTPError:
                    pass
                self.again += 1
                time.sleep(0.05)
            self.acknowledged += REQUEST


class Reader(threading.Thread):
    """Reads all files, by turns with three engines; whatever goes wrong is kept."""

    def __init__(self, root: Path, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.root, self.stop = root, stop
        self.looks = 0
        self.least = 0
        self.errors: list[str] = []

    def run(self) -> None:
        engines = [self._arrow, self._duckdb, self._polars]
        while not self.stop.is_set():
            if not list(self.root.rglob("*.parquet")):
                time.sleep(0.1)
                continue
            try:
                rows, distinct = engines[self.looks % 3]()
            except Exception as error:
                self.errors.append(repr(error))
                continue
            if rows != distinct or rows < self.least:
                self.errors.append(f"{rows} rows, {distinct} of them distinct, {self.least} before")
            self.least = rows
            self.looks += 1
            time.sleep(0.1)

    def _arrow(self) -> tuple[int, int]:
        tables = [pq.ParquetFile(path).read(["event_name"])["event_name"] for path in self.root.rglob("*.parquet")]
        names = pa.chunked_array([chunk for table in tables for chunk in table.chunks])
        return len(names), pc.count_distinct(names).as_py()

    def _duckdb(self) -> tuple[int, int]:
        with duckdb.connect() as engine:
            sql = f"SELECT count(*), count(DISTINCT event_name) FROM '{self.root}/**/*.parquet'"
            ((rows, distinct),) = engine.execute(sql).fetchall()
            return rows, distinct

    def _polars(self) -> tuple[int, int]:
        names = pl.scan_parquet(f"{self.root}/**/*.parquet").select("event_name").collect()["event_name"]
        return len(names), names.n_unique()


def children(process: int) -> list[int]:
    """Of all threads: Java begins processes on any of them."""
    found = []
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(child) for child in file.read_text().split()]
    return found


def command_of(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def victims(supervisor: int) -> dict[str, list[int]]:
    """Processes by what they are: listeners, driver, and the workers of Spark with the process that forks them."""
    found: dict[str, list[int]] = {"listeners": [], "driver": [], "worker": []}
    left = children(supervisor)
    while left:
        process = left.pop()
        command = command_of(process)
        for name, mark in MARKS.items():
            if mark in command:
                found[name].append(process)
        left += children(process)
    return {name: processes for name, processes in found.items() if processes}


@pytest.mark.parametrize("engine", ENGINES)
def test_16_killed_under_load(engine: str, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Home(tmp_path / "home")
    (tmp_path / "keys").write_text(f"{KEY}:42\n")
    home.configure(CONFIG.format(root=tmp_path, port=port))
    command = [sys.executable, "-m", "tailrace.cli.main", "serve", "--quiet", "--engine", engine]
    served = subprocess.Popen(command, env=home.environment(), cwd=tmp_path, stderr=subprocess.DEVNULL)
    stop = threading.Event()
    senders = [Sender(n, f"http://127.0.0.1:{port}", stop) for n in range(SENDERS)]
    reader = Reader(tmp_path / "parquet", stop)
    try:
        for thread in (*senders, reader):
            thread.start()
        chosen = random.Random(7)
        kills: Counter[str] = Counter()
        while kills.total() < KILLS:
            time.sleep(chosen.uniform(0.5, 1.5) * SECONDS / KILLS)
            if running := victims(served.pid):
                name = chosen.choice(sorted(running))
                with suppress(ProcessLookupError):
                    os.kill(chosen.choice(running[name]), signal.SIGKILL)
                    kills[name] += 1
        deadline = time.monotonic() + 900
        wanted_rows = ENGINES[engine]
        while (reader.looks < 20 or sum(s.acknowledged for s in senders) < wanted_rows) and time.monotonic() < deadline:
            time.sleep(0.1)
        stop.set()
        for thread in senders:
            thread.join(120)
        served.send_signal(signal.SIGTERM)
        assert served.wait(300) == 0
        reader.join(60)
    finally:
        stop.set()
        served.kill()
        served.wait()
    found = Counter(name for path in (tmp_path / "parquet").rglob("events.parquet")
                    for name in pq.ParquetFile(path).read()["event_name"].to_pylist())  # fmt: skip
    wanted = {f"{sender.number}.{n}" for sender in senders for n in range(sender.acknowledged)}
    assert set(found) == wanted
    assert set(found.values()) == {1}
    assert set(kills) == ({"driver", "listeners"} if engine == "local" else set(MARKS))
    assert not reader.errors
    assert reader.looks > 10
    assert len(wanted) >= wanted_rows
    record_property("rows acknowledged and stored once", len(wanted))
    for name, count in sorted(kills.items()):
        record_property(f"kills of {name}", count)
    record_property("requests sent again", sum(sender.again for sender in senders))
    record_property("readings of all files meanwhile", reader.looks)
