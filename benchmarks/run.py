"""Tailrace against other engines: the same logs to typed Parquet by day, every command from a cold start.

    python benchmarks/run.py --scale 1,4 --jobs cloudtrail,nginx --runs 3 --engines tailrace,duckdb

Runs of the engines alternate, so that a noisy hour hits all of them; medians are reported. What an engine
wrote is read back and compared with what the generator put in; a run with wrong sums is marked, not hidden.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import report
from comparators import FORMS
from comparators import JOBS as JOB_NAMES
from generate import DATA, dataset
from measure import Cost, measure
from verify import differences

HERE = Path(__file__).parent
RESULTS = HERE / "results"
ENGINES = ("tailrace", "duckdb", "clickhouse", "spark", "polars")
TABLES = {"cloudtrail": "aws_cloudtrail_log", "nginx": "nginx_access_log", "vpc": "aws_vpc_flow_log"}
_DAY = "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}"
LAYOUTS = {
    "cloudtrail": f"AWSLogs/%{{NUMBER:account_id}}/CloudTrail/%{{DATA:region}}/{_DAY}/%{{DATA}}.json.gz",
    "nginx": "%{DATA:host}/access.log-%{YEAR:year}%{MONTHNUM:month}%{MONTHDAY:day}.gz",
    "vpc": f"AWSLogs/%{{NUMBER:account_id}}/vpcflowlogs/%{{DATA:region}}/{_DAY}/%{{DATA}}.log.gz",
}
SHOWN = ("job", "scale", "engine", "form", "wall", "cpu", "peak_rss", "wrong")
CACHE = {"TAILRACE_CACHE_DIR": str(DATA / "cache"), "TAILRACE_ARCHIVE": "off"}
"The class archive is made beforehand, as a user's first command leaves it behind; no run makes one meanwhile."
CONTENDERS = {
    4: {
        "cloudtrail": ("duckdb lean", "duckdb same", "duckdb read_json", "clickhouse by_day"),
        "nginx": ("duckdb lean", "clickhouse lean"),
        "vpc": ("duckdb lean", "clickhouse lean"),
    },
    16: {
        "cloudtrail": ("clickhouse by_day",),
        "nginx": ("duckdb lean", "duckdb same", "clickhouse lean"),
        "vpc": ("duckdb lean", "duckdb same", "clickhouse lean"),
    },
}
"Whom Tailrace is compared with beyond 1×, where everything is run: the cheapest form of each, and what is asked about."


@dataclass(frozen=True, slots=True)
class Case:
    """One engine's way of doing one job at one scale."""

    job: str
    scale: int
    engine: str
    form: str


def tailrace_command(home: Path, job: str, logs: Path) -> list[str]:
    """The command a user would type, with its configuration written."""
    config = home / "config"
    config.mkdir(parents=True)
    (config / "bench.tpc").write_text(
        f'partition "{TABLES[job]}" "bench" {{\n  source "file" {{\n    paths = ["{logs}"]\n'
        f"    file_layout = `{LAYOUTS[job]}`\n  }}\n}}\n"
    )
    tailrace = str(Path(sys.executable).with_name("tailrace"))
    where = ["--home", str(home), "--config-path", str(config)]
    what = [f"{TABLES[job]}.bench", "--from", "2020-01-01", "--no-progress", "--output", "json"]
    return [tailrace, *where, "collect", *what]


def make_archive() -> None:
    """What the first command on a machine does in the background, waited for."""
    code = "from tailrace.pipeline.training import train; train()"
    subprocess.run([sys.executable, "-c", code], env=os.environ | CACHE, check=True)


