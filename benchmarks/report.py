"""Results as JSON files, one per job and scale, and all of them as tables in RESULTS.md."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import live_report
import report_parts
import report_windows
from report_parts import wrong

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PACKAGES = (
    "tailrace", "pyspark", "pyarrow", "deltalake", "duckdb", "datafusion", "chdb", "chdb-core", "polars", "msgspec",
    "ptars",
)  # fmt: skip
HEADINGS = ("engine", "form", "wall s", "CPU s", "µs CPU/row", "RSS MB", "PSS MB", "MB out", "files",
            "wall ratio", "CPU ratio", "wrong")  # fmt: skip
Result = dict[str, Any]

INTRO = """# Benchmarks

Made by the parts of `make bench`. The first sections, up to start-up, with objects, ran on a shared machine with
nothing else running; a figure is the median of three alternating runs (start-up and objects: as said
there) of a whole command from a cold start, process and JVM included. *CPU* is the sum over all processes, *RSS* the
highest sum of resident memory over all processes at one time (*PSS*: shared pages counted once). Ratios are
Tailrace ÷ the other: below 1 Tailrace is ahead.

- **cloudtrail**: 400,000 events (624 MB of JSON) in 1,000 gz files at 1×; **nginx**: 1,000,000 lines in 20 gz
  files; **vpc**: 1,000,000 lines in 100 gz files. 4× and 16×: as many times the rows and files, √ the days.
- `lake` is what Tailrace always does: typed columns, 19 shared columns, ids, sorted files, ledger, commit.
- `lean` is less: typed columns, partitioned by day, not sorted. `read_json`, `by_day`, `csv`: other ways to it.
- `same` adds an id, the place, addresses and order: the nearest to what the lake stores.
- Addresses are drawn about as Zipf has them. They were uniformly random at first; that was changed, for all engines
  alike, after a profile had shown that writing them dominated our own time. The figures of other engines on the first
  data are not kept.
- Formats, tables and what a log costs were measured on another day, with other work beside them now and then.
- One year was measured on a day on which the machine was slower by a third to a half, and short commands of other work
  ran beside it; compaction, live data and windows on one on which it was faster than ever and did nothing else: read
  the ratios. Twenty windows and 10,000 windows are single runs. Commits named there may have got another name since.
- What an engine wrote is read back and compared with what was generated; *wrong* names the sums that differ.
"""


def keep(path: Path, results: list[Result]) -> None:
    """Store what ran side by side; figures of other runs do not belong in the same table."""
    path.write_text(json.dumps({"machine": machine(), "results": results}, indent=1) + "\n")


def keep_named(name: str, key: str, results: list[Result]) -> None:
    """The same for results that are told apart by one value."""
    path = RESULTS / f"{name}.json"
    RESULTS.mkdir(exist_ok=True)
    earlier: list[Result] = json.loads(path.read_text())["results"] if path.exists() else []
    fresh = {result[key]: result for result in results}
    merged = [fresh.pop(result[key], result) for result in earlier] + list(fresh.values())
    path.write_text(json.dumps({"machine": machine(), "results": merged}, indent=1) + "\n")


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    cpu = next(
        (line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        "unknown",
    )
    memory = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    versions = {name: _version(name) for name in PACKAGES}
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 1e6),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": versions,
        "commit": commit(),
    }


def commit() -> str:
    """Which state of Tailrace was measured."""
    asked = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _table(results: list[Result]) -> list[str]:
    """One job at one scale."""
    ours = next((r for r in results if r["engine"] == "tailrace" and not wrong(r)), None)
    lines = [
        f"| {' | '.join(HEADINGS)} |",
        f"|---|---|{'--:|' * (len(HEADINGS) - 3)}---|",
    ]
    for r in sorted(results, key=lambda r: (r["engine"] != "tailrace", r["wall"])):
        compared = ours and r is not ours and not wrong(r)
        ratios = [f"{ours[k] / r[k]:.2f}" if ours and compared else "" for k in ("wall", "cpu")]
        numbers = (
            f"{r['wall']:.1f} | {r['cpu']:.1f} | {r['cpu'] / r['rows'] * 1e6:.1f} | "
            f"{r['peak_rss'] / 1e6:.0f} | {r['peak_pss'] / 1e6:.0f} | "
            f"{r['bytes_out'] / 1e6:.0f} | {r['files']}"
        )
        lines.append(f"| {r['engine']} | {r['form']} | {numbers} | {' | '.join(ratios)} | {', '.join(wrong(r))} |")
    return lines


def _scaling(by_scale: dict[int, list[Result]]) -> list[str]:
    """Cost per row of each engine as the job grows."""
    scales = sorted(by_scale)
    names = sorted({(r["engine"], r["form"]) for rs in by_scale.values() for r in rs})
    lines = [
        "| µs wall per row | " + " | ".join(f"{s}×" for s in scales) + " |",
        "|---|" + "--:|" * len(scales),
    ]
    for name in names:
        found = ([r for r in by_scale[s] if (r["engine"], r["form"]) == name] for s in scales)
        cells = [f"{rs[0]['wall'] / rs[0]['rows'] * 1e6:.2f}" if rs else "" for rs in found]
        lines.append(f"| {' '.join(name)} | {' | '.join(cells)} |")
    return lines


def write() -> None:
    """RESULTS.md from all JSON files there are."""
    text = [INTRO]
    by_job: dict[str, dict[int, list[Result]]] = {}
    facts: dict[str, Any] = {}
    commits: dict[tuple[str, int], str] = {}
    for path in sorted(RESULTS.glob("*-*x.json")):
        content = json.loads(path.read_text())
        facts = content["machine"]
        first = content["results"][0]
        by_job.setdefault(first["job"], {})[first["scale"]] = content["results"]
        commits[first["job"], first["scale"]] = facts["commit"]
    if facts:
        versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
        text.append(
            f"Machine: {facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']} GB, {facts['system']}, "
            f"Python {facts['python']}. Versions: {versions}.\n"
        )
    for job, by_scale in by_job.items():
        for scale in sorted(by_scale):
            text += [f"## {job} {scale}×\n", f"Measured on {commits[job, scale]}.\n", *_table(by_scale[scale]), ""]
        if len(by_scale) > 1:
            text += [*_scaling(by_scale), ""]
    startup = RESULTS / "startup.json"
    if startup.exists():
        text += ["## Start-up\n", *report_parts.startup(json.loads(startup.read_text())), ""]
    parts = (
        ("year", report_parts.year),
        ("compaction", report_parts.compaction),
        ("scaling", report_parts.log_costs),
        ("objects", report_parts.objects),
        ("formats", report_parts.formats),
        ("tables", report_parts.tables),
        ("live", live_report.section),
        ("windows", report_windows.windows),
    )
    for name, lines in parts:
        path = RESULTS / f"{name}.json"
        if path.exists():
            text += [*lines(json.loads(path.read_text())["results"]), ""]
    (HERE / "RESULTS.md").write_text("\n".join(text))


if __name__ == "__main__":
    write()
