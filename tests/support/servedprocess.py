"""`tailrace serve` as a process under load: begun, fed, killed part by part, and ended as it is asked to."""

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import urllib3
from commandline import Home

KEY = "000102030405060708090a0b0c0d0e0f"
REQUEST = 2000
"Events of a request."
MARKS = {"listeners": b"\0--part\0listeners\0", "driver": b"\0--part\0driver\0", "worker": b".daemon\0"}
"In command lines."
EVENT = '{"type":"track","device_id":"550e8400-e29b-41d4-a716-446655440000","event":"%d.%d","properties":{"text":"' + (
    "x" * 100 + '"}}'
)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def home_with(root: Path, config: str) -> tuple[Home, int]:
    """A home whose configuration knows `{root}` and `{port}`; `{root}/keys` has a key."""
    port, home = free_port(), Home(root / "home")
    (root / "keys").write_text(f"{KEY}:42\n")
    home.configure(config.format(root=root, port=port))
    return home, port


@contextmanager
def served(home: Home, root: Path, *args: str) -> Iterator[subprocess.Popen[bytes]]:
    """The supervisor; whatever happens, it is gone afterwards."""
    patient = ("--shutdown-timeout", "120")
    command = [sys.executable, "-m", "tailrace.cli.main", "serve", "--quiet", *patient, *args]
    with (root / "said").open("ab") as said:
        process = subprocess.Popen(command, env=home.environment(), cwd=root, stderr=said)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def end(process: subprocess.Popen[bytes], seconds: float = 300) -> float:
    """As an operator does; how many seconds it took."""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(seconds) == 0
    return time.monotonic() - began


class Sender(threading.Thread):
    """Sends until it is told to stop, the same request again until it is acknowledged."""

    def __init__(self, number: int, url: str, stop: threading.Event, pause: float) -> None:
        super().__init__(daemon=True)
        self.number, self.url, self.stop, self.pause = number, url, stop, pause
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
            self.stop.wait(self.pause)

    @property
    def names(self) -> set[str]:
        """Events that were acknowledged."""
        return {f"{self.number}.{n}" for n in range(self.acknowledged)}


@contextmanager
def sending(url: str, count: int, pause: float = 0.0) -> Iterator[list[Sender]]:
    """Senders at work, with pauses between requests; at the end each has an answer to what it has sent."""
    stop = threading.Event()
    senders = [Sender(number, url, stop, pause) for number in range(count)]
    for sender in senders:
        sender.start()
    try:
        yield senders
    finally:
        stop.set()
        for sender in senders:
            sender.join(120)


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


def _orphans(supervisor: int) -> list[int]:
    """Workers go on for Spark when the process that forked them is killed."""
    home = _home_of(supervisor)
    return [process for process in children(1) if _home_of(process) == home]


def _home_of(process: int) -> bytes:
    with suppress(OSError):
        said = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        return next((one for one in said if one.startswith(b"TAILRACE_HOME=")), b"")
    return b""


def victims(supervisor: int) -> dict[str, list[int]]:
    """Processes by what they are: listeners, driver, and the workers of Spark with the process that forks them."""
    found: dict[str, list[int]] = {name: [] for name in MARKS}
    left = [*children(supervisor), *_orphans(supervisor)]
    while left:
        process = left.pop()
        command = command_of(process)
        for name, mark in MARKS.items():
            if mark in command:
                found[name].append(process)
        left += children(process)
    return {name: processes for name, processes in found.items() if processes}


def kill_at_random(
    supervisor: int, kills: int, seconds: float, chosen: random.Random, *,
    wanted: Sequence[str] = tuple(MARKS), meanwhile: Callable[[], object] = lambda: None,
) -> Counter[str]:  # fmt: skip
    """So many parts in about so many seconds; which, by what they are. `meanwhile` is done behind each.

    A part that has not been killed yet comes first: on a busy machine workers are seldom there.
    """
    done: Counter[str] = Counter()
    deadline = time.monotonic() + 10 * seconds
    while done.total() < kills:
        assert time.monotonic() < deadline, f"too few parts were there to be killed: {done}"
        time.sleep(chosen.uniform(0.5, 1.5) * seconds / kills)
        running = {name: found for name, found in victims(supervisor).items() if name in wanted}
        if running:
            name = chosen.choice(sorted(running.keys() - done.keys()) or sorted(running))
            with suppress(ProcessLookupError):
                os.kill(chosen.choice(running[name]), signal.SIGKILL)
                done[name] += 1
        meanwhile()
    return done


def resident(*processes: int) -> int:
    """Bytes; shared pages count for each."""
    pages = (int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in processes)
    return sum(pages) * os.sysconf("SC_PAGE_SIZE")
