"""`tailrace query` as a program: pipes and signals."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from commandline import Home
from smalllake import made_in

ENDLESS = "select count(*) from range(1000000000000) a, range(1000) b;"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(made_in(tmp_path_factory.mktemp("query")).home)


@pytest.mark.parametrize("form", ["csv", "jsonl", "table", "markdown"])
def test_a_pipe_that_closes_early(filled: Home, form: str) -> None:
    with filled.start("query", "select i from range(100000000) t(i)", "--output", form) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(120) == 141
        assert process.stderr.read() == ""


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_pipe_that_closes_early_on_bytes(filled: Home, form: str) -> None:
    with filled.start("query", "select i, hash(i) from range(100000000) t(i)", "--output", form) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.buffer.read(4)
        process.stdout.close()
        assert process.wait(120) == 141
        assert process.stderr.read() == ""


def test_ctrl_c(filled: Home) -> None:
    with filled.start("query", ENDLESS) as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (130, "interrupted\n")


def test_time_and_spark_that_has_to_start(filled: Home) -> None:
    """What was stopped is over; the next statement has a Spark of its own."""
    done = filled.run("query", "--engine", "spark", "--timeout", "1s", "select 1")
    assert (done.code, done.out) == (1, "")
    assert "error[query.timeout]: stopped after 1 s" in done.err


@pytest.mark.parametrize("seconds", [1, 6])
def test_spark_after_one_that_was_given_up(filled: Home, seconds: int) -> None:
    """Where its JVM had started, and where a session was being made of it."""
    program = f"""
import threading, time
from tailrace.cli.engines import QuerySession
from tailrace.cli.options import Context
from tailrace.core.errors import SparkError

session, told = QuerySession(Context(home={str(filled.path)!r})), []
def wait():
    try:
        session.get()
    except SparkError as error:
        told.append(error.code)
waiting = threading.Thread(target=wait)
waiting.start()
time.sleep({seconds})
begun = time.monotonic()
session.give_up()
waiting.join(60)
print(time.monotonic() - begun < 30, session.get().sql("select 41 + 1").collect()[0][0])
session.stop()
"""
    done = subprocess.run([sys.executable, "-c", program], env=filled.environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True 42\n"), done.stderr


def test_errors_have_a_code(filled: Home) -> None:
    for sql, told in (("select nonsense", "error[query]"), ("copy hits to 'x.csv'", "error[query.not-allowed]")):
        done = filled.run("query", sql)
        assert (done.code, done.out) == (1, "")
        assert told in done.err


def test_what_was_written_into_a_database_is_in_its_file(filled: Home, tmp_path: Path) -> None:
    """And not in a log beside it, which whoever takes the file elsewhere leaves behind: be the last statement wrong."""
    path = tmp_path / "own.duckdb"
    sql = f"attach '{path}' as own; create table own.t as select count(*) as n from hits; from own.nothing"
    with filled.start("query", "--write", str(path), sql) as process:
        process.communicate(timeout=120)
    assert process.returncode == 1
    assert [file.name for file in tmp_path.iterdir()] == ["own.duckdb"]
    with duckdb.connect(path, read_only=True) as own:
        assert own.execute("select count(*) from t").fetchall() == [(1,)]
