"""What a window may take: time, memory, windows and files at once, and what becomes of one that takes more."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from otaptables import simple, write
from windowqueries import SAMPLED
from windowruns import MINUTE, results, run

from tailrace.cli.main import cli
from tailrace.config import load
from tailrace.core.errors import QueryError, UsageError
from tailrace.lake.place import LocalPlace
from tailrace.windows import run as running
from tailrace.windows.spec import read_spec
from tailrace.windows.unit import Unit

START = 1_790_000_040_000_000_000
ENDLESS = "SELECT count(*) AS n FROM range(1000000) a, range(1000000) b WHERE a.range % 7 = b.range % 11"
GREEDY = "SELECT len(list(repeat('x', 1000) || i)) AS n FROM range(60000) t(i)"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "in", *(simple("shop", ["a", "b"], time=START + n * MINUTE) for n in range(4)))
    return tmp_path


def test_settings_reach_the_window(tmp_path: Path) -> None:
    config = tmp_path / "a.tpc"
    config.write_text(
        """window "w" {
  base_uri      = "/in"
  query_timeout = "90s"
  sampling { adjusted_count_type = "double" }
  performance {
    max_concurrent_windows    = 3
    max_concurrent_files      = 5
    memory_limit              = "64MB"
    enable_arrow_optimization = false
  }
  output { path = "/out" }
}"""
    )
    loaded = load([config], now=None, environ={})  # type: ignore[arg-type]
    assert [warning.code for warning in loaded.warnings] == []
    spec = read_spec(loaded.of("window")[0])
    assert (spec.query_timeout, spec.memory_limit, spec.count_as_double) == (90.0, 64_000_000, True)
    assert (spec.concurrent_windows, spec.concurrent_files) == (3, 5)


def test_a_query_that_takes_too_long_is_stopped(root: Path) -> None:
    began = time.monotonic()
    with pytest.raises(QueryError, match=r"stopped after 0\.2 s") as failure:
        run(root, query=ENDLESS, query_timeout=0.2)
    assert time.monotonic() - began < 20
    assert (failure.value.code, failure.value.where) == ("window.timeout", "window=20260921T141400Z")
    assert results(root) == {}
    assert not [thread for thread in threading.enumerate() if thread.name == "query-timeout"]
    # The connection is not the worse for it, and the windows are still to come.
    assert run(root, query_timeout=30.0).state.windows == 4


def test_a_query_that_fails_names_its_window(root: Path) -> None:
    with pytest.raises(QueryError) as failure:
        run(root, query="SELECT nothing FROM logs")
    assert (failure.value.code, failure.value.where) == ("query.failed", "window=20260921T141400Z")


def test_memory_is_limited(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    with pytest.raises(QueryError, match="memory") as failure:
        run(root, query=GREEDY, memory_limit=20_000_000)
    assert failure.value.code == "query.memory"
    assert "memory_limit" in str(failure.value.hint)
    # What does not fit is put on disk where that helps, and not where the command happens to run.
    spilling = "SELECT count(*) AS n FROM (SELECT DISTINCT i, repeat('x', 40) || i FROM range(200000) t(i))"
    assert run(root, query=spilling, memory_limit=20_000_000).state.windows == 4
    assert not (root / ".tmp").exists()
    assert run(root, query=GREEDY, memory_limit=2_000_000_000).state.windows == 4


@pytest.mark.parametrize(("most", "expected"), [(1, 1), (3, 3)])
def test_windows_under_way(most: int, expected: int, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = running.run_unit
    under_way: list[int] = []
    seen: list[int] = []

    def watched(unit: Unit) -> Any:
        under_way.append(1)
        seen.append(len(under_way))
        time.sleep(0.2)
        done = whole(unit)
        under_way.pop()
        return done

    monkeypatch.setattr(running, "run_unit", watched)
    made = run(root, concurrent_windows=most)
    assert (made.state.windows, max(seen)) == (4, expected)
    last = made.state.last
    assert last is not None
    assert [done.start for done in last.windows] == [START + n * MINUTE for n in range(4)]


@dataclass(frozen=True, slots=True)
class Bucket(LocalPlace):
    """A directory that answers as slowly as a bucket does."""

    @property
    def is_local(self) -> bool:
        return False

    def open(self, name: str) -> pa.NativeFile:
        OPEN.append(name)
        SEEN.append(len(OPEN))
        time.sleep(0.05)
        OPEN.remove(name)
        return LocalPlace.open(self, name)


OPEN: list[str] = []
SEEN: list[int] = []


@pytest.mark.parametrize(("most", "expected"), [(1, 1), (2, 2)])
def test_files_read_at_a_time(most: int, expected: int, tmp_path: Path) -> None:
    for name in ("shop", "bank", "post"):
        write(tmp_path / "in", simple(name, ["a", "b"], time=START))
    SEEN.clear()
    made = run(tmp_path, base=Bucket(str(tmp_path / "in")), concurrent_files=most)
    assert (made.state.logs, max(SEEN)) == (6, expected)


def test_counts_as_numbers(root: Path) -> None:
    run(root, query=SAMPLED, form="otap_parquet", count_as_double=True)
    files = sorted((root / "out" / "log_attrs").rglob("*.parquet"))
    rows = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    counts = [row for row in rows if row["key"] == "sampling.adjusted_count"]
    assert [(row["type"], row["str"], row["double"]) for row in counts] == [(3, None, 1.0)] * 8
    # Nothing else has changed.
    assert {row["type"] for row in rows if row["key"] == "n"} == {2}


def test_a_failure_is_counted(root: Path) -> None:
    (root / "config").mkdir()
    (root / "config" / "w.tpc").write_text(
        f'window "slow" {{\n  base_uri = "{root}/in"\n  query = "{ENDLESS}"\n  query_timeout = "200ms"\n'
        f'  output {{ path = "{root}/out" }}\n}}\n'
    )
    page = root / "metrics.prom"
    arguments = ["window", "run", "--until", "2026-09-21T14:15:00Z", "--metrics-file", str(page), "--home", str(root)]
    for _ in range(2):
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 1
        assert str(done.exception) == "window=20260921T141400Z: the query was stopped after 0.2 s"
    assert 'tailrace_window_failures_total{code="window.timeout",window="slow"} 2\n' in page.read_text()


def test_units_are_as_many_as_windows_may_be_under_way(root: Path) -> None:
    """Threads have connections of their own: results are those of one thread."""
    run(root, concurrent_windows=1)
    alone = results(root)
    other = root / "other"
    other.mkdir()
    (other / "in").symlink_to(root / "in")
    run(other, concurrent_windows=4)
    assert results(other) == alone != {}


def test_a_disk_that_is_full_is_told_by_what_was_to_be_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for place, name in (("out", "create"), ("state", "put_if_absent")):
        with monkeypatch.context() as patched:
            patched.setattr(LocalPlace, name, full)
            with pytest.raises(UsageError, match="No space left on device") as failure:
                run(root)
        assert str(root / place) in str(failure.value)
    with monkeypatch.context() as patched:
        patched.setattr(running, "Catalog", _no_catalog)
        with pytest.raises(UsageError, match="disk is full") as failure:
            run(root)
    assert str(root / "state") in str(failure.value)
    assert run(root).state.windows == 4


def _no_catalog(*_: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")
