"""The comparison in README.md, from the figures that the benchmarks have left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results"
JOBS = {
    "cloudtrail-1x": "CloudTrail, 400,000 events in 1,000 gz files",
    "nginx-1x": "nginx, 1 million lines",
    "vpc-1x": "VPC flow, 1 million lines",
    "cloudtrail-4x": "CloudTrail, 1.6 million events",
    "cloudtrail-16x": "CloudTrail, 6.4 million events",
    "nginx-16x": "nginx, 16 million lines",
    "vpc-16x": "VPC flow, 16 million lines",
}
ENGINES = {"duckdb": "DuckDB", "clickhouse": "ClickHouse", "spark": "plain Spark", "polars": "Polars"}
FORMS = {
    ("cloudtrail", "read_json"): "`read_json`, lean",
    ("cloudtrail", "lean"): "JSON by hand, lean",
    ("cloudtrail", "by_day"): "by day, lean",
}
SMALL = {("duckdb", "read_json"), ("duckdb", "same"), ("clickhouse", "same"), ("spark", "lean")}
"Shown at 1×, where every way of every engine is measured."
Result = dict[str, Any]


def comparison() -> str:
    """Whole commands beside each other, and the start of one."""
    rows = [row for name, job in JOBS.items() for row in _beside(job, name)]
    head = ["| job | Tailrace | beside | wall | CPU | memory |", "|---|--:|---|--:|--:|--:|"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in (*rows, _start()))])


def _beside(job: str, name: str) -> list[tuple[str, ...]]:
    results = _results(name)
    ours = next(result for result in results if result["engine"] == "tailrace")
    others = [r for r in results if r is not ours and (not name.endswith("-1x") or (r["engine"], r["form"]) in SMALL)]
    rows = sorted((_told(other), *_ratios(ours, other)) for other in others)
    return [(*((job, f"{ours['wall']:.1f} s") if number == 0 else ("", "")), *row) for number, row in enumerate(rows)]


def _told(result: Result) -> str:
    form = result["form"]
    return f"{ENGINES[result['engine']]}, {FORMS.get((result['job'], form), form)}"


def _ratios(ours: Result, other: Result) -> tuple[str, ...]:
    return tuple(f"{ours[key] / other[key]:.2f} ×" for key in ("wall", "cpu", "peak_rss"))


def _start() -> tuple[str, ...]:
    started = json.loads((RESULTS / "startup.json").read_text())
    (one,) = (result for result in started if result["ours"] == "tailrace collect, ten lines")
    ratio = f"{one['ours_seconds'] / one['theirs_seconds']:.2f} ×"
    return "`collect` of ten lines", f"{one['ours_seconds']:.1f} s", one["theirs"], ratio, "", ""


def _results(name: str) -> list[Result]:
    found: list[Result] = json.loads((RESULTS / f"{name}.json").read_text())["results"]
    return found
