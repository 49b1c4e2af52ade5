"""The sampler on Spark, beside two grouped pandas functions: as people write one, and one that draws the same sample.

The first takes random numbers, and other items every time. The second makes the sampler's own numbers with numpy, which
nobody would write: it shows what the same work costs there.
"""

from __future__ import annotations

import hashlib
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tailrace.windows.sampling import Sampling
from tailrace.windows.sql import rewritten

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from pyspark.sql import SparkSession

GROUPS, SIZE, RUNS = 20, 100, 3
QUERY = f"SELECT _part_id, weighted_reservoir_sample(STRUCT(id, w), {SIZE}) AS s FROM items GROUP BY _part_id"
Drawn = dict[tuple[str, int], float]


def sampling(rows: int, spark: SparkSession) -> dict[str, Any]:
    """The k smallest ranks of twenty groups, and what each item stands for: the same items from both."""
    from pyspark import cloudpickle

    # Workers cannot import what lies beside a script.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "4")
    items = own.range(0, rows, 1, 4)
    items = items.selectExpr("id", f"CAST(id % {GROUPS} AS STRING) AS _part_id", "1.0D + id % 7 AS w")
    items.createOrReplaceTempView("items")
    # A window with `engine = "spark"` knows its partitions as well.
    text = rewritten(QUERY, "spark", {}, Sampling(parts=tuple(map(str, range(GROUPS)))))

    def natively() -> Drawn:
        found = own.sql(text).toArrow().to_pylist()
        return {(row["_part_id"], one["value"]["id"]): one["adjusted_weight"] for row in found for one in row["s"]}

    def by_pandas(function: Callable[[pd.DataFrame], pd.DataFrame]) -> Drawn:
        frame = own.table("items").groupBy("_part_id")
        found = frame.applyInPandas(function, "_part_id string, id bigint, adjusted double").toArrow().to_pylist()
        return {(row["_part_id"], row["id"]): row["adjusted"] for row in found}

    assert natively() == by_pandas(drawn)
    ways = (("native", natively), ("pandas", lambda: by_pandas(drawn)), ("usual", lambda: by_pandas(usual)))
    seconds = {name: _median(work) for name, work in ways}
    ratio, to_usual = (round(seconds[name] / seconds["native"], 2) for name in ("pandas", "usual"))
    return {"rows": rows, **seconds, "ratio": ratio, "ratio_usual": to_usual, "met": ratio >= 3}


def _median(work: Callable[[], Drawn]) -> float:
    found = []
    for _ in range(RUNS):
        began = time.perf_counter()
        assert len(work()) == GROUPS * SIZE
        found.append(time.perf_counter() - began)
    return round(statistics.median(found), 4)


def drawn(frame: pd.DataFrame) -> pd.DataFrame:
    """One group: as fast as numpy does it, only the items that are drawn are put in order."""
    import pandas

    part, ids, weights = frame["_part_id"].iloc[0], frame["id"].to_numpy(), frame["w"].to_numpy()
    ranks = uniforms(ids, part) / weights
    tau = np.partition(ranks, SIZE)[SIZE]
    kept = np.flatnonzero(ranks < tau)
    adjusted = np.maximum(weights[kept], 1 / tau)
    return pandas.DataFrame({"_part_id": part, "id": ids[kept], "adjusted": adjusted})


def usual(frame: pd.DataFrame) -> pd.DataFrame:
    """One group, as people write it: random numbers by weight, the smallest of them."""
    ranks = np.random.default_rng().random(len(frame)) / frame["w"]
    least = ranks.nsmallest(SIZE + 1)
    kept = frame.loc[least.index[:SIZE]]
    adjusted = kept["w"].clip(lower=1 / least.iloc[SIZE])
    return kept[["_part_id", "id"]].assign(adjusted=adjusted)


def uniforms(ids: npt.NDArray[np.int64], part_id: str) -> npt.NDArray[np.float64]:
    """The sampler's numbers between 0 and 1."""
    mask = np.uint64(2**32 - 1)
    digest = hashlib.md5(f"0|{part_id}".encode()).hexdigest()
    bits = ids.view(np.uint64)
    lanes = [(bits >> np.uint64(32)) ^ np.uint64(int(digest[:8], 16)), (bits & mask) ^ np.uint64(int(digest[8:16], 16))]
    for turn in range(4):
        mixed = lanes[turn % 2]
        for shift, factor in ((16, 569420461), (15, 1935289751)):
            mixed = ((mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)) & mask
        lanes[turn % 2] = mixed ^ (mixed >> np.uint64(15))
        lanes[(turn + 1) % 2] = lanes[(turn + 1) % 2] ^ lanes[turn % 2]
    whole = (lanes[0] * np.uint64(2**20) + (lanes[1] >> np.uint64(12))).astype(np.float64)
    found: npt.NDArray[np.float64] = (whole + 0.5) / 2.0**52
    return found
