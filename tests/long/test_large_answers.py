"""Ten million wide rows as an answer: written as they come, in bounded memory, and given up when nobody reads on."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from commandline import Home

Noted = Callable[[str, object], None]
ROWS = 10_000_000
MOST_MEMORY = 500_000_000
COLUMNS = """
    i as n, timestamp '2026-01-01' + to_seconds(i) as at, 'account-' || (i % 12) as account, md5(i::varchar) as id,
    to_json({'bucket': 'b' || (i % 40), 'key': repeat(md5((i % 1000)::varchar), 20)}) as request,
    ['10.0.' || (i % 250) || '.7', 'h' || (i % 9)] as hosts, {'type': 'Role', 'arn': 'arn:aws:iam::' || i} as caller
"""
"About a kilobyte a row."
PROGRAM = """
import sys
from tailrace.cli.main import run
try:
    run()
finally:
    sys.stderr.write(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
FORMS = ("csv", "jsonl", "parquet", "arrow")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    duckdb.sql(f"copy (select {COLUMNS} from range({ROWS}) r(i)) to '{path}' (compression zstd)")
    return path


def asked(home: Home, rows: Path, form: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "query", f"from read_parquet('{rows}')", "--output", form],
        env=home.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def memory_of(told: bytes) -> int:
    """The most that the process has held, in bytes."""
    return int(told.split()[-2]) << 10


@pytest.mark.parametrize("form", FORMS)
def test_all_rows(tmp_path: Path, rows: Path, form: str, record_property: Noted) -> None:
    size = last = 0
    with asked(Home(tmp_path), rows, form) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while piece := process.stdout.read(1 << 20):
            size += len(piece)
            last = piece.count(b"\n") + last
        told = process.stderr.read()
    assert process.returncode == 0, told
    if form in ("csv", "jsonl"):
        assert last == ROWS + (form == "csv")
    record_property(f"largest process, MB ({form})", memory_of(told) // 1_000_000)
    record_property(f"MB written ({form})", size // 1_000_000)
    assert memory_of(told) < MOST_MEMORY


@pytest.mark.parametrize("form", FORMS)
def test_a_pipe_that_closes(tmp_path: Path, rows: Path, form: str, record_property: Noted) -> None:
    """As `| head` does it; whole, the answer takes a minute or more."""
    with asked(Home(tmp_path), rows, form) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10_000)
        process.stdout.close()
        closed = time.monotonic()
        told = process.stderr.read()
    assert b"error" not in told.lower(), told
    assert time.monotonic() - closed < 15
    record_property("largest process whose pipe closed, MB", memory_of(told) // 1_000_000)
    assert memory_of(told) < MOST_MEMORY
