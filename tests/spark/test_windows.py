"""Windows on Spark: queries and samples give the rows that DuckDB gives, tasks the results of this process.

Numbers are those of the list in docs/windows.md. One file, so that one session does for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from otaptables import START, simple, write
from samplereference import lognormal, sample
from sparkestimates import estimates, z_score
from windowqueries import COUNTED, DEFAULT, DEMO, FILTERED, PASS_THROUGH, PLACEHOLDERS, SAMPLED
from windowruns import MINUTE, places, results, run, sources_of, spec_at

from tailrace.lake.place import LocalPlace
from tailrace.windows import run as running
from tailrace.windows.data import WindowData, load
from tailrace.windows.engine import answered, opened
from tailrace.windows.reading import read_parts
from tailrace.windows.sampling import SPARK, Call, Sampling, aggregate
from tailrace.windows.spark_engine import register, run_by_spark
from tailrace.windows.sql import rewritten, sampled, window_values
from tailrace.windows.state import STAGED
from tailrace.windows.tasks import run_on_spark
from tailrace.windows.unit import Wanted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS = """SELECT a.range AS n, g.i, t.*, r.range FROM range(3) AS a, generate_series(5, 1, -2) AS g(i),
    generate_series(1, 4, 2) AS t, range(1, 2) AS r"""
OF = COUNTED.replace("'service.name'", "'of'")
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
def session(spark: SparkSession, base: Path, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """Where the tables of the window are views of its files."""
    made = spark.newSession()
    made.conf.set("spark.sql.shuffle.partitions", "2")
    spec = replace(spec_at(base), base=LocalPlace(str(base)))
    register(made, spec, Wanted(START, tuple(sources_of(spec, tmp_path_factory.mktemp("catalog")))))
    return made


def rows(found: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found.to_pylist()]


@pytest.mark.parametrize("query", [PASS_THROUGH, FILTERED, COUNTED, PLACEHOLDERS, DEFAULT, DEMO, NUMBERS])
def test_a18_a39_the_queries_as_printed(query: str, session: SparkSession, window: WindowData) -> None:
    on_spark = session.sql(rewritten(query, "spark", VALUES, ordered=False)).toArrow()
    with opened(window) as connection:
        expected = answered(connection, rewritten(query, "duckdb", VALUES))
    assert on_spark.column_names == expected.column_names
    assert sorted(map(repr, rows(on_spark))) == sorted(map(repr, rows(expected)))
    assert len(expected) or query == COUNTED


def test_a17_a37_partitions_are_pruned_and_decisions_made_once(session: SparkSession, window: WindowData) -> None:
    part = window.logs["_part_id"][0].as_py()
    plan = _plan(session, f"select * from log_attrs where _part_id = '{part}'")
    assert "PartitionFilters: [isnotnull(_part_id" in plan
    assert dict(session.table("logs").dtypes)["_part_id"] == "string"
    # The query of the document names its decisions twice; they are made once.
    plan = _plan(session, rewritten(SAMPLED, "spark", VALUES, ordered=False))
    assert plan.count("ReusedExchange") >= 1


def _plan(session: SparkSession, query: str) -> str:
    return str(session.sql(query)._jdf.queryExecution().executedPlan().toString())


def test_windows_that_spark_answers(spark: SparkSession, base: Path, tmp_path: Path) -> None:
    """The same results, byte for byte: the sample too."""
    for name, query in (("sampled", SAMPLED.replace("100", "20")), ("report", OF)):
        for engine in ("duckdb", "spark"):
            (root := tmp_path / name / engine).mkdir(parents=True)
            (root / "in").symlink_to(base)
            runner = running.run_here if engine == "duckdb" else lambda units: run_by_spark(spark, units)
            spec = spec_at(root, query=query, form="otlp_json", target_partitions=2)
            assert running.WindowRun(spec, places(root), runner).run(START + 100 * MINUTE) == 1
            assert not (root / "out" / STAGED).exists()
        by_duckdb, by_spark = (results(tmp_path / name / engine) for engine in ("duckdb", "spark"))
        if name == "report":
            tables = [pq.read_table(pa.BufferReader(body)) for body in (*by_duckdb.values(), *by_spark.values())]
            assert tables[0].to_pylist() == tables[1].to_pylist() != []
        else:
            assert list(by_duckdb) == list(by_spark)
            assert by_duckdb == by_spark


def test_a27_files_are_for_spark_too(session: SparkSession, window: WindowData) -> None:
    """With a schema of its own, as times in nanoseconds and numbers without a sign are not Spark's."""
    for name in ("logs", "log_attrs"):
        assert session.table(name).count() == len(getattr(window, name))
    found = session.sql("select sum(int) as s, count(distinct _part_id) as n from log_attrs").first()
    assert found is not None
    assert tuple(found) == (pc.sum(window.log_attrs["int"]).as_py(), 1)


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


@pytest.mark.parametrize(("partitions", "adaptive"), [(1, True), (4, False), (200, True)])
def test_a16_a33_every_partitioning_draws_the_same(
    partitions: int, adaptive: bool, spark: SparkSession, items: pa.Table, by_duckdb: list[tuple[Any, ...]]
) -> None:
    settings = {"spark.sql.shuffle.partitions": str(partitions), "spark.sql.adaptive.enabled": str(adaptive).lower()}
    before = {name: spark.conf.get(name) for name in settings}
    shuffled = items.take(pa.array(np.random.default_rng(partitions).permutation(len(items))))
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        spark.createDataFrame(shuffled).repartition(min(partitions, 7)).createOrReplaceTempView("sampled_items")
        found = drawn(spark.sql(rewritten(SAMPLING, "spark", {})).toArrow().to_pylist())
        known = rewritten(SAMPLING, "spark", {}, Sampling(parts=("part 0",)))
        assert drawn(spark.sql(known).toArrow().to_pylist()) == found
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


