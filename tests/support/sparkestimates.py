"""Samples of many seeds drawn in Spark, one job each, and what they estimate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from samplereference import Floats, lognormal

from tailrace.windows.sampling import Sampling
from tailrace.windows.sql import rewritten

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBSETS = 4
DRAWN = """WITH drawn AS (SELECT _part_id, weighted_reservoir_sample(STRUCT(id, {weight}), {size}) AS s
    FROM {table} GROUP BY _part_id)
SELECT _part_id, d.value.id AS id, d.value.adjusted_weight AS adjusted, d.value.variance AS variance
FROM drawn CROSS JOIN UNNEST(s) AS t(d)"""


def z_score(found: Floats, truth: float) -> float:
    return float((found.mean() - truth) / (found.std(ddof=1) / math.sqrt(len(found))))


def register(spark: SparkSession, seeds: int, weights: Floats) -> None:
    """The same items in as many partitions: the salt of a partition is as good as another seed."""
    import pyarrow as pa

    items = spark.createDataFrame(pa.table({"id": np.arange(len(weights)), "w": weights}))
    parts = spark.range(0, seeds, 1, 4).selectExpr("CAST(id AS STRING) AS _part_id")
    items.crossJoin(parts).createOrReplaceTempView("seeded_items")


def estimates(spark: SparkSession, seeds: int, count: int, size: int) -> dict[str, Floats]:
    """Sums by seed: of weights, of four subsets, of variances, and of the count after a second sample of the first."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "4")
    weights = lognormal(count)
    register(session, seeds, weights)
    drawn = rewritten(DRAWN.format(weight="w", size=size, table="seeded_items"), "spark", {})
    per_subset = ", ".join(f"sum(IF(id % {SUBSETS} = {n}, adjusted, 0D)) AS s{n}" for n in range(SUBSETS))
    first = (
        f"SELECT _part_id, sum(adjusted) AS total, {per_subset}, sum(variance) AS v FROM ({drawn}) GROUP BY _part_id"
    )
    found = session.sql(first).toArrow()
    once = DRAWN.format(weight="1.0", size=size * 5, table="seeded_items")
    session.sql(rewritten(once, "spark", {})).createOrReplaceTempView("first_stage")
    again = DRAWN.format(weight="adjusted", size=size // 2, table="first_stage")
    second = rewritten(again, "spark", {}, Sampling(seed=1))
    twice = session.sql(f"SELECT sum(adjusted) AS n FROM ({second}) GROUP BY _part_id").toArrow()
    sums = {f"s{n}": found[f"s{n}"].to_numpy() for n in range(SUBSETS)}
    truth = np.array([weights.sum(), count, *(weights[n::SUBSETS].sum() for n in range(SUBSETS))])
    return {
        "weights": found["total"].to_numpy(), "variance": found["v"].to_numpy(), "twice": twice["n"].to_numpy(),
        "truth": truth, **sums,
    }  # fmt: skip
