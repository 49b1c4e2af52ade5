"""Time and memory of a statement, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from smalllake import answer

from tailrace.core import QueryError, UsageError
from tailrace.lake.paths import Lake
from tailrace.query import limits
from tailrace.query.engine import Engine
from tailrace.query.limits import Limits

ENDLESS = "select count(*) from range(1000000000000) a, range(1000) b"
"Takes years."
SLOW_ROWS = "select i from range(1000000000000) t(i) where hash(i) % 1000000000 = 7"
"Has a row now and then."
LARGE = "select count(distinct i) from range(5000000) t(i)"


def engine(tmp_path: Path, **given: object) -> Engine:
    return Engine(Lake(tmp_path), limits=Limits(**given))  # type: ignore[arg-type]


@pytest.mark.parametrize("sql", [ENDLESS, SLOW_ROWS])
@pytest.mark.parametrize("sandboxed", [False, True])
def test_a_statement_ends_in_time(tmp_path: Path, sql: str, sandboxed: bool) -> None:
    made = engine(tmp_path, seconds=0.3, sandboxed=sandboxed)
    begun = time.monotonic()
    with pytest.raises(QueryError) as raised:
        answer(made, sql)
    assert raised.value.code == "query.timeout"
    assert time.monotonic() - begun < 20
    assert answer(made, "select 1") == [(1,)], "the next statement has its own time"


def test_a_statement_that_cannot_be_stopped_is_told_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one function makes at a go heeds no interrupt."""
    monkeypatch.setattr(limits, "_PATIENCE", 0.0)
    made = engine(tmp_path, seconds=0.3)
    for code in ("query.timeout", "query.busy"):
        with pytest.raises(QueryError) as raised:
            answer(made, ENDLESS)
        assert raised.value.code == code
    running = [thread for thread in threading.enumerate() if thread.name == "query"]
    while any(thread.is_alive() for thread in running):
        made.connection.interrupt()
        time.sleep(0.05)
    assert answer(made, "select 1") == [(1,)]


def test_time_to_find_files_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a lake that is far away they have to be fetched, too."""
    made = engine(tmp_path, seconds=0.2)
    steps: list[int] = []

    def slow(_: object, proceed: Callable[[], None]) -> None:
        for step in range(100):
            steps.append(step)
            time.sleep(0.05)
            proceed()

    monkeypatch.setattr(made.views, "make", slow)
    with pytest.raises(QueryError) as raised:
        answer(made, "select 1")
    assert raised.value.code == "query.timeout"
    assert len(steps) < 50


def test_time_in_which_nobody_asks_for_rows_does_not_count(tmp_path: Path) -> None:
    (result,) = engine(tmp_path, seconds=1.5).run("select i from range(5000) t(i)")
    first = next(result.rows)
    time.sleep(2)
    assert [first, *result.rows] == [(i,) for i in range(5000)]


@pytest.mark.parametrize("sandboxed", [False, True])
def test_a_statement_that_needs_too_much_memory_ends(tmp_path: Path, sandboxed: bool) -> None:
    made = engine(tmp_path, memory="40MB", sandboxed=sandboxed)
    if not sandboxed:
        # What is put on disk has its bound too; there is no need to reach it here.
        ((most,),) = answer(made, "select current_setting('max_temp_directory_size')")
        assert most == "381.0 MiB"
        made.connection.execute("SET max_temp_directory_size = '1MB'")
    with pytest.raises(QueryError) as raised:
        answer(made, LARGE)
    assert raised.value.code == "query.memory"
    assert "--memory" in (raised.value.hint or "")
    assert answer(made, "select 1") == [(1,)]


@pytest.mark.parametrize("memory", ["lots", "-5GB", "-1", "", "none", "5 elephants"])
def test_memory_that_cannot_be_read(tmp_path: Path, memory: str) -> None:
    with pytest.raises(UsageError, match=f"cannot read '{memory}'") as raised:
        engine(tmp_path, memory=memory)
    assert (raised.value.code, raised.value.exit_code) == ("usage.bad-memory", 2)


def test_ctrl_c_stops_a_statement(tmp_path: Path) -> None:
    made = engine(tmp_path)
    main = threading.main_thread().ident
    assert main is not None
    # What runs in the background of a shell is deaf to it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    begun = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            answer(made, ENDLESS)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begun < 20
    assert answer(made, "select 1") == [(1,)]


def test_the_rest_of_an_answer_can_be_given_up(tmp_path: Path) -> None:
    made = engine(tmp_path)
    (result,) = made.run("from range(1000000)")
    assert next(result.rows) == (0,)
    made.abandon()
    assert answer(made, "select 1") == [(1,)]
