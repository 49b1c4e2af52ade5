"""Live data under load: rows a second from the socket into files, and how long acknowledgements and files take.

A rate is what was read back from the files, divided by the time from the first byte sent until the server has ended
and published everything. `--seconds` says how long each load lasts. Tailrace and the plain ways take turns, several
rounds of them; a figure is the median of its rounds.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import signal
import socket
import statistics
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
LINES, VISIBLE = 60_000, 5.0
"Rows a second that are asked for, and seconds that rows may be in files later than the flush interval."
PLAIN = ("fastapi", "fastapi-unsynced", "fastapi-append", "model", "checked", "unsynced", "unchecked")
CONNECTIONS = {"tcp": 4, "http": 16}
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


class Memory(threading.Thread):
    """The most that a process and all below it have held at one time."""

    def __init__(self, process: psutil.Process) -> None:
        super().__init__(daemon=True)
        self.process = process
        self.peak = 0
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.2):
            try:
                self.peak = max(self.peak, cpu_and_memory(self.process)[1])
            except psutil.Error:
                continue


class Watch(threading.Thread):
    """Rows in the files of a tree over time, as their footers say."""

    def __init__(self, root: Path) -> None:
        super().__init__(daemon=True)
        self.root = root
        self.seen: list[tuple[float, int]] = []
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.2):
            rows = sum(pq.read_metadata(path).num_rows for path in self.root.rglob("*.parquet"))
            self.seen.append((time.time(), rows))

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
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


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


class Costs:
    """CPU and memory of a server from when it was ready to its end."""

    def __init__(self, server: psutil.Process) -> None:
        # What has ended so far, and what the server has used to become ready.
        self.before = _children_cpu() + cpu_and_memory(server)[0]
        self.memory = Memory(server)
        self.memory.start()

    def figures(self, sent: Sent, ended: float) -> Figures:
        """When everything has ended."""
        self.memory.done.set()
        self.memory.join()
        cpu = _children_cpu() - self.before - sent.cpu
        answers = [took for _, took in sent.acknowledged]
        return {
            "rows": sent.rows, "bytes_per_row": sent.bytes / sent.rows, "seconds": ended - sent.began,
            "rate": sent.rows / (ended - sent.began), "accepted_rate": sent.rows / (sent.ended - sent.began),
            "cpu_seconds": cpu, "cpu_us_per_row": cpu / sent.rows * 1e6,
            "sender_cpu_us_per_row": sent.cpu / sent.rows * 1e6, "peak_rss": self.memory.peak,
            **({"acknowledged_p50": share(answers, 0.5), "acknowledged_p99": share(answers, 0.99)} if answers else {}),
        }  # fmt: skip


def _children_cpu() -> float:
    """CPU seconds of all processes below this one that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
            costs, watch = Costs(server), Watch(root / "parquet")
            if rate:  # looking costs, so that it is not done at full load
                watch.start()
            sent = load(kind, ports[kind], seconds, rate)
            if rate:
                time.sleep(FLUSH + VISIBLE)
                watch.done.set()
                watch.join()
        found = costs.figures(sent, time.time())
        stored(f"{root}/parquet/42/*/events.parquet", "event_name", sent)
        waits = watch.waits(sent)
        if not waits:
            return found
        seen = {"visible_p50": share(waits, 0.5), "visible_p99": share(waits, 0.99), "visible_seen": len(waits)}
        return {**found, **seen}


def _settled(root: Path, engine: str) -> None:
    """A JVM is still starting when the port is open."""
    if engine == "spark":
        while not list(root.glob(".parquet.tailrace/checkpoint/metadata")):
            time.sleep(0.1)
    else:
        time.sleep(2)  # the driver, which opens no port, is still importing


def plain(how: str, seconds: float, interval: float) -> Figures:
    """The same requests to the plain way."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TAILRACE_BENCH_DIR")) as made:
        port = free_port()
        command = [sys.executable, str(report.HERE / "live_plain.py"), made, str(port), how, str(interval)]
        with process(command, port, env=os.environ | {"KEY": KEY}) as server:
            costs = Costs(server)
            sent = load("http", port, seconds)
        found = costs.figures(sent, time.time())
        stored(f"{made}/*.parquet", "event", sent)
        return found


def one(what: str, seconds: float, engine: str, rate: float) -> Figures:
    """A load of that name."""
    if what in ("tcp", "http"):
        return live(what, seconds, engine)
    if what == "half":
        return live("http", max(seconds, 3 * FLUSH), engine, rate)
    return plain(what, seconds, interval=min(60.0, seconds / 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=12, help="how long each load lasts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    parser.add_argument("--only", nargs="*", default=("tcp", "http", *PLAIN, "half"))
    parser.add_argument("--rate", type=float, default=0, help="rows a second of `half`; half of what http reached")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/live.json")
    options = parser.parse_args()
    found: dict[str, list[Figures]] = {what: [] for what in options.only}
    for _ in range(options.rounds):
        for what in options.only:
            reached = [figures["rate"] for figures in found.get("http", ())]
            rate = options.rate or (statistics.median(reached) if reached else LINES) / 2
            found[what].append(one(what, options.seconds, options.engine, rate))
            print(json.dumps({"what": what, **_short(found[what][-1])}), flush=True)
    results = [{"what": what, "engine": options.engine, **_medians(rounds)} for what, rounds in found.items()]
    for result in results:
        print(json.dumps(_short(result)), flush=True)
    if options.keep:
        report.keep(report.RESULTS / "live.json", results)


def _medians(rounds: list[Figures]) -> Figures:
    return {name: statistics.median(figures[name] for figures in rounds) for name in rounds[0]} | {
        "rates": [figures["rate"] for figures in rounds]
    }


def _short(figures: Figures) -> Figures:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in figures.items()}


if __name__ == "__main__":
    main()
