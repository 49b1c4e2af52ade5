"""A real Spark standalone cluster on loopback: a master and workers, each a JVM of its own, and a Connect server."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import tarfile
import time
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commandline import Home, files_open_in

from tailrace.pipeline.java import find_java, launcher_home
from tailrace.pipeline.jvm import LEAN, MODULES, spark_jars
from tailrace.pipeline.options import SessionOptions, settle

PATIENCE = 180.0
"Seconds; a busy machine takes long to start a JVM."
MARK = "TAILRACE_TEST_CLUSTER"
"In the environment of every process of a cluster, executors and their Python workers included."
EXECUTOR = "CoarseGrainedExecutorBackend"
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
_ADDRESS = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")


@dataclass(slots=True)
class Cluster:
    """Where it is reached, and what runs on its behalf."""

    folder: Path
    env: dict[str, str]
    master: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, *command: str, says: str) -> subprocess.Popen[bytes]:
        """Starts one of its JVMs and waits until it says that it is ready."""
        log = self.folder / f"{name}.log"
        options = (*MODULES, *LEAN, "-Xmx512m", "-cp", f"{self.env['SPARK_HOME']}/jars/*")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(find_java().executable), *options, *command],
                env=self.env,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.processes.append(process)
        deadline = time.monotonic() + PATIENCE
        while not re.search(says, log.read_text(errors="replace")):
            told = log.read_text(errors="replace")[-3000:]
            assert process.poll() is None, told
            assert time.monotonic() < deadline, told
            time.sleep(0.05)
        return process

    @contextmanager
    def connect_server(self, ui_port: int) -> Iterator[str]:
        """A Spark Connect server whose jobs run on the cluster; the address for `--remote`."""
        port = free_port()
        settings = (f"spark.connect.grpc.binding.port={port}", f"spark.ui.port={ui_port}")
        asked = [part for setting in settings for part in ("--conf", setting)]
        submit = ("org.apache.spark.deploy.SparkSubmit", "--master", self.master, *asked)
        server = self.start("connect", *submit, "--class", CONNECT, "spark-internal", says="Connect server started at")
        try:
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(PATIENCE)

    def commands(self) -> dict[int, str]:
        """All processes of the cluster that run, by number."""
        mark = f"{MARK}={self.folder}\0".encode()
        found = {}
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    found[int(entry.name)] = command
        return found

    def reading(self, ending: str) -> list[int]:
        """Workers in the middle of a task: they have a file open whose name ends like that."""
        return [pid for pid in self.commands() if any(str(file).endswith(ending) for file in files_open_in(pid))]

    def executor_of(self, worker: int) -> int | None:
        """The executor to which a Python worker belongs; None if one of the two is gone."""
        commands = self.commands()
        with suppress(OSError):
            return next((pid for pid in _ancestors(worker) if EXECUTOR in commands.get(pid, "")), None)
        return None

    def stop(self) -> None:
        """Ends the JVMs, and what they had started."""
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
        for pid in self.commands():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()


def _ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        yield pid
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def jobs(port: int) -> list[dict[str, Any]]:
    """What Spark's own pages tell of the jobs of the application behind a port."""
    found: list[dict[str, Any]] = []
    with suppress(OSError, ValueError):  # not there yet, or still starting
        base = f"http://127.0.0.1:{port}/api/v1/applications"
        with urllib.request.urlopen(base) as answer:
            (app,) = json.load(answer)
        with urllib.request.urlopen(f"{base}/{app['id']}/jobs") as answer:
            found = json.load(answer)
    return found


def watched(process: subprocess.Popen[str], port: int) -> set[str]:
    """Descriptions of all jobs of a command while it runs."""
    seen: set[str] = set()
    while process.poll() is None:
        seen |= {job.get("description") or job["name"] for job in jobs(port)}
        time.sleep(0.5)
    return seen


def packed(folder: Path) -> Path:
    """The environment that the command packs; nothing else of this Python is given to the cluster."""
    out = folder / "env.tar.gz"
    done = Home(folder / "home").run("spark", "pack", "--out", str(out), "--output", "json")
    assert done.code == 0, done.err
    (row,) = done.json()
    assert (row["file"], row["size"]) == (str(out), out.stat().st_size)
    return out


def unpacked(environment: Path, folder: Path) -> str:
    """The same, unpacked once where all machines see it: its Python."""
    with tarfile.open(environment) as tar:
        tar.extractall(folder, filter="tar")
    return f"{folder}/bin/python"


@contextmanager
def running_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and workers of one core each, whose Python is a bare one: no package, and nothing of our environment."""
    folder.mkdir(parents=True, exist_ok=True)
    venv.create(folder / "bare", with_pip=False)
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    env = kept | {
        MARK: str(folder),
        "JAVA_HOME": str(launcher_home(find_java(), folder / "java", folder)),
        "SPARK_HOME": str(spark_jars(settle(SessionOptions(), {})).parent),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        # Spark's scripts set it, and workers start no executor without it.
        "SPARK_SCALA_VERSION": "2.13",
        "PYSPARK_PYTHON": str(folder / "bare" / "bin" / "python"),
    }
    cluster = Cluster(folder, env)
    try:
        cluster.start("master", "org.apache.spark.deploy.master.Master", *_ADDRESS, says="I have been elected leader")
        (cluster.master,) = set(re.findall(r"spark://127\.0\.0\.1:\d+", (folder / "master.log").read_text()))
        for number in range(workers):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{number}"))
            worker = ("org.apache.spark.deploy.worker.Worker", *_ADDRESS, *size, cluster.master)
            cluster.start(f"worker-{number}", *worker, says="Successfully registered with master")
        yield cluster
    finally:
        cluster.stop()
