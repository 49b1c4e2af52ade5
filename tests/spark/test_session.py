from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tailrace.core.errors import TailraceError
from tailrace.pipeline.failure import spark_failure
from tailrace.pipeline.session import SessionOptions, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGIN = """
import os, sys, time
from pathlib import Path
from tailrace.pipeline.session import SessionOptions, close_session, open_session, start_driver
options = SessionOptions("local[2]", home=Path(sys.argv[1]))
def same(batches):
    yield from batches
def slow(batches):
    open(sys.argv[1] + "/working", "w").close()
    time.sleep(60)
    yield from batches
def count(spark, function):
    return len(spark.range(0, 4, 1, 4).mapInArrow(function, "id long").collect())
"""


def start(home: Path, program: str) -> subprocess.Popen[str]:
    # Spark's workers import this module too, and do not know where the tests' own modules are.
    from commandline import heeds_interrupts

    code = BEGIN.replace("sys.argv[1]", repr(str(home))) + textwrap.dedent(program)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heeds_interrupts,
    )


def wait_for(what: str, holds: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def processes_of(home: Path) -> list[str]:
    """Command lines of all processes that were started with this home in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"TAILRACE_TEST_MARK={home}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
        except OSError:
            continue
    return found


@pytest.fixture
def marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAILRACE_TEST_MARK", str(tmp_path))
    return tmp_path


def modules(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import threading

    for _ in batches:
        loaded = [name for name in ("duckdb", "msgspec", "deltalake", "obstore") if name in sys.modules]
        threads = len(os.listdir("/proc/self/task")) if sys.platform == "linux" else threading.active_count()
        yield pa.RecordBatch.from_pylist([{"loaded": ",".join(loaded), "threads": threads, "python": sys.executable}])


def die(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    os.kill(os.getpid(), signal.SIGKILL)
    yield from batches


def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    raise ValueError("bad day")
    yield from batches


def ends_at(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        time.sleep(0.4)
        yield pa.RecordBatch.from_pylist([{"at": time.monotonic()}] * batch.num_rows)


def test_a_small_job_does_not_wait_for_all_tasks_of_a_large_one(spark: SparkSession) -> None:
    def job(tasks: int) -> list[float]:
        return sorted(spark.range(0, tasks, 1, tasks).mapInArrow(ends_at, "at double").toArrow()["at"].to_pylist())

    job(2)
    with ThreadPoolExecutor() as pool:
        large = pool.submit(job, 16)
        time.sleep(0.5)
        (small,) = job(1)
    assert small < large.result()[-4]


def test_settings(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.range(3).count() == 3


def test_workers_are_forked_with_modules_but_without_threads(spark: SparkSession) -> None:
    # Workers with other variables are other workers: those that are there already may have run anything.
    spark.conf.set("spark.sql.execution.pyspark.udf.faulthandler.enabled", "true")
    try:
        rows = spark.range(0, 2, 1, 2).mapInArrow(modules, "loaded string, threads long, python string").collect()
    finally:
        spark.conf.unset("spark.sql.execution.pyspark.udf.faulthandler.enabled")
    assert {row.loaded for row in rows} == {"duckdb,msgspec"}
    assert {row.threads for row in rows} == {1}
    assert {row.python for row in rows} == {sys.executable}


def test_open_session_is_shared(spark: SparkSession) -> None:
    assert open_session(SessionOptions(master="local[1]")) is spark


def test_no_variables_left_behind(spark: SparkSession) -> None:
    assert not [name for name in os.environ if name.startswith(("PYSPARK_GATEWAY", "_PYSPARK"))]


def test_killed_worker_is_named_and_the_session_lives_on(spark: SparkSession, spark_home: Path) -> None:
    with pytest.raises(Exception, match="worker") as caught:
        spark.range(1).mapInArrow(die, "id long").collect()
    assert spark_failure(caught.value).code == "spark.worker-died"
    assert spark.range(3).count() == 3
    assert "Python worker exited" in (spark_home / "logs" / "spark.log").read_text()


def test_exception_in_a_task_is_told_in_one_line(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="bad day") as caught:
        spark.range(1).mapInArrow(fail, "id long").collect()
    assert spark_failure(caught.value).message == "ValueError: bad day"


def test_nothing_on_the_terminal_and_a_second_session_after_the_first(marked: Path) -> None:
    run = start(
        marked,
        """
        for _ in range(2):
            spark = open_session(options, start_driver(options))
            print(count(spark, same))
            close_session(spark)
        time.sleep(1.5)
        """,
    )
    out, err = run.communicate(timeout=120)
    assert (run.returncode, out, err) == (0, "4\n4\n", "")
    assert (marked / "logs" / "spark.log").stat().st_size > 0
    wait_for("processes outlive the session", lambda: not processes_of(marked))


def test_kill_9_leaves_no_process(marked: Path) -> None:
    run = start(marked, "count(open_session(options), slow)")
    wait_for("the job does not start", (marked / "working").exists)
    assert len(processes_of(marked)) >= 4
    run.kill()
    wait_for("processes outlive kill -9", lambda: not processes_of(marked), 20)
    run.communicate()


def test_interrupt_ends_quickly_and_without_a_stack_of_java(marked: Path) -> None:
    run = start(
        marked,
        """
        from tailrace.pipeline.session import session
        try:
            with session(options) as spark:
                count(spark, slow)
        except KeyboardInterrupt:
            sys.exit(130)
        """,
    )
    wait_for("the job does not start", (marked / "working").exists)
    os.killpg(run.pid, signal.SIGINT)
    begun = time.monotonic()
    out, err = run.communicate(timeout=20)
    assert (run.returncode, out, err) == (130, "", "")
    assert time.monotonic() - begun < 10
    wait_for("processes outlive Ctrl-C", lambda: not processes_of(marked), 20)


def test_impossible_setting_is_a_clear_error(marked: Path) -> None:
    run = start(
        marked,
        """
        from tailrace.core.errors import TailraceError
        try:
            open_session(SessionOptions("local[2]", home=options.home, conf={"spark.driver.memory": "lots"}))
        except TailraceError as error:
            print(error.exit_code, error.code, "|", error)
        """,
    )
    out, err = run.communicate(timeout=60)
    assert err == ""
    assert out.startswith("5 spark.start | ")
    assert "Invalid maximum heap size" in out
    assert str(marked / "logs" / "spark.log") in out


def test_unknown_remote_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.pipeline.connect._importable", lambda module: module != "grpc")
    with pytest.raises(TailraceError, match="grpc") as caught:
        open_session(SessionOptions(remote="sc://localhost:1"))
    assert caught.value.code == "spark.connect-packages"
