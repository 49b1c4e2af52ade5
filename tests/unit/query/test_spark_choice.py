"""Which statements go to Spark by themselves, and what happens when it cannot run them; no JVM."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import NoReturn

import pytest
from weblake import made_web
from world import World

from tailrace.cli.lazy_session import LazySession
from tailrace.core.errors import QueryError, SparkError
from tailrace.pipeline.options import SessionOptions
from tailrace.query.limits import Limits
from tailrace.query.spark import engine as spark_engine
from tailrace.query.spark.choice import holds_rows, memory_of
from tailrace.query.spark.engine import SparkEngine

ENDLESS = "select max(hash(a.range)) from range(100000000) a, range(100000) b"
GROUPS = "select request_uri, count(*) from nginx_access_log group by all"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made_web(tmp_path_factory.mktemp("choice"))


@pytest.fixture
def told() -> list[tuple[int, int]]:
    return []


@pytest.fixture
def engine(world: World, told: list[tuple[int, int]]) -> SparkEngine:
    """It has no Spark."""
    return SparkEngine(world.lake, session=_no_java, too_large=lambda *sizes: told.append(sizes))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A world in which nothing fits into memory."""
    monkeypatch.setattr(spark_engine, "SMALL", 100)
    monkeypatch.setattr(spark_engine, "memory_of", lambda _: 1000)


def _no_java() -> NoReturn:
    raise SparkError("no Java found", code="java.missing")


def _rows(engine: SparkEngine, sql: str) -> int:
    return sum(1 for result in engine.run(sql) for _ in result.rows)


def test_what_fits_is_for_duckdb(engine: SparkEngine, told: list[tuple[int, int]]) -> None:
    assert _rows(engine, GROUPS) == 100
    assert not told
    assert not engine.warnings


@pytest.mark.usefixtures("small")
def test_what_does_not_fit_is_for_spark_and_said(
    engine: SparkEngine, told: list[tuple[int, int]], world: World
) -> None:
    assert _rows(engine, GROUPS) == 100, "there is no Spark: DuckDB answers"
    stored = sum(file.stat().st_size for file in Path(world.home, "data").rglob("*.parquet"))
    assert told == [(stored, 1000)]
    assert engine.warnings == ["no Java found; DuckDB answers"]


@pytest.mark.usefixtures("small")
def test_what_lets_rows_pass_is_for_duckdb(engine: SparkEngine, told: list[tuple[int, int]]) -> None:
    for sql in ("show tables", "describe nginx_access_log", "select 1", "select count(*) from nginx_access_log"):
        assert _rows(engine, sql)
    assert not told


@pytest.mark.usefixtures("small")
def test_who_asks_for_spark_gets_no_other(world: World) -> None:
    with pytest.raises(SparkError, match="no Java"):
        _rows(SparkEngine(world.lake, session=_no_java), GROUPS)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select n from t", False),
        ("select count(*), sum(n) from t where n > 1", False),
        ("select n from t order by n limit 3", False),
        ("select n from t order by n", True),
        ("select n, count(*) from t group by n", True),
        ("select distinct n from t", True),
        ("select a.n from t a join t b using (n)", True),
        ("select row_number() over (partition by n order by n) from t", True),
        ("this is no SQL", False),
    ],
)
def test_operators_that_keep_rows(world: World, sql: str, expected: bool) -> None:
    connection = SparkEngine(world.lake, session=_no_java).connection
    connection.execute("create or replace table t as select uuid()::varchar as n from range(10)")
    assert holds_rows(connection, sql) is expected


def test_memory_is_duckdbs_limit(world: World) -> None:
    engine = SparkEngine(world.lake, limits=Limits(memory="1500MB"), session=_no_java)
    assert memory_of(engine.connection) == pytest.approx(1_500_000_000, rel=0.1)


def test_a_statement_that_is_stopped_starts_no_spark(world: World) -> None:
    asked: list[str] = []
    limits = Limits(seconds=0.3)
    engine = SparkEngine(world.lake, limits=limits, session=lambda: asked.append("session"), too_large=print)
    with pytest.raises(QueryError) as raised:
        _rows(engine, ENDLESS)
    assert raised.value.code == "query.timeout"
    assert not asked


def test_time_stops_a_spark_that_starts(world: World) -> None:
    given_up = threading.Event()

    def session() -> NoReturn:
        assert given_up.wait(60)
        raise SparkError("the JVM was killed before it was ready")

    begun = time.monotonic()
    engine = SparkEngine(world.lake, limits=Limits(seconds=0.3), session=session, give_up=given_up.set)
    with pytest.raises(QueryError) as raised:
        _rows(engine, "select 1")
    assert raised.value.code == "query.timeout"
    assert time.monotonic() - begun < 20
    assert not engine.is_starting


def test_a_server_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    lazy = LazySession(SessionOptions(home=tmp_path, remote="sc://127.0.0.1:1"))
    with lazy.lock:  # as whoever waits for the session holds it
        begun = time.monotonic()
        lazy.stop(0.1)
        assert time.monotonic() - begun < 10
    with pytest.raises(SparkError, match="stopped"):
        lazy.get()
