"""`tailrace query --engine spark`: for each construct the rows that DuckDB gives, from the same small lake."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sparkcases import CONFIG, EXPRESSIONS, QUERIES, rows

from tailrace.core.errors import QueryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tailrace.lake.paths import Lake
    from tailrace.query.engine import Engine
    from tailrace.query.spark.engine import SparkEngine

THRIFTY = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"As many tasks as rows, and Java that is compiled for forty of them, would be most of the time."


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    from world import World

    root = tmp_path_factory.mktemp("things")
    (root / "things.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    world = World(root / "home")
    world.write_config(CONFIG.format(root=root))
    (report,) = world.collect()
    assert report.counts.stored == 40
    return world.lake


@pytest.fixture(scope="module")
def duck(stored: Lake) -> Engine:
    from tailrace.query.engine import Engine

    return Engine(stored, dict, _schemas)


@pytest.fixture(scope="module")
def engine(stored: Lake, spark: SparkSession) -> Iterator[SparkEngine]:
    from tailrace.query.spark.engine import SparkEngine

    for name, value in THRIFTY.items():
        spark.conf.set(name, value)
    yield SparkEngine(stored, dict, _schemas, session=lambda: spark)
    for name in THRIFTY:
        spark.conf.unset(name)


def _schemas() -> tuple[Any, ...]:
    from datetime import date

    from tailrace.query.filters import Schema

    return (Schema("first_day", last=date(2024, 5, 1)),)


def test_expressions(duck: Engine, engine: SparkEngine) -> None:
    """All at once: a statement of Spark's costs more than what it computes here."""
    sql = f"select {', '.join(f'{asked} as e{n}' for n, asked in enumerate(EXPRESSIONS))} from things order by tp_id"
    expected, found = (_columns(one, sql) for one in (duck, engine))
    differing = {asked: (e, f) for asked, e, f in zip(EXPRESSIONS, expected, found, strict=True) if e != f}
    assert not differing


def _columns(engine: Engine, sql: str) -> list[tuple[str, list[Any]]]:
    ((types, rows),) = [(result.types, list(result.rows)) for result in engine.run(sql)]
    return [(kind, [_plain(row[place]) for row in rows]) for place, kind in enumerate(types)]


@pytest.mark.parametrize("name", QUERIES)
def test_both_engines_give_the_same(name: str, duck: Engine, engine: SparkEngine) -> None:
    expected, found = (_answer(engine, QUERIES[name]) for engine in (duck, engine))
    assert found == expected


def _answer(engine: Engine, sql: str) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """Columns, types, and rows in any order."""
    ((columns, types, rows),) = [(r.columns, r.types, list(r.rows)) for r in engine.run(sql)]
    return columns, types, sorted(repr([_plain(value) for value in row]) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value + 0.0:.12g}"
    # A list of what is distinct has no order.
    return sorted(map(repr, value)) if isinstance(value, list) else value


def test_samples(engine: SparkEngine) -> None:
    ((rows,),) = [list(result.rows) for result in engine.run("select count(*) from (from things using sample 5 rows)")]
    assert rows == (5,)
    ((share,),) = [
        list(r.rows) for r in engine.run("select count(*) from things tablesample 50 percent (bernoulli, 1)")
    ]
    assert 5 < share[0] < 35


