"""The real command line as a subprocess, each home apart from all others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import forked

SOURCE = str(Path(__file__).parents[2] / "src")
PATIENCE = 240.0
"Seconds; a busy machine takes long to start a JVM."


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Home:
    """One user's home: configuration, lake and logs; `env` holds for all commands."""

    path: Path
    env: dict[str, str] = field(default_factory=dict)

    def configure(self, text: str) -> Path:
        file = self.path / "config" / "test.tpc"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def environment(self, **more: str) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("TAILRACE_")}
        own = {"PYTHONPATH": SOURCE, "TAILRACE_HOME": str(self.path), "TAILRACE_TEST_MARK": str(self.path)}
        return inherited | self.env | own | more

    def start(self, *args: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tailrace.cli.main", *args],
            env=self.environment(**env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heeds_interrupts,
        )

    def run(self, *args: str, stdin: str = "", **env: str) -> Finished:
        """Runs a command to its end, whatever that is; a new interpreter imports modules from elsewhere."""
        environment = self.environment(**env)
        if environment["PYTHONPATH"] == SOURCE:
            return ended(forked.command(args, environment, stdin))
        with self.start(*args, **env) as process:
            return ended(process, stdin)

    def collect(self, *args: str, code: int = 0, **env: str) -> dict[str, dict[str, Any]]:
        """The JSON summary of a collect, by partition."""
        done = self.run("collect", "--output", "json", *args, **env)
        assert done.code == code, done.err + done.out
        return {p["partition"]: p for p in done.json()["partitions"]}

    def query(self, sql: str) -> list[dict[str, Any]]:
        done = self.run("query", sql, "--output", "json")
        assert done.code == 0, done.err
        rows: list[dict[str, Any]] = done.json()
        return rows

    def processes(self) -> dict[int, str]:
        """Processes that were started on behalf of this home and still run, by number."""
        mark = f"TAILRACE_TEST_MARK={self.path}\0".encode()
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    found[int(entry.name)] = command
            except OSError:
                continue
        return found

    def jvm(self) -> int:
        return next(p for p, c in self.processes().items() if "org.apache.spark.deploy.SparkSubmit" in c)

    def readers(self, file: Path) -> list[int]:
        """Processes of this home that have the file open: workers in the middle of a task."""
        return [pid for pid in self.processes() if file in files_open_in(pid)]

    def assert_no_process_is_left(self, seconds: float = 20) -> None:
        wait_for(lambda: not self.processes(), seconds, f"still running: {self.processes()}")


def files_open_in(pid: int) -> set[Path]:
    """What a process has open, as far as one may see it."""
    found = set()
    with suppress(OSError):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.add(handle.readlink())
    return found


def heeds_interrupts() -> None:
    """A shell makes its background jobs deaf to Ctrl-C, and their children inherit it: a user's command is not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(
    process: subprocess.Popen[str] | forked.Forked, stdin: str | None = None, seconds: float = PATIENCE
) -> Finished:
    """Waits for the end of a command."""
    try:
        out, err = process.communicate(stdin, timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Finished(process.returncode, out, err)


def wait_for(holds: Callable[[], object], seconds: float = PATIENCE, what: str = "it never came about") -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def is_stopped(process: subprocess.Popen[str]) -> bool:
    assert process.poll() is None, process.communicate()
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@contextmanager
def killed_afterwards(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that must not outlive a test that fails."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()
