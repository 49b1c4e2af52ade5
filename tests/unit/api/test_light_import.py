"""`import tailrace` costs nothing that is not used: every program pays for it, every Spark worker too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_HEAVY = {"pyarrow", "duckdb", "pyspark", "deltalake", "numpy", "pandas", "polars", "obstore", "click", "msgspec"}


def loaded(program: str) -> set[str]:
    code = f"import sys\n{program}\nprint(*sorted(name for name in sys.modules if '.' not in name))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_it_imports_nothing_heavy() -> None:
    assert not loaded("import tailrace; tailrace.__version__") & _HEAVY


def test_opening_a_lake_starts_no_engine() -> None:
    """What settings need is there; what reads tables is not."""
    found = loaded("import tailrace; lake = tailrace.open('/nowhere'); answer = lake.sql('select 1'); tailrace.Lake")
    assert not found & (_HEAVY - {"click", "msgspec"})


def test_its_names_are_there() -> None:
    import tailrace

    assert all(getattr(tailrace, name) is not None for name in tailrace.__all__)
    assert not hasattr(tailrace, "nothing")


def test_a_program_ends_without_a_word_of_what_duckdb_holds(tmp_path: Path) -> None:
    """A configuration is read after DuckDB's engine is there, and its package is imported after that."""
    config = tmp_path / "config" / "own.tpc"
    config.parent.mkdir()
    config.write_text('schema "recent" { start_date = "2024-05-01" }\n')
    program = f"import tailrace; print(tailrace.open({str(tmp_path)!r}).sql('from range(3)').rows())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert (done.stdout, done.stderr) == ("[(0,), (1,), (2,)]\n", "")
