"""Rules about the code itself that no linter knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 50
HEAVY = {"pyspark", "pyarrow", "duckdb", "deltalake", "numpy", "obstore"}

# What ties a job to a JVM in this process, or sends rows through the driver; functions that are called for each row.
BANNED = {"rdd", "_jvm", "sparkContext", "toPandas"}
BANNED_IMPORTS = {"udf", "pandas_udf"}

each_source = pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT / "src")))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def names_used(tree: ast.AST) -> set[str]:
    """Names and attributes that code reads or calls; setting one uses nothing."""
    nodes = (n for n in ast.walk(tree) if isinstance(n, ast.Attribute | ast.Name) and isinstance(n.ctx, ast.Load))
    return {n.attr if isinstance(n, ast.Attribute) else n.id for n in nodes} | names_imported(tree)


def names_imported(tree: ast.AST) -> set[str]:
    return {a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}


def test_files_are_short_and_say_what_is_inside() -> None:
    lengths = {str(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert not {path: lines for path, lines in lengths.items() if lines > MAX_FILE_LINES}
    assert not [path for path in SOURCES if path.stem in {"utils", "util", "helpers", "misc", "common"}]


@each_source
def test_functions_are_short_and_use_only_dataframes_and_sql(path: Path) -> None:
    tree = ast.parse(path.read_text())
    long = {
        f.name: lines
        for f in functions(tree)
        if (lines := (f.end_lineno or f.lineno) - f.lineno + 1) > MAX_FUNCTION_LINES
    }
    assert not long
    assert not names_used(tree) & BANNED
    assert not names_imported(tree) & BANNED_IMPORTS


@pytest.mark.parametrize("path", sorted((ROOT / "src/tailrace/cli").glob("*.py")), ids=lambda p: p.name)
def test_commands_import_late(path: Path) -> None:
    """What `--help` loads must not load an engine."""
    top = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.name for n in top if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module or "" for n in top if isinstance(n, ast.ImportFrom)}
    assert not {n.split(".")[0] for n in names} & HEAVY


def test_version_is_in_the_changelog() -> None:
    from tailrace import __version__

    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_every_constraint_is_one_pin() -> None:
    """`make` hands the file to pip, which refuses all of it for a single line it cannot read."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==[\w.+!]+", line)] == []
    names = [re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower() for line in lines]
    assert len(names) == len(set(names))