def run_case(case: Case, scratch: Path) -> dict[str, object]:
    """Do a job once, in an empty place, and check what it wrote."""
    data, out = dataset(case.job, case.scale), scratch / "out"
    shutil.rmtree(out, ignore_errors=True)
    if case.engine == "tailrace":
        cost = measure(tailrace_command(out, case.job, data / "logs"), CACHE)
        table = out / "data" / "default" / f"tp_table={TABLES[case.job]}"
        files = [] if cost.returncode else _lake_files(table)
    else:
        script = [sys.executable, str(HERE / "comparators.py"), case.engine, case.job, case.form]
        cost = measure([*script, str(data / "logs"), str(out)])
        files = [str(path) for path in out.rglob("*.parquet")]
    result = _result(case, cost, files, data)
    shutil.rmtree(out, ignore_errors=True)
    return result


def _lake_files(table: Path) -> list[str]:
    """The files that the lake's log says are there; others do not count."""
    from deltalake import DeltaTable

    return DeltaTable(str(table)).file_uris()


def _result(case: Case, cost: Cost, files: list[str], data: Path) -> dict[str, object]:
    wrong: dict[str, object] = {}
    if cost.returncode:
        wrong = {"exit code": cost.returncode, "stderr": cost.stderr[-2000:]}
    elif files:
        wrong.update(differences(case.job, files, data))
    return {
        "job": case.job,
        "scale": case.scale,
        "engine": case.engine,
        "form": case.form,
        "wall": round(cost.wall, 3),
        "cpu": round(cost.cpu, 3),
        "peak_rss": cost.peak_rss,
        "peak_pss": cost.peak_pss,
        "rows": json.loads((data / "expected.json").read_text())["rows"],
        "files": len(files),
        "bytes_out": sum(Path(f).stat().st_size for f in files),
        "wrong": wrong or ({} if files else {"files": 0}),
    }


def cases(jobs: list[str], scales: list[int], engines: list[str], forms: list[str]) -> Iterator[Case]:
    """What there is to run, smallest first."""
    for scale in scales:
        for job in jobs:
            for engine in engines:
                for form in ("lake",) if engine == "tailrace" else FORMS.get((engine, job), ()):
                    chosen = form in forms if forms and engine != "tailrace" else planned(job, scale, engine, form)
                    if chosen:
                        yield Case(job, scale, engine, form)


def planned(job: str, scale: int, engine: str, form: str) -> bool:
    """Everything at 1×, the contenders beyond: about an hour in all on two cores."""
    return scale == 1 or engine == "tailrace" or f"{engine} {form}" in CONTENDERS.get(scale, {}).get(job, ())


def median(runs: list[dict[str, object]]) -> dict[str, object]:
    """The runs of one case as one: medians, peaks, and every wrong sum that was seen."""
    merged = dict(runs[-1])
    for key in ("wall", "cpu"):
        merged[key] = statistics.median(float(str(run[key])) for run in runs)
        merged[f"{key}s"] = [run[key] for run in runs]
    for key in ("peak_rss", "peak_pss"):
        merged[key] = max(int(str(run[key])) for run in runs)
    merged["wrong"] = next((run["wrong"] for run in runs if run["wrong"]), {})
    return merged


def main() -> None:
    """Run what the command line names, keep the results, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--jobs", default=",".join(JOB_NAMES))
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--forms", default="", help="only these forms of the comparators, such as lean,csv")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scratch", type=Path, help="where engines write; default: a temporary directory")
    args = parser.parse_args()
    engines, scales = args.engines.split(","), [int(s) for s in args.scale.split(",")]
    forms = [form for form in args.forms.split(",") if form]
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.scratch) as folder:
        if "tailrace" in engines:
            make_archive()
        for scale in scales:
            for job in args.jobs.split(","):
                todo = list(cases([job], [scale], engines, forms))
                dataset(job, scale)
                runs: dict[Case, list[dict[str, object]]] = {case: [] for case in todo}
                for turn in range(args.runs):
                    for case in todo:
                        result = run_case(case, Path(folder))
                        runs[case].append(result)
                        print(turn + 1, *(result[key] for key in SHOWN), flush=True)
                report.keep(RESULTS / f"{job}-{scale}x.json", [median(done) for done in runs.values()])
    report.write()


if __name__ == "__main__":
    main()
