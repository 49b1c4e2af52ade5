"""Live data under load: rows a second from the socket into files, and how long acknowledgements and files take.

A rate is what was read back from the files, divided by the time from the first byte sent until `serve` has ended and
published everything. `--seconds` says how long each load lasts.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow.parquet as pq

import report
from live_traffic import EACH, KEY, Sent, send

FLUSH = 5
FRAMES, LINES, PLAIN_RATIO = 150_000, 60_000, 3
ACKNOWLEDGED, VISIBLE = 0.050, 5.0
"Seconds: 99 in 100 acknowledgements, and how much later than the flush interval rows may be in files."
CONNECTIONS = {"tcp": 4, "http": 8}
CONFIG = """
listener "http" "h" {{
  port          = {http}
  api_keys_file = "{root}/keys"
}}
listener "tcp" "t" {{
  port          = {tcp}
  api_keys_file = "{root}/keys"
}}
sink "parquet" "p" {{
  path           = "{root}/parquet"
  flush_interval = "{flush}s"
}}
"""
Figures = dict[str, Any]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def process(command: list[str], port: int, **more: Any) -> Iterator[psutil.Process]:
    """A server that is ended, in order, behind the block."""
    with subprocess.Popen(command, **more) as running:
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if running.poll() is not None:
                        sys.exit(f"{' '.join(command)} ended with {running.returncode}")
                    time.sleep(0.05)
            yield psutil.Process(running.pid)
            running.send_signal(signal.SIGTERM)
            running.wait(120)
        finally:
            running.kill()


def cpu_and_memory(process: psutil.Process) -> tuple[float, int]:
    """CPU seconds so far, and resident bytes, of a process and all below it."""
    cpu, memory = 0.0, 0
    for one in (process, *process.children(recursive=True)):
        times = one.cpu_times()
        cpu += times.user + times.system
        memory += one.memory_info().rss
    return cpu, memory


class Watch(threading.Thread):
    """Rows in the files of a tree, as their footers say, and memory, over time."""

    def __init__(self, root: Path, process: psutil.Process) -> None:
        super().__init__(daemon=True)
        self.root, self.process = root, process
        self.seen: list[tuple[float, int]] = []
        self.memory: list[int] = []
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.2):
            rows = sum(pq.read_metadata(path).num_rows for path in self.root.rglob("*.parquet"))
            self.seen.append((time.time(), rows))
            try:
                self.memory.append(cpu_and_memory(self.process)[1])
            except psutil.Error:
                continue

    def waits(self, sent: Sent) -> list[float]:
        """How long after its acknowledgement each request was in the files: rows come into them in that order."""
        found, rows, place = [], 0, 0
        for moment, _ in sent.acknowledged:
            rows += EACH
            while place < len(self.seen) and self.seen[place][1] < rows:
                place += 1
            if place < len(self.seen):
                found.append(max(self.seen[place][0] - moment, 0.0))
        return found


def share(values: list[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)] if values else float("nan")


def stored(pattern: str, column: str, sent: Sent) -> int:
    """Rows of files; every event is there as often as it was sent."""
    with duckdb.connect() as engine:
        found = engine.execute(f"SELECT {column}, count(*) FROM '{pattern}' GROUP BY ALL").fetchall()
    wanted = Counter({f"e{batch}.{n}": times for batch, times in enumerate(sent.times) if times for n in range(EACH)})
    if Counter(dict(found)) != wanted:
        sys.exit(f"{sum(wanted.values())} rows were sent, {sum(n for _, n in found)} are stored")
    return sum(wanted.values())


def load(kind: str, place: int, seconds: float, rate: float = 0) -> Sent:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(send, kind, ("127.0.0.1", place), seconds, rate, CONNECTIONS[kind]).result()


def live(kind: str, seconds: float, engine: str, rate: float = 0) -> Figures:
    """One load on one server."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TAILRACE_BENCH_DIR")) as made:
        root, ports = Path(made), {"http": free_port(), "tcp": free_port()}
        (root / "keys").write_text(f"{KEY}:42\n")
        (root / "home" / "config").mkdir(parents=True)
        (root / "home" / "config" / "live.tpc").write_text(CONFIG.format(root=root, flush=FLUSH, **ports))
        command = [str(Path(sys.executable).with_name("tailrace")), "--home", str(root / "home"), "serve"]
        command += ["--quiet", "--engine", engine, "--spool-size", "512MB"]
        with process(command, ports["http"], stderr=subprocess.DEVNULL) as server:
            _settled(root, engine)
            before, _ = cpu_and_memory(server)
            watch = Watch(root / "parquet", server)
            watch.start()
            sent = load(kind, ports[kind], seconds, rate)
            used = cpu_and_memory(server)[0] - before
            if rate:
                time.sleep(FLUSH + VISIBLE)
            watch.done.set()
            watch.join()
        ended = time.time()
        rows = stored(f"{root}/parquet/42/*/events.parquet", "event_name", sent)
        waits, answers = watch.waits(sent), [took for _, took in sent.acknowledged]
        return {
            "rows": rows, "bytes_per_row": sent.bytes / rows, "seconds": ended - sent.began,
            "rate": rows / (ended - sent.began),
            "accepted_rate": rows / (sent.ended - sent.began), "cpu_us_per_row": used / rows * 1e6,
            "acknowledged_p50": share(answers, 0.5), "acknowledged_p99": share(answers, 0.99),
            "visible_p50": share(waits, 0.5), "visible_p99": share(waits, 0.99), "visible_seen": len(waits),
            "peak_rss": max(watch.memory, default=0),
        }  # fmt: skip


