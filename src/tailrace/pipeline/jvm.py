"""The driver's JVM, started without Spark's bash scripts and launcher JVM where that is sound."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tailrace.core.directories import cache_directory
from tailrace.core.errors import SparkError
from tailrace.pipeline.archive import Archive
from tailrace.pipeline.java import Java, find_java, launcher_home
from tailrace.pipeline.jvm_log import how_ended, rotated_log, start_failure, writable
from tailrace.pipeline.options import WORKERS_MEMORY, Settings

# What Spark's launcher (JavaModuleOptions) gives, but for jdk.incubator.vector: only MLlib's linear algebra
# uses it, runtimes from jlink lack it, and it prints a warning.
_OPENED = (
    "java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent "
    "java.util.concurrent.atomic jdk.internal.ref sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar"
)
MODULES = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED.split()),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)
# The heap holds plans and small rows only. CPU seconds of session + first job without an archive: G1 and C2
# 18.8, serial and C1 11.3.
LEAN = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
FULL = ("-XX:+UseParallelGC",)
_SUBMITTED = ("spark.master", "spark.jars", "spark.files", "spark.archives", "spark.submit.", "spark.repl.")
_PATIENCE = 180.0


@dataclass(frozen=True, slots=True)
class Gateway:
    """Where PySpark reaches the JVM."""

    port: int
    secret: str


class Driver:
    """A JVM that is starting or running. However this process ends, its stdin closes and so it ends too."""

    def __init__(self, settings: Settings, java: Java, log: Path, dump_to: Path | None = None) -> None:
        self.settings = settings
        self.java = java
        self.log = self._asked_log = log
        self.archive = archive_for(settings, java)
        self._dump_to = dump_to
        self._info = tempfile.TemporaryDirectory(prefix="tailrace-", ignore_cleanup_errors=True)
        self._gateway: Gateway | None = None
        self._archived = False
        self._closed = False
        try:
            self._process = self._start(with_archive=True)
        except SparkError:
            self._info.cleanup()
            raise
        atexit.register(self.close)

    @classmethod
    def launch(cls, settings: Settings, dump_to: Path | None = None) -> Driver:
        """Start the JVM and return at once; `join` waits for it."""
        return cls(settings, find_java(settings.java_home), rotated_log(settings.home), dump_to)

    def join(self) -> Gateway:
        """Wait until it listens. A JVM that dies is tried without its archive, which goes if that helps."""
        if self._gateway is not None:
            return self._gateway
        deadline = time.monotonic() + _PATIENCE
        suspected = False
        answer = Path(self._info.name, "gateway")
        while not answer.exists():
            if self._process.poll() is not None:
                status = self._process.returncode
                if not self._archived or self._closed:
                    raise self._failure(f"Spark's JVM {how_ended(status)} before it was ready")
                self._release()
                self._process = self._start(with_archive=False)
                # Whoever was killed did not die of it.
                suspected = status not in (-signal.SIGKILL, -signal.SIGTERM)
            if time.monotonic() > deadline:
                failure = self._failure(f"Spark's JVM did not answer within {_PATIENCE:.0f} s")
                self.close()
                raise failure
            time.sleep(0.01)
        if suspected:
            self.archive.discard()
        content = answer.read_bytes()
        port, length = struct.unpack_from(">ii", content)
        self._gateway = Gateway(port, content[8 : 8 + length].decode())
        self._info.cleanup()
        return self._gateway

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self, patience: float | None = None) -> int | None:
        """Let the JVM end: it stops Spark, removes its temporary files and its Python workers by itself.

        Without `patience` nobody waits for that; one that takes longer than so many seconds is killed.
        """
        atexit.unregister(self.close)
        self._closed = True
        if self._gateway is None:
            self._process.kill()
            patience = patience or 5
        self._release()
        self._info.cleanup()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(patience or 0)
        if patience is not None:
            self._process.kill()
            return self._process.wait()
        # Its parent goes first, on purpose: nothing is left to be reaped here.
        self._process.returncode = self._process.returncode or 0
        return None

    def _release(self) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def _start(self, with_archive: bool) -> subprocess.Popen[bytes]:
        self.log, output = writable(self._asked_log, Path(self._info.name, "spark.log"))
        command = self._direct(with_archive) if self.settings.direct else self._launcher()
        try:
            # A process group of its own: Ctrl-C on the terminal is for Tailrace alone to handle.
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=self._environment(),
                process_group=0,
            )
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise start_failure(f"{command[0]} cannot be started: {why}", self.log, kept=False) from None
        finally:
            output.close()

    def _direct(self, with_archive: bool) -> list[str]:
        conf = self.settings.conf
        archive: tuple[str, ...] = ()
        if self._dump_to is not None:
            archive = self.archive.dump_options(self._dump_to)
        elif with_archive:
            archive = self.archive.options()
            self._archived = bool(archive)
        else:
            self._archived = False
        asked = [conf.get(f"spark.driver.{kind}JavaOptions", "") for kind in ("default", "extra")]
        submitted = [f"{k}={v}" for k, v in conf.items() if k.startswith(_SUBMITTED)]
        return [
            str(self.java.executable),
            *MODULES,
            *_jvm_flags(self.settings),
            f"-Xmx{conf['spark.driver.memory']}",
            # A JVM that crashes leaves its report beside the log, not in the user's working directory.
            f"-XX:ErrorFile={self.log.parent / 'java-crash.log'}",
            *archive,
            *(option for text in asked for option in shlex.split(text)),
            "-cp",
            class_path(self.settings),
            "org.apache.spark.deploy.SparkSubmit",
            *(part for pair in submitted for part in ("--conf", pair)),
            "pyspark-shell",
        ]

    def _launcher(self) -> list[str]:
        """PySpark's own way, for clusters and for a Spark whose environment is a shell script."""
        script = spark_jars(self.settings).parent / "bin" / "spark-submit"
        pairs = [f"{key}={value}" for key, value in self.settings.conf.items()]
        arguments = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        return [str(script), *(part for pair in pairs for part in ("--conf", pair)), *arguments]

    def _environment(self) -> dict[str, str]:
        env = workers_environment(self.settings)
        env["SPARK_CONNECT_MODE"] = "0"
        env["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(Path(self._info.name, "gateway"))
        if not self.settings.direct:
            env["JAVA_HOME"] = str(launcher_home(self.java, cache_directory(), Path(self._info.name)))
        return env

    def _failure(self, what: str) -> SparkError:
        return start_failure(what, self.log, kept=self.log == self._asked_log)


def workers_python(settings: Settings) -> str:
    """The Python that executors start: as asked, else ours, which on a cluster has to lie in the same place."""
    return settings.conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable


def workers_environment(settings: Settings) -> dict[str, str]:
    """Of a JVM, which hands it on to its Python workers."""
    env = dict(os.environ)
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_REMOTE"):
        env.pop(name, None)
    env["PYSPARK_PYTHON"] = workers_python(settings)
    for name, value in WORKERS_MEMORY.items():
        env.setdefault(name, value)
    return env


def archive_for(settings: Settings, java: Java) -> Archive:
    """The class-data archive that fits this JVM."""
    return Archive.of(java, spark_jars(settings), MODULES + _jvm_flags(settings))


def spark_jars(settings: Settings) -> Path:
    """The jars of the user's Spark, or of the one inside PySpark."""
    if settings.spark_home is not None:
        return settings.spark_home / "jars"
    # Found without importing it: the JVM should be on its way before PySpark's 0.2 s of imports.
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise SparkError("PySpark is not installed", code="spark.missing", hint="python -m pip install pyspark")
    return Path(found.submodule_search_locations[0]) / "jars"


def _jvm_flags(settings: Settings) -> tuple[str, ...]:
    return FULL if settings.compiled else LEAN


def class_path(settings: Settings) -> str:
    """Jars first, directories last: an archive is valid only if its class path is the beginning of ours."""
    extra = settings.conf.get("spark.driver.extraClassPath")
    directories = [settings.conf_dir, os.environ.get("HADOOP_CONF_DIR"), os.environ.get("YARN_CONF_DIR")]
    parts = [extra, spark_jars(settings) / "*", *directories]
    return os.pathsep.join(str(part) for part in parts if part)
