"""Windows on Spark: queries and samples give the rows that DuckDB gives, tasks the results of this process.

Numbers are those of the list in docs/windows.md. One file, so that one session does for all.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from otaptables import START, simple, write
from samplereference import lognormal, sample
from windowqueries import COUNTED, FILTERED, PASS_THROUGH, PLACEHOLDERS, SAMPLED
from windowruns import MINUTE, places, results, run, spec_at

from tailrace.lake.place import LocalPlace
from tailrace.windows import run as running
from tailrace.windows.data import WindowData, load
from tailrace.windows.engine import answered, opened
from tailrace.windows.reading import read_parts
from tailrace.windows.sampling import Sampling
from tailrace.windows.schema import TABLES
from tailrace.windows.sql import rewritten, window_values
from tailrace.windows.tasks import run_on_spark
from tailrace.windows.views import views

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES = window_values(START, START + MINUTE, 100)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("otap")
    requests = [simple("shop", ["x"] * 300), simple("bank", ["c", "d"], attributes=False), simple("post", ["e"] * 5)]
    for record in requests[2][0]["scopes"][0]["records"]:
        record |= {"severity": 17, "trace": bytes(range(16))}
        record["attributes"] += (("sampling.weight", "2.5"),)
    requests[0][0]["scopes"][0]["records"][0]["attributes"] += (("sampling.weight", "heavy"),)
    write(made, *requests)
    return made


@pytest.fixture(scope="module")
def window(base: Path) -> WindowData:
    return load(read_parts(LocalPlace(str(base))), START, START + MINUTE)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, window: WindowData) -> None:
    for name in TABLES:
        table: pa.Table = getattr(window, name)
        flat = [f for f in table.schema if not pa.types.is_struct(f.type)]
        columns = {f.name: table[f.name].cast(_SIGNED.get(f.type, f.type)) for f in flat}
        spark.createDataFrame(pa.table(columns)).createOrReplaceTempView(name)
    for name, query in views().items():
        translated = sqlglot.transpile(query, read="duckdb", write="spark")[0]
        spark.sql(translated).createOrReplaceTempView(name)


_SIGNED = {pa.uint8(): pa.int16(), pa.uint32(): pa.int64(), pa.binary(16): pa.binary(), pa.binary(8): pa.binary()}


def rows(found: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found.to_pylist()]


@pytest.mark.parametrize("query", [PASS_THROUGH, FILTERED, SAMPLED, COUNTED, PLACEHOLDERS])
def test_a18_a39_the_queries_as_printed(query: str, spark: SparkSession, tables: None, window: WindowData) -> None:
    on_spark = spark.sql(rewritten(query, "spark", VALUES)).toArrow()
    with opened(window) as connection:
        expected = answered(connection, rewritten(query, "duckdb", VALUES))
    assert on_spark.column_names == expected.column_names
    assert sorted(map(repr, rows(on_spark))) == sorted(map(repr, rows(expected)))
    assert len(expected) or query == COUNTED


def test_a27_files_are_for_spark_too(spark: SparkSession, base: Path, window: WindowData) -> None:
    """With a schema of its own, as times in nanoseconds and numbers without a sign are not Spark's."""
    logs = "id BIGINT, time_unix_nano BIGINT, resource STRUCT<id: BIGINT>, trace_id BINARY, _part_id STRING"
    attributes = "parent_id BIGINT, key STRING, type INT, str STRING, int BIGINT, _part_id STRING"
    for name, schema in (("logs", logs), ("log_attrs", attributes)):
        files = [str(path) for path in (base / name).rglob("*.parquet")]
        found = spark.read.schema(schema).option("basePath", str(base / name)).parquet(*files).toArrow()
        assert len(found) == len(getattr(window, name))
        assert set(found["_part_id"].to_pylist()) == set(window.logs["_part_id"].to_pylist())
    assert sorted(found["int"].drop_null().to_pylist()) == sorted(window.log_attrs["int"].drop_null().to_pylist())


SAMPLING = """select service, _part_id, weighted_reservoir_sample(STRUCT(id, w), 25) as sampled
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
        return drawn(connection.sql(rewritten(SAMPLING, "duckdb", {})).arrow().read_all().to_pylist())


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
        found = drawn(spark.sql(rewritten(SAMPLING, "spark", {})).toArrow().to_pylist())
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
    ((_, _, found),) = drawn(spark.sql(rewritten(SAMPLING, "spark", {})).toArrow().to_pylist())
    assert {one[0]: one[1] for one in found} == dict(enumerate([1.0] * 7 + [2.5, 7.0]))
    dropped = rewritten(SAMPLING, "spark", {}, Sampling(invalid_weight="drop"))
    ((_, _, found),) = drawn(spark.sql(dropped).toArrow().to_pylist())
    assert sorted(one[0] for one in found) == [7, 8]


def test_windows_in_tasks(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [simple("shop", ["a", "b"], attributes=n % 3 > 0, time=START + n * MINUTE) for n in range(7)]
    write(tmp_path / "in", *requests)
    here = tmp_path / "here"
    here.mkdir()
    (here / "in").symlink_to(tmp_path / "in")
    expected = run(here)
    monkeypatch.setattr(running, "UNIT", 2)
    made = running.WindowRun(spec_at(tmp_path), places(tmp_path), lambda units: run_on_spark(spark, units))
    assert made.run(START + 100 * MINUTE) == 7
    assert results(tmp_path) == results(here)
    assert made.state.last is not None
    assert expected.state.last is not None
    starts = [(done.start, done.logs, done.selected) for done in made.state.last.windows]
    assert starts == [(done.start, done.logs, done.selected) for done in expected.state.last.windows]
