"""What is different on a Spark Connect server: its packages, and how executors get what they need."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.core.errors import SparkError
from tailrace.core.extras import install
from tailrace.pipeline.options import PACKED_PYTHON, UNPACKED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
