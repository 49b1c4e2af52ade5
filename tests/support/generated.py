"""Small data sets of the benchmarks' generator."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path


def generate(root: Path, call: str) -> list[str]:
    """The texts of the files that `generate.<call>` writes below `root`, in order of their paths.

    >>> generate(tmp_path, "write_vpc(root, rows=4000, files=4, days=2)")
    """
    benchmarks = Path(__file__).parents[2] / "benchmarks"
    script = f"from pathlib import Path; import generate; root = Path({str(root)!r}); generate.{call}"
    subprocess.run([sys.executable, "-c", script], cwd=benchmarks, check=True)
    return [gzip.decompress(file.read_bytes()).decode() for file in sorted(root.rglob("*.gz"))]
