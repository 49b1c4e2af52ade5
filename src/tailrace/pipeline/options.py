"""What a session is asked to be, and the Spark settings that follow from it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.core.errors import UsageError

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
}
"""Defaults on any master; `spark-defaults.conf` and `--spark-conf` win over them."""

LOCAL = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    # Loopback only: nothing listens on the network, and no host name has to be resolved.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Imports what tasks need once for all workers: 0.5 CPU s saved per worker after the first.
    "spark.python.daemon.module": "tailrace.pipeline.daemon",
}
"""Further defaults where driver and executor are one JVM."""

SMALL_PLANS = {
    # The JVM handles a few rows per job: 1,000 of 17,000 classes fewer to load, 7 % less bytecode to compile.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""Further defaults while the work is done in Python: `compiled` leaves them out."""

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

    @property
    def local(self) -> bool:
        """Driver and executor in one JVM on this machine (`local-cluster` is not)."""
        return self.remote is None and re.fullmatch(r"local(\[.*\])?", self.master) is not None

    @property
    def direct(self) -> bool:
        """May the JVM be started without Spark's launcher? Not if a shell file must be read first."""
        scripted = self.conf_dir is not None and (self.conf_dir / "spark-env.sh").exists()
        needs_launcher = scripted or "spark.driver.extraLibraryPath" in self.conf
        return self.local and not needs_launcher and "PYSPARK_SUBMIT_ARGS" not in os.environ


def settle(options: SessionOptions, env: Mapping[str, str] = os.environ) -> Settings:
    """Flags over environment over `spark-defaults.conf` over our defaults."""
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
    asked = written | dict(options.conf)
    remote = options.remote
    if not options.master:
        remote = remote or options.conf.get("spark.remote") or env.get("SPARK_REMOTE") or None
    master = options.master or options.conf.get("spark.master") or env.get("MASTER")
    settings = Settings(
        master=master or written.get("spark.master") or "local[*]",
        remote=remote,
        conf={},
        spark_home=spark_home,
        conf_dir=conf_dir if conf_dir and conf_dir.is_dir() else None,
        home=options.home or Path(env.get("TAILRACE_HOME") or Path.home() / ".tailrace"),
        java_home=options.java_home,
        compiled=options.compiled,
    )
    if remote is None:
        local = LOCAL | ({} if options.compiled else SMALL_PLANS)
        settings.conf.update(EVERYWHERE | (local if settings.local else {}) | (SHARED if options.shared else {}))
        if env.get("SPARK_DRIVER_MEMORY"):
            settings.conf["spark.driver.memory"] = env["SPARK_DRIVER_MEMORY"]
        if env.get("SPARK_LOCAL_IP"):
            settings.conf.pop("spark.driver.host", None)
            settings.conf.pop("spark.driver.bindAddress", None)
        settings.conf.update(asked | {"spark.master": settings.master})
    else:
        settings.conf.update({"spark.sql.session.timeZone": "UTC", **options.conf, "spark.remote": remote})
    return settings


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
