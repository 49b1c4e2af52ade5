"""Questions to one year of CloudTrail: `tailrace query` beside plain DuckDB on the same files with hive partitioning.

    python benchmarks/year.py --rows 50000000 --root /somewhere --runs 3 --shape account

Runs alternate; each is a process of its own, from its start to its last row. Both have to give the same rows.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import report
from generate import DATA
from measure import Cost, measure
from run import CACHE
from year_lake import SHAPES, TABLE, Year, year

PLAIN = """
import csv, sys, duckdb
con = duckdb.connect()
con.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
files = f"{sys.argv[1]}/*/*/*/*.parquet"
con.execute(f"create view aws_cloudtrail_log as from read_parquet('{files}', hive_partitioning = true)")
answer = con.execute(sys.argv[2])
out = csv.writer(sys.stdout, lineterminator="\\n")
out.writerow([column[0] for column in answer.description])
while rows := answer.fetchmany(2000):
    out.writerows(rows)
"""
SURROUNDINGS = {**CACHE, "PYTHONDONTWRITEBYTECODE": ""}
"A command that was installed is compiled: one that runs from its source is so after its first run."
DAY = "tp_timestamp >= timestamp '2025-06-11' and tp_timestamp < timestamp '2025-06-12'"
FIRST_ROW = f"select tp_timestamp, event_name, aws_region from {TABLE} where {DAY}"
FIRST_ROW_RUNS = 7
FIRST_ROW_LIMIT = 4.0
"Times `import duckdb`."


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and how many times as long as DuckDB Tailrace may take."""

    name: str
    sql: str
    limit: float


def questions(needle: str) -> list[Question]:
    return [
        Question("one day, by time",
            f"select event_source, count(*) as n, count(error_code) as e from {TABLE} where {DAY} "
            "group by 1 order by 1", 0.2),
        Question("one day, by `tp_date`",
            f"select event_source, count(*) as n, count(error_code) as e from {TABLE} where tp_date = '2025-06-11' "
            "group by 1 order by 1", 1.1),
        Question("ten callers of a month",
            f"select user_identity.arn as arn, count(*) as n from {TABLE} "
            "where tp_date between '2025-03-01' and '2025-03-31' group by 1 order by n desc, arn limit 10", 1.1),
        Question("one `event_id`",
            f"select event_name, aws_region, user_identity.arn as arn from {TABLE} where event_id = '{needle}'", 0.2),
        Question("all rows",
            f"select event_source, event_name, count(*) as n, count(error_code) as e from {TABLE} "
            "group by 1, 2 order by 3 desc, 1, 2", 1.1),
    ]  # fmt: skip


def tailrace(of: Year, sql: str) -> list[str]:
    """The command a user would type."""
    return [str(Path(sys.executable).with_name("tailrace")), "--home", str(of.home), "query", sql, "--output", "csv"]


def plain(of: Year, sql: str) -> list[str]:
    return [sys.executable, "-c", PLAIN, str(of.data), sql]


def asked(command: list[str], cache: Mapping[str, str]) -> Cost:
    cost = measure(command, cache)
    if cost.returncode:
        sys.exit(f"{command}: exit code {cost.returncode}\n{cost.stderr}")
    return cost


def compared(of: Year, question: Question, runs: int) -> report.Result:
    """Medians, and what the first question ever cost, before anything was kept of the files."""
    ours: list[Cost] = []
    theirs: list[Cost] = []
    first = asked(tailrace(of, question.sql), SURROUNDINGS)
    asked(plain(of, question.sql), SURROUNDINGS)
    for _ in range(runs):
        ours.append(asked(tailrace(of, question.sql), SURROUNDINGS))
        theirs.append(asked(plain(of, question.sql), SURROUNDINGS))
    same = ours[-1].stdout.splitlines() == theirs[-1].stdout.splitlines()
    result: report.Result = {
        **_about(of, question.name), "limit": question.limit, "first_wall": round(first.wall, 3),
        "answer": len(ours[-1].stdout.splitlines()) - 1, "wrong": {} if same else {"rows": "differ"},
    }  # fmt: skip
    for who, costs in (("ours", ours), ("theirs", theirs)):
        result |= {
            f"{who}_wall": round(statistics.median(cost.wall for cost in costs), 3),
            f"{who}_cpu": round(statistics.median(cost.cpu for cost in costs), 3),
            f"{who}_rss": max(cost.peak_rss for cost in costs),
        }
    return result


def _about(of: Year, question: str) -> report.Result:
    files = sum(1 for path in of.data.rglob("*.parquet") if "_delta_log" not in path.parts)
    return {
        "name": f"{of.shape}: {question}", "shape": of.shape, "files": files, "question": question, "rows": of.rows
    }  # fmt: skip


def first_row(of: Year) -> report.Result:
    """From the start of the process to its first row, beside a Python that only loads DuckDB."""
    ours, theirs = [], []
    for _ in range(FIRST_ROW_RUNS):
        ours.append(_until_rows(tailrace(of, FIRST_ROW)))
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import duckdb"], check=True)
        theirs.append(time.perf_counter() - begun)
    return {
        **_about(of, "first row of one day"), "limit": FIRST_ROW_LIMIT, "answer": 1, "wrong": {},
        "ours_wall": round(statistics.median(ours), 3), "theirs_wall": round(statistics.median(theirs), 3),
    }  # fmt: skip


def _until_rows(command: list[str]) -> float:
    begun = time.perf_counter()
    environment = os.environ | SURROUNDINGS
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline(), process.stdout.readline()]
        taken = time.perf_counter() - begun
        process.stdout.close()
    if not all(lines):
        sys.exit(f"{command}: no rows")
    return taken


def main() -> None:
    """Ask, keep the results, write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--root", type=Path, default=DATA, help="where the lake is, or is made")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--shape", choices=SHAPES, default="account", help="a file a day for each account, or for all")
    parser.add_argument("--only", help="questions whose names hold this")
    parser.add_argument("--dry-run", action="store_true", help="print the figures and keep none")
    args = parser.parse_args()
    of = year(args.rows, args.root, args.shape)
    results = []
    for question in questions(of.needle):
        if args.only is None or args.only in question.name:
            results.append(compared(of, question, args.runs))
            print(json.dumps(results[-1]), flush=True)
    if args.only is None or args.only in "first row":
        results.append(first_row(of))
        print(json.dumps(results[-1]), flush=True)
    if not args.dry_run:
        report.keep_named("year", "name", results)
        report.write()


if __name__ == "__main__":
    main()
