"""What a session is asked to be, and the Spark settings that follow from it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.core.errors import UsageError

UNPACKED = "tailrace-environment"
"The directory into which executors unpack `environment`, below their own."
PACKED_PYTHON = f"./{UNPACKED}/bin/python"
_PROPERTY = re.compile(r"([^\s=:]+)[\s=:]+(.*)")

EVERYWHERE = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # A task that runs twice writes its files twice.
    "spark.speculation": "false",
    # File lists are pruned before Spark sees them: a job that lists them again costs more than it saves.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
    "spark.ui.showConsoleProgress": "false",
    # A job of more than a megabyte travels through a file, and others may be spilled: with the credentials of sources.
    "spark.io.encryption.enabled": "true",
    # Imports what tasks need once for all workers: 0.5 CPU s saved per worker after the first.
    "spark.python.daemon.module": "tailrace.pipeline.daemon",
}
"""Defaults on any master; `spark-defaults.conf` and `--spark-conf` win over them."""

WORKERS_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(256 << 20),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "MIMALLOC_ALLOW_LARGE_OS_PAGES": "1",
    "MIMALLOC_PURGE_DELAY": "-1",
}
"""Variables of workers. Blocks of a few MB come and go in them: giving each back to the kernel and taking it anew, 4 kB
at a time, was an eighth of their time. So both allocators keep what they have, in huge pages where there are."""

CLUSTER = {"spark.driver.memory": "1g"} | {f"spark.executorEnv.{name}": value for name, value in WORKERS_MEMORY.items()}
"""Further defaults where executors are processes of their own, which inherit nothing from here."""

LOCAL = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    # Loopback only: nothing listens on the network, and no host name has to be resolved.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""Further defaults where driver and executor are one JVM."""

