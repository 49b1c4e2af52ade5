"""How long a person waits: commands of Tailrace, each beside the bare thing it stands on, or beside a smaller job."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import many
import report
from measure import Cost, measure
from run import CACHE, make_archive, tailrace_command
from synthetic_lines import nginx_lines

RUNS = 5
SHORT_RUNS = 21
SPARK = (
    "from pyspark.sql import SparkSession; s = SparkSession.builder.master('local[2]').getOrCreate(); "
    "print(s.range(10).selectExpr('sum(id)').collect())"
)
PASS = ("python -c pass", [sys.executable, "-c", "pass"])
TAILRACE = [sys.executable, "-m", "tailrace.cli.main"]


@dataclass(frozen=True, slots=True)
class Command:
    """What is run, and what the environment says besides."""

    name: str
    argv: list[str]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pair:
    """Ours beside another command, and how many times as long ours may take."""

    ours: Command
    theirs: Command
    limit: float


def ten_lines(root: Path) -> Path:
    """A directory that holds one log file of ten lines."""
    text, _ = nginx_lines(10, datetime(2026, 9, 1, tzinfo=UTC), np.random.default_rng(1))
    (root / "logs" / "web-00").mkdir(parents=True)
    (root / "logs" / "web-00" / "access.log-20260901.gz").write_bytes(gzip.compress(text))
    return root / "logs"


def engine_pairs(root: Path) -> list[Pair]:
    """Commands that start an engine."""
    logs = ten_lines(root)
    make_archive()
    tailrace, python = str(Path(sys.executable).with_name("tailrace")), [sys.executable, "-c"]
    collect = tailrace_command(root / "home", "nginx", logs)
    query = [tailrace, "--home", str(root / "home"), "query", "select 1"]
    return [
        Pair(
            Command("tailrace collect, ten lines", collect),
            Command("SparkSession + first job", [*python, SPARK]),
            0.6,
        ),
        Pair(
            Command('tailrace query "select 1"', query),
            Command('python -c "import duckdb"', [*python, "import duckdb"]),
            3,
        ),
    ]


def config_pairs(root: Path) -> list[Pair]:
    """Commands that only look at the configuration and at names."""
    help_ = [str(Path(sys.executable).with_name("tailrace")), "--help"]
    bare = Command(*PASS)
    thousand = many.partitions(root / "thousand", files=100, each=10)
    validate = [*TAILRACE, "config", "validate", "--config-path", str(thousand)]
    pairs = [
        Pair(Command("tailrace --help", help_), bare, 10),
        Pair(Command("tailrace config validate, 1,000 partitions in 100 files", validate), bare, 20),
    ]
    few, lots = (
        {"PYTHONPATH": str(many.with_tables(root / f"tables-{count}", count)), "TAILRACE_HOME": str(root / "no-home")}
        for count in (4, 500)
    )
    for arguments in (["--help"], ["table", "list"]):
        name = f"tailrace {' '.join(arguments)}"
        ours = Command(f"{name}, 500 tables built in", [*TAILRACE, *arguments], lots)
        pairs.append(Pair(ours, Command(f"{name}, 4 tables built in", [*TAILRACE, *arguments], few), 1.2))
    larger, smaller = (
        Command(
            f"tailrace table list, {count} table blocks",
            [*TAILRACE, "table", "list", "--config-path", str(many.table_blocks(root / f"blocks-{count}", count))],
            few,
        )
        for count in (500, 4)
    )
    return [*pairs, Pair(larger, smaller, 2)]


def cost_of(command: Command) -> Cost:
    """One run; what Python compiles is kept, as it is where a package is installed."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    cost = measure(command.argv, {**env, **CACHE, "PYTHONDONTWRITEBYTECODE": "", **command.env})
    if cost.returncode:
        sys.exit(f"{command.name}: exit code {cost.returncode}\n{cost.stderr}")
    return cost


def compared(pairs: list[Pair], root: Path) -> list[report.Result]:
    """Medians of runs that alternate within each pair."""
    costs = alternated(pairs, root, RUNS)
    seconds = {name: statistics.median(cost.wall for cost in found) for name, found in costs.items()}
    return results_of(pairs, seconds, f"wall, median of {RUNS}")


def compared_short(pairs: list[Pair], root: Path) -> list[report.Result]:
    """Of commands of one thread and a tenth of a second, whose wall time is that of whatever else runs here."""
    costs = alternated(pairs, root, SHORT_RUNS)
    seconds = {name: min(cost.cpu for cost in found) for name, found in costs.items()}
    return results_of(pairs, seconds, f"CPU, least of {SHORT_RUNS}")


def alternated(pairs: list[Pair], root: Path, runs: int) -> dict[str, list[Cost]]:
    """What each command took; a first run each warms the disk and is not counted."""
    costs: dict[str, list[Cost]] = {}
    for number in range(runs + 1):
        for pair in pairs:
            for command in (pair.ours, pair.theirs):
                # A collection is to be the first one each time.
                for part in ("data", "meta"):
                    shutil.rmtree(root / "home" / part, ignore_errors=True)
                taken = cost_of(command)
                if number:
                    costs.setdefault(command.name, []).append(taken)
    return costs


def results_of(pairs: list[Pair], seconds: Mapping[str, float], of: str) -> list[report.Result]:
    """Lines of the report."""
    return [
        {
            "ours": pair.ours.name,
            "ours_seconds": seconds[pair.ours.name],
            "theirs": pair.theirs.name,
            "theirs_seconds": seconds[pair.theirs.name],
            "limit": pair.limit,
            "of": of,
        }
        for pair in pairs
    ]


def main() -> None:
    """Compare, keep what was not measured this time, write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["engine", "config"], help="one part; without it, both")
    only = parser.parse_args().only
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        results = compared(engine_pairs(root), root) if only != "config" else []
        results += compared_short(config_pairs(root), root) if only != "engine" else []
    report.RESULTS.mkdir(exist_ok=True)
    path = report.RESULTS / "startup.json"
    earlier: list[report.Result] = json.loads(path.read_text()) if path.exists() else []
    fresh = {result["ours"] for result in results}
    path.write_text(json.dumps([r for r in earlier if r["ours"] not in fresh] + results, indent=1) + "\n")
    report.write()
    for result in results:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
