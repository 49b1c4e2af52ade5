"""What is different on a Spark Connect server: its packages, and how executors get what they need."""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.core.errors import SparkError
from tailrace.core.extras import install
from tailrace.pipeline.options import PACKED_PYTHON, UNPACKED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWER_SECONDS = 20.0
"A server that has not greeted us by then is not waited for: PySpark would for ten minutes, or without end."
_FAREWELL = 5.0
_LOOK = 0.05


def check_packages() -> None:
    """PySpark itself would name one that is missing at a time."""
    missing = [m for m in ("grpc", "grpc_status", "pandas", "google.rpc", "zstandard") if not _importable(m)]
    if missing:
        raise SparkError(
            f"Spark Connect needs Python packages that are not installed: {', '.join(missing)}",
            code="spark.connect-packages",
            hint=install("connect"),
        )


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def is_remote(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def ship(spark: SparkSession, environment: Path) -> None:
    """Lets the session's tasks run in a packed environment; the server keeps it as long as the session lives."""
    spark.addArtifacts(f"{environment}#{UNPACKED}", archive=True)
    spark.conf.set("spark.sql.execution.pyspark.python", PACKED_PYTHON)


def require_answer(remote: str, is_stopped: Callable[[], bool] = lambda: False) -> None:
    """Raises where no server greets us, be it that something takes the connection and says nothing.

    PySpark asks at the end of the program too, of every session that it has begun: this comes before there is one.
    """
    import grpc
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client import DefaultChannelBuilder

    try:
        made = DefaultChannelBuilder(remote).toChannel()
    except PySparkException:
        return  # it is no address of a server: whoever makes the session says so
    ready = threading.Event()
    with made as channel:
        told = lambda state: ready.set() if state is grpc.ChannelConnectivity.READY else None  # noqa: E731
        channel.subscribe(told, try_to_connect=True)
        deadline = time.monotonic() + ANSWER_SECONDS
        while not ready.wait(_LOOK):
            if is_stopped():
                raise SparkError("the session was stopped", code="spark.stopped")
            if time.monotonic() > deadline:
                hint = "check --remote, and that a Spark Connect server runs there"
                message = f"no server answered at {remote.partition('/;')[0]} within {ANSWER_SECONDS:.0f} s"
                raise SparkError(message, code="spark.no-answer", hint=hint)


def take_leave(spark: SparkSession, patience: float | None = None) -> None:
    """End a session that is not on a JVM of our own; a server that does not answer any more is not waited for."""
    if not is_remote(spark):
        spark.stop()
        return
    leaving = threading.Thread(target=spark.stop, name="leaving", daemon=True)
    leaving.start()
    leaving.join(_FAREWELL if patience is None else patience)
    if leaving.is_alive():
        client = spark.client
        client._closed = True  # or PySpark would ask once more as the program ends
        client._channel.close()
