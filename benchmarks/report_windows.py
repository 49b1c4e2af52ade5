"""The section of RESULTS.md on windows."""

from __future__ import annotations

from typing import Any

Result = dict[str, Any]


def windows(results: list[Result]) -> list[str]:
    parts = {result["part"]: result for result in results}
    lines = [
        "## Windows\n",
        "OTAP tables, six attributes a log, 100,000 logs in a window of a minute; DuckDB and DataFusion with the",
        "equivalent SQL on the same files in the same run. Engines have two threads, Tailrace has two. Seconds.",
    ]
    for name, section in (("single", _single), ("batch", _batch), ("tiny", _tiny), ("sampling", _sampling),
                          ("codecs", _codecs)):  # fmt: skip
        if name in parts:
            lines += ["", *section(parts[name]), f"Measured on {parts[name]['commit']}."]
    return lines


def _met(result: Result) -> str:
    return "yes" if result["met"] else "**no**"


def _single(found: Result) -> list[str]:
    lines = [
        f"**One warm window** of tables with {found['logs']:,} logs and {found['attributes']:,} attributes; Tailrace",
        "writes protobuf, DuckDB Parquet, DataFusion gathers rows. Asked: DuckDB + 0.5 s.\n",
        "| query | Tailrace | DuckDB | DataFusion | met |",
        "|---|--:|--:|--:|---|",
    ]
    for name, r in found["queries"].items():
        lines.append(f"| {name} | {r['tailrace']:.2f} | {r['duckdb']:.2f} | {r['datafusion']:.2f} | {_met(r)} |")
    return [*lines, "", f"Largest process {found['largest_process_mb']:,} MB."]


def _batch(found: Result) -> list[str]:
    lines = [
        f"**{found['windows']} windows in one run**, of the same tables, beside DuckDB one after the other; all write",
        "Parquet. *tasks*: in Spark; *threads*: in one process. Asked: 2 × DuckDB.\n",
        "| query | tasks | threads | DuckDB | ratio | windows/s | rows/s | met |",
        "|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for name, r in found["queries"].items():
        best = min(r["tasks"], r["threads"])
        lines.append(
            f"| {name} | {r['tasks']:.1f} | {r['threads']:.1f} | {r['duckdb']:.1f} | {best / r['duckdb']:.2f} | "
            f"{r['windows_a_second']:.1f} | {r['rows_a_second']:,} | {_met(r)} |"
        )
    return [*lines, "", f"Largest process {found['largest_process_mb']:,} MB."]


def _tiny(found: Result) -> list[str]:
    return [
        f"**{found['windows']:,} windows of {found['window']} logs** in Spark tasks: {found['seconds']:.0f} s, "
        f"{1000 * found['seconds_a_window']:.1f} ms each.",
        f"Asked: 10,000 in 300 s; met: {_met(found)}. The next window, run by itself with all that a run does, took",
        f"{1000 * found['one_early']:.0f} ms with 10 windows behind it and {1000 * found['one_late']:.0f} ms with "
        f"{found['windows']:,}. Largest process {found['largest_process_mb']:,} MB.",
    ]


def _sampling(found: Result) -> list[str]:
    return [
        f"**Sampling on Spark**, {found['rows']:,} rows of 20 groups, k = 100: the sampler {found['native']:.1f} s, a "
        f"grouped pandas function",
        f"that draws the same sample with numpy, {found['pandas']:.1f} s: {found['ratio']} × (asked: 3 ×; "
        f"met: {_met(found)}).",
        *([f"One as people write it {found['usual']:.1f} s: {found['ratio_usual']} ×."] if "usual" in found else []),
    ]


def _codecs(found: Result) -> list[str]:
    return [
        f"**OTLP in protobuf**, {found['logs']:,} logs, CPU time of one core: in {found['in']:,} logs a second, out "
        f"{found['out']:,}",
        f"(asked: 200,000 each; met: {_met(found)}).",
    ]