SMALL_PLANS = {
    # The JVM handles a few rows per job: 1,000 of 17,000 classes fewer to load, 7 % less bytecode to compile.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""Further defaults while the work is done in Python: `compiled` leaves them out."""

SMALL_EXECUTORS = {"spark.executor.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
"""The same for executors of a cluster."""

SHARED = {
    "spark.scheduler.mode": "FAIR",
    "spark.scheduler.allocation.file": Path(__file__).with_name("fair.xml").as_uri(),
}
"""Where several partitions are collected: a task of a small job comes next although a large one has more waiting."""


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How the user wants Spark: where it runs, and with which settings, Java and home."""

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    "From `--spark-conf k=v`; passed through untouched."
    environment: str | None = None
    "Archive of Python and Tailrace for executors that have none: `tailrace spark pack` makes it."
    java_home: str | None = None
    home: Path | None = None
    "Tailrace's own directory, for the log; None = TAILRACE_HOME or ~/.tailrace."
    compiled: bool = False
    "The JVM itself will work hard (SQL over large tables): let it compile fully, which short jobs only pay."
    shared: bool = False
    "Jobs that run at the same time share the cores; otherwise the first has them all until its tasks run out."


@dataclass(frozen=True, slots=True)
class Settings:
    """The session that is going to be made."""

    master: str
    remote: str | None
    conf: dict[str, str]
    spark_home: Path | None
    "A Spark distribution the user points to (SPARK_HOME); None = the one inside PySpark."
    conf_dir: Path | None
    home: Path
    java_home: str | None
    compiled: bool
    environment: Path | None = None
    "What executors unpack and run."

    @property
    def local(self) -> bool:
        """Driver and executor in one JVM on this machine (`local-cluster` is not)."""
        return self.remote is None and re.fullmatch(r"local(\[.*\])?", self.master) is not None

    @property
    def direct(self) -> bool:
        """May the JVM be started without Spark's launcher? Not if a shell file must be read first, or for YARN."""
        scripted = self.conf_dir is not None and (self.conf_dir / "spark-env.sh").exists()
        needs_launcher = scripted or "spark.driver.extraLibraryPath" in self.conf
        plain = self.remote is None and (self.local or self.master.startswith("spark://"))
        return plain and not needs_launcher and "PYSPARK_SUBMIT_ARGS" not in os.environ


def settle(
    options: SessionOptions, env: Mapping[str, str] = os.environ, given: Mapping[str, str] | None = None
) -> Settings:
    """Flags over environment over `spark-defaults.conf`, or what `spark-submit` has given, over our defaults."""
    if options.master and options.remote:
        raise UsageError(
            "--master and --remote exclude each other",
            code="usage.master-and-remote",
            hint="--remote sc://host:15002 uses a Spark Connect server, which has its own master",
        )
    spark_home = Path(env["SPARK_HOME"]) if env.get("SPARK_HOME") else None
    conf_dir = spark_home and spark_home / "conf"
    if env.get("SPARK_CONF_DIR"):
        conf_dir = Path(env["SPARK_CONF_DIR"])
    written = _properties(conf_dir / "spark-defaults.conf") if conf_dir else {}
    written |= given or {}
    asked = written | dict(options.conf)
    remote = options.remote
    if not options.master:
        remote = remote or options.conf.get("spark.remote") or env.get("SPARK_REMOTE") or None
    master = options.master or options.conf.get("spark.master") or env.get("MASTER")
    settings = Settings(
        environment=Path(options.environment).absolute() if options.environment else None,
        master=master or written.get("spark.master") or "local[*]",
        remote=remote,
        conf={},
        spark_home=spark_home,
        conf_dir=conf_dir if conf_dir and conf_dir.is_dir() else None,
        home=options.home or Path(env.get("TAILRACE_HOME") or Path.home() / ".tailrace"),
        java_home=options.java_home,
        compiled=options.compiled,
    )
    _check_environment(settings)
    if remote is None:
        settings.conf.update(_conf(settings, options, asked, env))
    else:
        settings.conf.update({"spark.sql.session.timeZone": "UTC", **options.conf, "spark.remote": remote})
        if python := settings.conf.pop("spark.pyspark.python", None):
            # A session of a server may choose its Python, too, by another name.
            settings.conf.setdefault("spark.sql.execution.pyspark.python", python)
    return settings


def _conf(
    settings: Settings, options: SessionOptions, asked: Mapping[str, str], env: Mapping[str, str]
) -> dict[str, str]:
    """All that the driver is told, unless a server is."""
    conf = EVERYWHERE | (LOCAL if settings.local else CLUSTER)
    if not options.compiled:
        conf |= SMALL_PLANS | ({} if settings.local else SMALL_EXECUTORS)
    if options.shared:
        conf |= SHARED
    if env.get("SPARK_DRIVER_MEMORY"):
        conf["spark.driver.memory"] = env["SPARK_DRIVER_MEMORY"]
    if env.get("SPARK_LOCAL_IP"):
        conf.pop("spark.driver.host", None)
        conf.pop("spark.driver.bindAddress", None)
    conf |= {**asked, "spark.master": settings.master}
    if settings.environment is not None:
        archives = [conf.get("spark.archives"), f"{settings.environment}#{UNPACKED}"]
        conf["spark.archives"] = ",".join(archive for archive in archives if archive)
        conf["spark.pyspark.python"] = PACKED_PYTHON
    return conf


def _check_environment(settings: Settings) -> None:
    if settings.environment is not None and settings.local:
        raise UsageError(
            "--spark-env is for the executors of a cluster",
            code="usage.environment",
            hint="leave it out, or say where the cluster is: --master spark://host:7077",
        )


def parse_conf(pairs: tuple[str, ...]) -> dict[str, str]:
    """`--spark-conf k=v` as given on the command line."""
    conf = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.startswith("spark."):
            raise UsageError(
                f"--spark-conf {pair}: not a Spark setting",
                code="usage.spark-conf",
                hint="write it as spark.key=value, e.g. spark.driver.memory=2g",
            )
        conf[key.strip()] = value
    return conf


def _properties(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    matches = (_PROPERTY.fullmatch(line.strip()) for line in lines if line.lstrip()[:1] not in ("#", "!"))
    return {found[1]: found[2].strip() for found in matches if found}
