"""How many tasks may run at once: by it the work is cut into units."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from tailrace.pipeline.described import described

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,.*)?\])?")
_SPLITS = re.compile(r"splits=(\d+)")


def local_cores(master: str) -> int | None:
    """Of a master on this machine; None where only the cluster knows."""
    found = _LOCAL.fullmatch(master)
    if found is None:
        return None
    return os.cpu_count() or 2 if found[1] == "*" else int(found[1] or 1)


def session_cores(session: Callable[[], SparkSession]) -> int:
    """Of the executors that have come so far; `spark.default.parallelism` says otherwise where more will.

    A plan tells into how many parts Spark itself would cut a table; what cannot be told is told by the jobs themselves.
    """
    with suppress(Exception):
        spark = session()
        if known := local_cores(spark.conf.get("spark.master", "") or ""):
            return known
        own = described(spark, "tailrace: are there executors?")
        own.range(1).count()  # until then there may be none at all
        plan = own.sql("explain select * from range(1000000)").collect()[0][0]
        return max(int(n) for n in _SPLITS.findall(plan))
    return os.cpu_count() or 2
