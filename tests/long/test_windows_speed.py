"""Speed and memory of windows, beside DuckDB on the same files; numbers are those of the list in docs/windows.md.

Small enough to be run with the others: `benchmarks/windows.py` has ten million logs.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from windowruns import places, spec_at

from tailrace.windows.run import WindowRun
from tailrace.windows.spec import Temporal

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from windows_inputs import MINUTE, START, write
from windows_sql import QUERIES, connected, plain

Record = Callable[[str, object], None]
WINDOWS, LOGS = 10, 100_000


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("otap")
    write(made, WINDOWS, LOGS, 1_000_000)
    return made


@pytest.mark.parametrize("name", QUERIES)
def test_a38_a_million_logs_and_six_million_attributes(
    name: str, base: Path, tmp_path: Path, record_property: Record
) -> None:
    (tmp_path / "in").symlink_to(base)
    spec = spec_at(tmp_path, query=QUERIES[name], form="parquet", temporal=Temporal(MINUTE, 0))
    run = WindowRun(spec, places(tmp_path))
    run.run(START + MINUTE)
    began = time.perf_counter()
    run.run(START + WINDOWS * MINUTE)
    ours = time.perf_counter() - began
    connection = connected(base)
    began = time.perf_counter()
    for number in range(1, WINDOWS):
        connection.execute(f"COPY ({plain('duckdb', name, number)}) TO '{tmp_path}/duckdb-{number}.parquet'")
    theirs = time.perf_counter() - began
    last = run.state.last
    assert last is not None
    rows = sum(done.rows for done in last.windows)
    record_property(f"{name}: milliseconds a window", round(1000 * ours / (WINDOWS - 1)))
    record_property(f"{name}: milliseconds of DuckDB alone", round(1000 * theirs / (WINDOWS - 1)))
    record_property(f"{name}: rows a second", round(rows / ours))
    record_property("largest process, MB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    assert rows > 0
    # The bound is loose: other work on the machine is not to fail it. The figures are the result.
    assert ours <= 6 * theirs + 5