def test_many_rows_come_piece_by_piece(duck: Engine, engine: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailrace.query.spark import fetching

    monkeypatch.setattr(fetching, "FEW", 5)
    monkeypatch.setattr(fetching, "_PIECE", 500)
    sql = "select * exclude (tp_ingest_timestamp) from things order by tp_id desc"
    expected, found = (_columns(one, sql) for one in (duck, engine))
    assert found == expected
    (result,) = engine.run(sql, as_arrow=True)
    assert result.batches is not None
    _, batches = result.batches()
    assert sum(batch.num_rows for batch in batches) == 40
    first = next(iter(engine.run(sql)))
    assert next(first.rows)
    engine.abandon()
    assert _columns(engine, "select count(*) as n from things") == [("BIGINT", [40])]


def test_a_statement_that_takes_too_long(stored: Lake, engine: SparkEngine, spark: SparkSession) -> None:
    """Its job is ended, not merely left alone; Spark looks up from a join only when a batch of rows is through."""
    from tailrace.query.limits import Limits
    from tailrace.query.spark.engine import SparkEngine

    hasty = SparkEngine(stored, dict, _schemas, limits=Limits(seconds=3), session=lambda: spark)
    tables = ", ".join(f"things as t{n}" for n in range(5))
    jobs = spark.sparkContext.statusTracker()
    with pytest.raises(QueryError) as failure:
        _answer(hasty, f"select count(*) as n from {tables} where t0.n + t1.n + t2.n + t3.n + t4.n > 3")
    assert failure.value.code == "query.timeout"
    # Who waits for a job is told of its end before this is.
    deadline = time.monotonic() + 5
    while jobs.getActiveJobsIds() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not jobs.getActiveJobsIds()
    assert _columns(engine, "select count(*) as n from things") == [("BIGINT", [40])]


READ: dict[str, Callable[[Path], Any]] = {
    "arrow": lambda path: pa.ipc.open_file(path).read_all(),
    "parquet": pq.read_table,
}
"Files that may hold the same in other pieces."


def test_forms(engine: SparkEngine, duck: Engine, tmp_path: Path) -> None:
    """Every form of output takes what Spark answers."""
    from tailrace.query.answering import answer
    from tailrace.query.files import Destination

    for form in ("csv", "json", "parquet", "arrow", "markdown"):
        written = []
        for one in (duck, engine):
            path = tmp_path / f"{form}.{len(written)}"
            with Destination(form, path) as destination:
                answer(one, "select n, j, seen, words, d / 2 as half from things order by tp_id", destination, print)
            written.append(READ.get(form, Path.read_bytes)(path))
        assert written[0] == written[1], form


def test_other_statements_are_for_duckdb(engine: SparkEngine) -> None:
    assert [list(r.rows) for r in engine.run("create table mine as select 1 as a; show tables")][-1]
    with pytest.raises(QueryError, match="'mine' is no table of the lake"):
        list(engine.run("select a from mine"))
    list(engine.run("drop table mine"))


def test_answers_are_not_among_the_tables(duck: Engine, engine: SparkEngine) -> None:
    *_, expected = (list(result.rows) for result in duck.run("select 1; show tables"))
    *_, found = (list(result.rows) for result in engine.run("select 1; show tables"))
    assert found == expected


def test_mistakes_are_told_as_ever(engine: SparkEngine) -> None:
    with pytest.raises(QueryError, match="nothing"):
        list(engine.run("select nothing from things"))
    with pytest.raises(QueryError) as unknown:
        list(engine.run("select * from thing"))
    assert "things" in (unknown.value.hint or "")


def test_days_in_tiers(stored: Lake, spark: SparkSession, tmp_path: Path) -> None:
    """Files that rest elsewhere on disk are found, and only those of a day are read."""
    import shutil
    from datetime import datetime

    from tailrace.lake.paths import Lake, Tier
    from tailrace.lake.place import LocalPlace
    from tailrace.lake.resting import Rule
    from tailrace.lake.snapshot import snapshot
    from tailrace.lake.table_place import is_elsewhere
    from tailrace.lake.upkeep import carry_out, due
    from tailrace.query.engine import Engine
    from tailrace.query.spark.engine import SparkEngine

    shutil.copytree(stored.home, tmp_path / "home")
    tier = Tier("default", "old", LocalPlace(str(tmp_path / "a tier")))
    lake, now = Lake(tmp_path / "home", tiers=(tier,)), datetime(2024, 6, 1)
    rules = [Rule(tier, last=datetime(2024, 5, 1).date())]
    for chore in [*due(lake, "things", ["main"], lambda _: None, now, lambda _: rules)]:
        carry_out(lake, chore, "test", now)
    moved = [is_elsewhere(path) for path in snapshot(lake, "things").files.column("path").to_pylist()]
    assert any(moved)
    assert not all(moved)
    for sql in (
        "select tp_date, count(*), sum(n) from things group by 1 order by 1",
        "select n, word from things where tp_date = '2024-05-01' order by tp_timestamp, n",
    ):
        rows = []
        for made in (Engine(Lake(tmp_path / "home"), dict), SparkEngine(lake, dict, session=lambda: spark)):
            (result,) = made.run(sql)
            rows.append([tuple(row) for row in result.rows])
        assert rows[0] == rows[1]
        assert rows[0]
