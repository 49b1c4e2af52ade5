"""The process that forks Spark's Python workers: it imports the heavy modules once, not each worker again."""

from __future__ import annotations

import os

# No thread may run before a fork. These are the two that imports would start: OpenBLAS's (numpy) and that of
# Arrow's bundled jemalloc.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"

_PRELOADED = ("pyspark.worker", "pyarrow.parquet", "duckdb", "tailrace.pipeline.unit")
"""Never what imports deltalake or obstore: their threads do not survive a fork."""


def preload() -> None:
    """Import what tasks need; a module that is missing is left for the task to complain about."""
    for name in _PRELOADED:
        try:
            __import__(name)
        except ImportError:
            continue


if __name__ == "__main__":
    preload()
    # PySpark names its worker module in argv; its daemon reads it from there after the fork.
    from pyspark.daemon import manager

    manager()
