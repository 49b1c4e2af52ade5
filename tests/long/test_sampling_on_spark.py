"""Statistics of samples that Spark draws: unbiased, with the variance that they tell; wrong estimators are caught.

Numbers are those of the list in docs/windows.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
import samplereference
from samplereference import lognormal, sample, uniforms
from sparkestimates import SUBSETS, estimates, register, z_score

from tailrace.pipeline.session import SessionOptions, session
from tailrace.windows.sampling import SPARK, Call, Sampling, widened
from tailrace.windows.sql import rewritten

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Record = Callable[[str, object], None]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with session(SessionOptions(master="local[2]", home=tmp_path_factory.mktemp("home"), compiled=True)) as opened:
        yield opened


def test_a29_a32_sums_subsets_and_samples_of_samples(spark: SparkSession, record_property: Record) -> None:
    found = estimates(spark, seeds=400, count=2_000, size=100)
    scores = [z_score(found["weights"], found["truth"][0])]
    scores += [z_score(found[f"s{n}"], found["truth"][2 + n]) for n in range(SUBSETS)]
    scores.append(z_score(found["twice"], found["truth"][1]))
    assert max(map(abs, scores)) <= 4
    assert abs(found["weights"].mean() / found["truth"][0] - 1) < 0.02
    # What is told of the variance is what it is.
    assert found["variance"].mean() == pytest.approx(found["weights"].var(ddof=1), rel=0.3)
    record_property("seeds", 400)
    record_property("largest z in hundredths", round(100 * max(map(abs, scores))))


@pytest.mark.parametrize(("count", "size"), [(10_000, 1_000), (1_000, 10)])
def test_a30_variance_of_unit_weights(count: int, size: int, record_property: Record) -> None:
    """20,000 seeds outside of Spark, with numbers that are the same bit for bit."""
    runs = 20_000
    found, told = np.zeros(runs), np.zeros(runs)
    ids = np.arange(count)
    for seed in range(runs):
        tau = np.partition(uniforms(ids, str(seed)), size)[size]
        found[seed], told[seed] = size / tau, size * (1 / tau) * max(0.0, 1 / tau - 1)
    truth = count * (count - size) / (size - 1)
    assert found.var() == pytest.approx(truth, rel=0.1)
    assert 0.9 <= told.mean() / truth <= 1.1
    if size >= 50:
        covered = (np.abs(found - count) <= 1.96 * np.sqrt(told)).mean()
        assert 0.92 <= covered <= 0.97
    record_property("seeds of the variance", runs)


WRONG = {
    "none": ("u / w", "greatest(w, 1 / tau)", 21),
    "the last rank that is kept as tau": ("u / w", "greatest(w, 1 / tau)", 20),
    "ranks that do not know weights": ("u", "greatest(w, 1 / tau)", 21),
    "the formula of other ranks": ("u", "w / (1 - exp(-w * tau))", 21),
}


@pytest.mark.parametrize("name", WRONG)
def test_a31_estimators_that_are_wrong_are_caught(name: str, spark: SparkSession, record_property: Record) -> None:
    """n = 500, k = 20, 2,000 seeds, all in Spark, with the numbers of the sampler itself."""
    rank, weigh, nth = WRONG[name]
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "4")
    weights, size = lognormal(500), 20
    register(own, 2_000, weights)
    call = Call(0, (("id", "id"),), "1.0", "_part_id", size)
    rows = widened("SELECT * FROM seeded_items", "x", call, Sampling(), SPARK)
    ranked = f"SELECT *, {rank} AS rank FROM (SELECT _part_id, id, w, wrs_0_r AS u FROM {rows})"
    numbered = f"""SELECT *, row_number() OVER (PARTITION BY _part_id ORDER BY rank, id) AS n FROM ({ranked})"""
    kept = f"""SELECT *, max(IF(n = {nth}, rank, NULL)) OVER (PARTITION BY _part_id) AS tau
        FROM ({numbered}) WHERE n <= {size + 1}"""
    sums = own.sql(f"SELECT sum({weigh}) AS s FROM ({kept}) WHERE n <= {size} GROUP BY _part_id").toArrow()
    score = abs(z_score(sums["s"].to_numpy(), float(weights.sum())))
    assert len(sums) == 2_000
    assert score <= 4 if name == "none" else score > 4, score
    record_property("seeds of estimators", 2_000)
    record_property("estimators caught", int(name != "none"))


def test_a33_a38_a_python_aggregate_agrees_and_is_slower(spark: SparkSession, record_property: Record) -> None:
    """The same items, bit for bit, and at least three times as fast as a grouped pandas function.

    Of ten million rows, as many as windows are measured with: to plan the query takes as long as a million of them.
    """
    import pandas as pd
    from pyspark import cloudpickle

    # Workers cannot import what lies beside the tests.
    cloudpickle.register_pickle_by_value(samplereference)
    rows, groups, size = 10_000_000, 20, 100
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "4")
    own.range(0, rows, 1, 4).selectExpr(
        "id", f"CAST(id % {groups} AS STRING) AS _part_id", "1.0D + id % 7 AS w"
    ).createOrReplaceTempView("many_items")
    query = f"SELECT _part_id, weighted_reservoir_sample(STRUCT(id, w), {size}) AS s FROM many_items GROUP BY _part_id"

    def drawn(frame: pd.DataFrame) -> pd.DataFrame:
        part = frame["_part_id"].iloc[0]
        chosen = sample(frame["id"].to_numpy(), frame["w"].to_numpy(), size, part)
        return pd.DataFrame({"_part_id": part, "id": list(chosen), "adjusted": list(chosen.values())})

    def natively() -> dict[tuple[str, int], float]:
        # A window knows its partitions.
        known = Sampling(parts=tuple(map(str, range(groups))))
        found = own.sql(rewritten(query, "spark", {}, known)).toArrow().to_pylist()
        return {(row["_part_id"], one["value"]["id"]): one["adjusted_weight"] for row in found for one in row["s"]}

    def by_pandas() -> dict[tuple[str, int], float]:
        frame = own.table("many_items").groupBy("_part_id")
        found = frame.applyInPandas(drawn, "_part_id string, id bigint, adjusted double").toArrow()
        return {(row["_part_id"], row["id"]): row["adjusted"] for row in found.to_pylist()}

    seconds = {}
    for name, work in (("native", natively), ("pandas", by_pandas)):
        work()
        began = time.perf_counter()
        answers = [work(), work()]
        seconds[name] = (time.perf_counter() - began) / 2
        assert len(answers[0]) == groups * size
    assert natively() == by_pandas()
    record_property("rows a second, native", round(rows / seconds["native"]))
    record_property("rows a second, grouped pandas", round(rows / seconds["pandas"]))
    assert seconds["pandas"] >= 3 * seconds["native"], seconds