def _settled(root: Path, engine: str) -> None:
    """A JVM is still starting when the port is open."""
    if engine == "spark":
        while not list(root.glob(".parquet.tailrace/checkpoint/metadata")):
            time.sleep(0.1)


def plain(how: str, seconds: float, interval: float) -> Figures:
    """The same requests to the plain way."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TAILRACE_BENCH_DIR")) as made:
        port = free_port()
        command = [sys.executable, str(report.HERE / "live_plain.py"), made, str(port), how, str(interval)]
        with process(command, port, env=os.environ | {"KEY": KEY}) as server:
            before, _ = cpu_and_memory(server)
            sent = load("http", port, seconds)
            used = cpu_and_memory(server)[0] - before
        ended = time.time()
        rows = stored(f"{made}/*.parquet", "event", sent)
        answers = [took for _, took in sent.acknowledged]
        return {
            "rows": rows, "seconds": ended - sent.began, "rate": rows / (ended - sent.began),
            "accepted_rate": rows / (sent.ended - sent.began), "cpu_us_per_row": used / rows * 1e6,
            "acknowledged_p50": share(answers, 0.5), "acknowledged_p99": share(answers, 0.99),
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=12, help="how long each load lasts")
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    parser.add_argument("--only", nargs="*", default=("tcp", "http", "half", "checked", "unchecked"))
    parser.add_argument("--rate", type=float, default=0, help="rows a second of `half`; half of what http reached")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/live.json")
    options = parser.parse_args()
    results: list[Figures] = []

    def told(what: str, figures: Figures) -> Figures:
        line = {"what": what, "engine": options.engine, **figures}
        print(json.dumps({n: round(v, 4) if isinstance(v, float) else v for n, v in line.items()}), flush=True)
        results.append(line)
        return line

    rate = options.rate
    for what in options.only:
        if what in ("tcp", "http"):
            found = told(what, live(what, options.seconds, options.engine))
            rate = rate or (found["rate"] / 2 if what == "http" else 0)
        elif what == "half":
            told("half of http", live("http", max(options.seconds, 3 * FLUSH), options.engine, rate or LINES / 2))
        else:
            told(f"plain, {what}", plain(what, options.seconds, interval=min(60.0, options.seconds / 2)))
    if options.keep:
        report.keep_named("live", "what", results)


if __name__ == "__main__":
    main()