@pytest.mark.parametrize("kind", ["text", "wide"])
def test_samples_of_any_table_are_the_same(kind: str, spark: SparkSession, items: pa.Table) -> None:
    """Ids are texts here, or have more than 64 bits, and are unique without a partition."""
    query = """select service, weighted_reservoir_sample(STRUCT(tp_id, w), 9) as sampled from lake_rows
    group by service order by service"""
    ids = pc.binary_join_element_wise(items["id"].cast(pa.string()), "x", ":")
    if kind == "wide":
        ids = pa.array([Decimal(n) * 10**20 for n in items["id"].to_pylist()], pa.decimal128(38))
    table = items.append_column("tp_id", ids)
    spark.createDataFrame(table).createOrReplaceTempView("lake_rows")
    on_spark = spark.sql(sampled(query, "spark")).toArrow().to_pylist()
    assert all(len(row["sampled"]) == 9 for row in on_spark)
    with duckdb.connect() as connection:
        connection.register("lake_rows", table)
        assert connection.sql(sampled(query)).to_arrow_table().to_pylist() == on_spark


GROUPED = (
    "select a, b, count(*) as n, weighted_reservoir_sample(STRUCT(tp_id, 1.0), 2) as s from odd_groups group by a, b",
    "select b as a, weighted_reservoir_sample(STRUCT(tp_id, 1.0), 2) as s from odd_groups group by b",
    "select c, weighted_reservoir_sample(STRUCT(tp_id, 1.0), 2) as s from odd_groups group by c",
    "select upper(a) as u, weighted_reservoir_sample(STRUCT(tp_id, 1.0), 2) as s from odd_groups group by a",
    "select a, weighted_reservoir_sample(STRUCT(tp_id, 1.0), 2) as s from odd_groups group by a having count(*) > 3",
    "select weighted_reservoir_sample(STRUCT(tp_id, 1.0), 2) as s from odd_groups",
)


@pytest.mark.parametrize("query", GROUPED)
def test_groups_with_nulls_and_lists_are_told_apart(query: str, spark: SparkSession) -> None:
    """Spark finds groups by numbers that are made of their columns."""
    texts = [None, "x", "y", "xy"]
    rows = [(a, b, [a, b]) for a in texts for b in texts for _ in range(3)]
    columns = {name: pa.array([row[place] for row in rows]) for place, name in enumerate("abc")}
    table = pa.table({"tp_id": [f"row {n}" for n in range(len(rows))], **columns})
    spark.createDataFrame(table).repartition(3).createOrReplaceTempView("odd_groups")
    on_spark = spark.sql(sampled(query, "spark")).toArrow()
    with duckdb.connect() as connection:
        connection.register("odd_groups", table)
        expected = connection.sql(sampled(query)).to_arrow_table()
    assert on_spark.column_names == expected.column_names
    assert sorted(map(repr, on_spark.to_pylist())) == sorted(map(repr, expected.to_pylist()))


def test_equal_ranks_are_ordered_by_id(spark: SparkSession) -> None:
    """Weights so large that ranks have few digits left."""
    call = Call(0, (("id", "id"),), "w", None, 3)
    rows = "SELECT explode(array(5L, 3L, 9L)) AS id, 0.25D AS wrs_0_o"
    items = "named_struct('id', id, 'input_weight', 1.0D, 'r', wrs_0_o)"
    (found,) = spark.sql(
        f"SELECT {aggregate(call, SPARK)} AS s FROM (SELECT {items} AS wrs_0_item, * FROM ({rows}))"
    ).collect()
    assert [one["value"]["id"] for one in found["s"]] == [3, 5, 9]


def test_a37_a_hot_group_ships_its_candidates_alone(spark: SparkSession) -> None:
    """95 of 100 rows are of one group: every task sends k + 1 of them, whatever it has read."""
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    tasks, groups, row = 4, 4, 200
    session.range(0, 100_000, 1, tasks).selectExpr(
        "id", "'p' AS _part_id", "CASE WHEN id % 20 < 19 THEN 'hot' ELSE concat('cold ', id % 3) END AS service",
        "1.0D + id % 7 AS w",
    ).createOrReplaceTempView("sampled_items")  # fmt: skip
    frame = session.sql(rewritten(SAMPLING, "spark", {}))
    assert sum(len(group["sampled"]) for group in frame.collect()) == 25 * groups
    sent = [node.metrics().apply("dataSize").value() for node in _nodes(frame._jdf.queryExecution().executedPlan())
            if node.nodeName() == "Exchange" and "hashpartitioning" in node.toString().split("\n")[0]]  # fmt: skip
    assert 0 < sent[0] <= tasks * groups * 26 * row * 2


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    children = plan.children()
    for place in range(children.size()):
        yield from _nodes(children.apply(place))


@pytest.mark.slow
def test_a29_a32_estimates_are_unbiased_on_spark(spark: SparkSession) -> None:
    """A small form: the whole one, and estimators that are wrong, are in tests/long."""
    found = estimates(spark, seeds=40, count=500, size=25)
    assert abs(z_score(found["weights"], found["truth"][0])) <= 4
    assert abs(z_score(found["twice"], found["truth"][1])) <= 4


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
