"""What a command costs: wall time, CPU seconds and memory of the whole process tree."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

PR_SET_CHILD_SUBREAPER = 36
SAMPLE_SECONDS = 0.1
PSS_EVERY = 5
STRAGGLERS_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a command took."""

    wall: float
    cpu: float
    peak_rss: int
    "Highest sum of resident sets over the tree; pages that processes share count once for each."
    peak_pss: int
    "The same with shared pages divided among their users."
    returncode: int
    stdout: str
    stderr: str


class _Watch(threading.Thread):
    """Samples the descendants of this process until told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.cpu: dict[tuple[int, float], float] = {}
        self.rss = self.pss = 0
        self._stop_asked = threading.Event()

    def run(self) -> None:
        tick = 0
        while not self._stop_asked.wait(SAMPLE_SECONDS):
            self._sample(with_pss=tick % PSS_EVERY == 0)
            tick += 1

    def stop(self) -> None:
        self._stop_asked.set()
        self.join()

    def _sample(self, *, with_pss: bool) -> None:
        rss = pss = 0
        for process in psutil.Process().children(recursive=True):
            try:
                times = process.cpu_times()
                self.cpu[process.pid, process.create_time()] = times.user + times.system
                rss += process.memory_info().rss
                pss += _pss(process.pid) if with_pss else 0
            except (psutil.Error, OSError):
                continue  # it ended between two looks
        self.rss, self.pss = max(self.rss, rss), max(self.pss, pss)


def _pss(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def _adopt_orphans() -> None:
    """Daemonised descendants become our children, so that their CPU time is counted when they end."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _reap() -> None:
    """Wait for what the command left running, and end what does not end by itself."""
    deadline = time.monotonic() + STRAGGLERS_SECONDS
    while left := psutil.Process().children(recursive=True):
        if time.monotonic() > deadline:
            for process in left:
                process.kill()
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.02)


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(command: Sequence[str], env: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end and say what it took."""
    _adopt_orphans()
    before, watch, start = _children_cpu(), _Watch(), time.perf_counter()
    process = subprocess.Popen(
        command, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watch.start()
    stdout, stderr = process.communicate()
    wall = time.perf_counter() - start
    _reap()
    watch.stop()
    # Children that nobody waited for are missing in the kernel's sum, short-lived ones in the samples.
    cpu = max(_children_cpu() - before, sum(watch.cpu.values()))
    return Cost(wall, cpu, watch.rss, watch.pss, process.returncode, stdout, stderr)
