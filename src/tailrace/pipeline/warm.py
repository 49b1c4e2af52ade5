"""A Spark Connect server of this home, in the background: a query that finds it running waits for no JVM."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tailrace.core.errors import SparkError
from tailrace.pipeline.connect import check_packages
from tailrace.pipeline.java import find_java
from tailrace.pipeline.jvm import FULL, MODULES, class_path, workers_environment
from tailrace.pipeline.jvm_log import how_ended, start_failure
from tailrace.pipeline.options import SessionOptions, Settings, settle

TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
"Variable of Spark's that holds the word without which nobody is let in."
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_PATIENCE = 180.0
_FAREWELL = 20.0


@dataclass(frozen=True, slots=True)
class Warm:
    """A server that was started."""

    pid: int
    port: int
    token: str
    started: float
    master: str

    @property
    def remote(self) -> str:
        """Its address; Spark trusts no other name with a token and without certificates."""
        return f"sc://localhost:{self.port}"

    @property
    def running(self) -> bool:
        """The process may be another one's by now: its command line tells."""
        try:
            said = Path(f"/proc/{self.pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            return False
        return _SERVER in said


def found(home: Path) -> Warm | None:
    """The server of this home, if it runs."""
    try:
        warm = Warm(**json.loads(_note(home).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return warm if warm.running else None


def start(options: SessionOptions) -> Warm:
    """A server that is ready; one that runs already stays."""
    settings = settle(options)
    if settings.remote is not None:
        raise SparkError(
            f"there is a server already: {settings.remote}", code="spark.remote", hint="leave out --remote"
        )
    check_packages()  # it would be up for queries that cannot reach it
    with _alone(settings.home):
        running = found(settings.home)
        return running or _started(settings)


def stop(home: Path) -> Warm | None:
    """What was stopped; None where nothing ran."""
    with _alone(home):
        running = found(home)
        if running is not None:
            _end(running)
        _note(home).unlink(missing_ok=True)
    return running


def _started(settings: Settings) -> Warm:
    log = settings.home / "logs" / "spark-server.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    port, token = _free_port(), secrets.token_urlsafe(24)
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(settings, port),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=workers_environment(settings) | {TOKEN: token},
            cwd=settings.home,
            # It outlives the command and its terminal.
            start_new_session=True,
        )
    warm = Warm(process.pid, port, token, time.time(), settings.master)
    try:
        _wait(process, port, log)
    except BaseException:
        process.kill()
        process.wait()
        raise
    _write(_note(settings.home), json.dumps(asdict(warm)))
    # Its parent goes first, on purpose.
    process.returncode = 0
    return warm


def _command(settings: Settings, port: int) -> list[str]:
    conf = settings.conf | {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.artifact.isolation.enabled": "false",
    }
    return [
        str(find_java(settings.java_home).executable),
        *MODULES,
        *FULL,
        f"-Xmx{conf.get('spark.driver.memory', '1g')}",
        "-cp",
        class_path(settings),
        "org.apache.spark.deploy.SparkSubmit",
        *("--class", _SERVER),
        *(part for pair in conf.items() for part in ("--conf", "=".join(pair))),
        "spark-internal",
    ]


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not _listens(port):
        if process.poll() is not None:
            raise start_failure(f"the server {how_ended(process.returncode)} before it was ready", log, kept=True)
        if time.monotonic() > deadline:
            raise start_failure(f"the server did not answer within {_PATIENCE:.0f} s", log, kept=True)
        time.sleep(0.05)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end(warm: Warm) -> None:
    deadline = time.monotonic() + _FAREWELL
    with contextlib.suppress(ProcessLookupError):
        os.kill(warm.pid, signal.SIGTERM)
        while warm.running and time.monotonic() < deadline:
            time.sleep(0.05)
        if warm.running:
            os.kill(warm.pid, signal.SIGKILL)


def _note(home: Path) -> Path:
    return home / "spark-server.json"


def _write(note: Path, text: str) -> None:
    """For its owner alone: whoever has the token runs code as this user."""
    draft = note.with_name(f".{note.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    draft.replace(note)


@contextlib.contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Two commands at once make one server."""
    import fcntl

    home.mkdir(parents=True, exist_ok=True)
    with (home / ".spark-server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
