"""How long a person waits: three commands of Tailrace, each beside the bare thing it stands on."""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import report
from measure import measure
from run import CACHE, make_archive, tailrace_command
from synthetic_lines import nginx_lines

RUNS = 5
SPARK = (
    "from pyspark.sql import SparkSession; s = SparkSession.builder.master('local[2]').getOrCreate(); "
    "print(s.range(10).selectExpr('sum(id)').collect())"
)


def ten_lines(root: Path) -> Path:
    """A directory that holds one log file of ten lines."""
    text, _ = nginx_lines(10, datetime(2026, 9, 1, tzinfo=UTC), np.random.default_rng(1))
    (root / "logs" / "web-00").mkdir(parents=True)
    (root / "logs" / "web-00" / "access.log-20260901.gz").write_bytes(gzip.compress(text))
    return root / "logs"


def commands(root: Path, logs: Path) -> list[tuple[str, list[str], str, list[str], float]]:
    """What is compared: name and command of ours, name and command beside it, the ratio allowed."""
    tailrace = str(Path(sys.executable).with_name("tailrace"))
    shutil.rmtree(root / "home", ignore_errors=True)
    collect = tailrace_command(root / "home", "nginx", logs)
    python = [sys.executable, "-c"]
    query = [tailrace, "--home", str(root / "home"), "query", "select 1"]
    return [
        ("tailrace collect, ten lines", collect, "SparkSession + first job", [*python, SPARK], 0.6),
        ("tailrace --help", [tailrace, "--help"], "python -c pass", [*python, "pass"], 10),
        ('tailrace query "select 1"', query, 'python -c "import duckdb"', [*python, "import duckdb"], 3),
    ]


def main() -> None:
    """Alternate each pair, keep the medians, write the report."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        logs = ten_lines(root)
        make_archive()
        walls: dict[str, list[float]] = {}
        for _ in range(RUNS):
            for ours, command, theirs, other, _ in commands(root, logs):
                for name, argv in ((ours, command), (theirs, other)):
                    cost = measure(argv, CACHE)
                    if cost.returncode:
                        sys.exit(f"{name}: exit code {cost.returncode}\n{cost.stderr}")
                    walls.setdefault(name, []).append(cost.wall)
        pairs = [
            {
                "ours": ours,
                "ours_wall": statistics.median(walls[ours]),
                "theirs": theirs,
                "theirs_wall": statistics.median(walls[theirs]),
                "limit": limit,
            }
            for ours, _, theirs, _, limit in commands(root, logs)
        ]
    report.RESULTS.mkdir(exist_ok=True)
    (report.RESULTS / "startup.json").write_text(json.dumps(pairs, indent=1) + "\n")
    report.write()
    for pair in pairs:
        print(json.dumps(pair))


if __name__ == "__main__":
    main()
