"""A query that looks at no table needs DuckDB alone: Arrow and Delta cost more to import than it does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from commandline import Home
from smalllake import made_in

_PROGRAM = """
import sys
from tailrace.cli.main import run
try:
    sys.argv[1:1] = ["query"]
    run()
finally:
    print(*sorted(name for name in sys.modules if "." not in name))
"""
_HEAVY = {"duckdb", "pyarrow", "deltalake", "pyspark", "numpy", "pandas", "obstore", "boto3", "prompt_toolkit", "gzip"}


_CONFIGS = {
    "none": "",
    "schema": 'schema "recent" {\n  tables = ["nginx_access_log"]\n}\n',
    "tiers": 'store "default" {\n  tier "old" {\n    path = "s3://bucket/old"\n  }\n}\n',
    "remote": 'workspace "default" {\n  path = "s3://bucket/lake"\n}\n',
}


@pytest.mark.parametrize("config", _CONFIGS)
def test_nothing_but_duckdb_is_imported(tmp_path: Path, config: str) -> None:
    (tmp_path / "lake.hcl").write_text(_CONFIGS[config])
    options = ["--config-path", "lake.hcl"] if _CONFIGS[config] else []
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, "select 1", *options],
        env={"HOME": str(tmp_path), "TAILRACE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "_duckdb" in loaded, done.stderr
    assert not loaded & _HEAVY


def test_the_second_question_to_a_table_needs_duckdb_alone(tmp_path: Path) -> None:
    """The first reads the log with Arrow, which would import pandas, where there is one."""
    environment = Home(made_in(tmp_path).home).environment() | {"TAILRACE_CACHE_DIR": str(tmp_path / "cache")}
    question = "select n from hits where n = 3 and tp_timestamp < '2024-04-01' and tp_index like '1%'"
    found = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, question, "--output", "csv", "--from", "2024-03-29", "--index", "1*"],
            env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        *answer, modules = done.stdout.splitlines()
        assert answer == ["n", "3"], done.stderr
        found.append(set(modules.split()))
    assert {"_duckdb", "pyarrow", "deltalake"} <= found[0]
    assert not found[0] & {"pandas", "pyspark", "obstore", "boto3"}
    assert "_duckdb" in found[1]
    assert not found[1] & _HEAVY
    assert not found[1] & {"msgspec", "sqlglot", "isal", "difflib"}


def test_a_configuration_that_declares_nothing_is_not_parsed(tmp_path: Path) -> None:
    home = Home(made_in(tmp_path).home)
    partition = 'partition "aws_cloudtrail_log" "p" {\n  source "file" {\n    paths = ["/nowhere"]\n  }\n}\n'
    program = _PROGRAM.replace('if "." not in name', 'if name == "tailrace.config.load"')
    for config, is_parsed in ((partition, False), (partition + 'schema "s" {\n}\n', True)):
        home.configure(config)
        done = subprocess.run(
            [sys.executable, "-c", program, "select count(*) from hits"],
            env=home.environment(), capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert "72" in done.stdout, done.stderr
        assert ("tailrace.config.load" in done.stdout) == is_parsed


def test_nothing_is_drawn_between_rows() -> None:
    """DuckDB takes a Python that runs no file for somebody at a terminal."""
    program = """
from tailrace.query.opening import opened
print(opened().execute("SELECT current_setting('enable_progress_bar')").fetchall())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[(False,)]\n", done.stderr


_ENDS = """
import atexit, sys, threading, time
from tailrace.cli.main import main
atexit.register(print, "asked to be called")
def works():
    time.sleep(0.5)
    print("has worked")
if sys.argv.pop(1) == "thread":
    threading.Thread(target=works).start()
main()
print("never")
"""


@pytest.mark.parametrize(("sql", "code"), [("select 7 as n", 0), ("select nothing", 1), ("", 2)])
@pytest.mark.parametrize("thread", ["", "thread"])
def test_the_program_ends_at_once_but_not_too_soon(tmp_path: Path, sql: str, code: int, thread: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ENDS, thread, "query", sql, "--output", "csv"],
        env=Home(tmp_path).environment(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    rows = ["n", "7"] if code == 0 else []
    works = ["has worked"] if thread else []
    *told, last = done.stdout.splitlines()
    assert (sorted(told), last) == (sorted([*rows, *works]), "asked to be called"), done.stderr
    assert done.returncode == code
    assert bool(done.stderr) == bool(code)
