"""The same jobs done by other engines, each at its best: from raw logs to typed Parquet by day.

    python benchmarks/comparators.py ENGINE JOB FORM LOGS OUT

FORM `lean` makes the table's columns and the day; another way to that is a form of its own. `same` also makes
what the lake stores beside them: an id, the time, the place and the addresses, sorted by time.
One process does one job: nothing is warm, all is counted.
"""

from __future__ import annotations

import importlib
import sys

JOBS = ("cloudtrail", "nginx", "vpc")
FORMS = {
    ("duckdb", "cloudtrail"): ("lean", "read_json", "same"),
    ("duckdb", "nginx"): ("lean", "csv", "same"),
    ("duckdb", "vpc"): ("lean", "same"),
    ("clickhouse", "cloudtrail"): ("lean", "by_day", "same"),
    ("clickhouse", "nginx"): ("lean", "same"),
    ("clickhouse", "vpc"): ("lean", "same"),
    ("spark", "cloudtrail"): ("lean",),
    ("spark", "nginx"): ("lean",),
    ("spark", "vpc"): ("lean",),
    ("polars", "nginx"): ("lean",),
    ("polars", "vpc"): ("lean",),
}
"Engine and job → the ways it is done."


def main() -> None:
    """Do one job."""
    engine, job, form, logs, out = sys.argv[1:]
    jobs = importlib.import_module(f"engine_{engine}")
    run = getattr(jobs, job if form in ("lean", "same") else f"{job}_{form}")
    run(logs, out, form == "same")


if __name__ == "__main__":
    main()
