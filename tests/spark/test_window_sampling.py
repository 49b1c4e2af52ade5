"""Weighted sampling on Spark: it draws what DuckDB draws, whatever the partitions; numbers as in docs/windows.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from samplereference import lognormal, sample

from tailrace.windows.sampling import Sampling
from tailrace.windows.sql import rewritten

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = """select service, _part_id, weighted_reservoir_sample(STRUCT(id, w), 25) as sampled
from sampled_items group by service, _part_id order by service, _part_id"""


def drawn(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(row["service"], row["_part_id"], [tuple(one["value"].values()) for one in row["sampled"]]) for row in rows]


@pytest.fixture(scope="module")
def items() -> pa.Table:
    rows = 4_000
    weights = [None if n % 50 == 0 else w for n, w in enumerate(lognormal(rows).tolist())]
    services = ["hot" if n % 20 else f"cold {n % 3}" for n in range(rows)]
    parts = pa.array([f"part {n % 2}" for n in range(rows)])
    ids = pa.array([n if n % 7 else -1 - (n << 28) for n in range(rows)])
    return pa.table({"service": services, "_part_id": parts, "id": ids, "w": pa.array(weights)})


@pytest.fixture(scope="module")
def by_duckdb(items: pa.Table) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.register("sampled_items", items)
        return drawn(connection.sql(rewritten(QUERY, "duckdb", {})).arrow().read_all().to_pylist())


@pytest.mark.parametrize(("partitions", "adaptive"), [(1, True), (4, False), (40, True)])
def test_a16_a33_every_partitioning_draws_the_same(
    partitions: int, adaptive: bool, spark: SparkSession, items: pa.Table, by_duckdb: list[tuple[Any, ...]]
) -> None:
    settings = {"spark.sql.shuffle.partitions": str(partitions), "spark.sql.adaptive.enabled": str(adaptive).lower()}
    before = {name: spark.conf.get(name) for name in settings}
    shuffled = items.take(pa.array(np.random.default_rng(partitions).permutation(len(items))))
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        spark.createDataFrame(shuffled).repartition(partitions).createOrReplaceTempView("sampled_items")
        found = drawn(spark.sql(rewritten(QUERY, "spark", {})).toArrow().to_pylist())
    finally:
        for name, value in before.items():
            spark.conf.set(name, str(value))
    assert found == by_duckdb
    told = {one[0]: one[2] for one in found[-1][2]}
    chosen = items.filter(pa.compute.and_(
        pa.compute.equal(items["service"], found[-1][0]), pa.compute.equal(items["_part_id"], found[-1][1])
    ))  # fmt: skip
    weights = chosen["w"].fill_null(1.0).to_numpy()
    assert told == sample(chosen["id"].to_numpy(), weights, 25, found[-1][1])


def test_a34_weights_on_spark(spark: SparkSession) -> None:
    """The job does not fail, though Spark's casts do."""
    given = [None, "", "abc", "nan", "inf", "0", "-1", "2.5", "7"]
    rows = pa.table(
        {"_part_id": ["p"] * len(given), "service": ["s"] * len(given), "id": range(len(given)), "w": given}
    )
    spark.createDataFrame(rows).createOrReplaceTempView("sampled_items")
    ((_, _, found),) = drawn(spark.sql(rewritten(QUERY, "spark", {})).toArrow().to_pylist())
    assert {one[0]: one[1] for one in found} == dict(enumerate([1.0] * 7 + [2.5, 7.0]))
    dropped = rewritten(QUERY, "spark", {}, Sampling(invalid_weight="drop"))
    ((_, _, found),) = drawn(spark.sql(dropped).toArrow().to_pylist())
    assert sorted(one[0] for one in found) == [7, 8]
