"""The section on live data of RESULTS.md."""

from __future__ import annotations

from typing import Any

Result = dict[str, Any]
_NAMES = {
    "tcp": "Tailrace: FlatBuffers over TCP",
    "http": "Tailrace: JSON lines over HTTP",
    "half": "Tailrace: JSON lines over HTTP, half of that rate",
    "fastapi": "plain: FastAPI, pydantic model, on disk before the answer",
    "fastapi-unsynced": "plain: FastAPI, pydantic model, not waiting for the disk",
    "fastapi-append": "plain: FastAPI, neither looked at nor waited for",
    "model": "plain: Starlette, pydantic model, on disk before the answer",
    "checked": "plain: Starlette, `json.loads`, on disk before the answer",
    "unsynced": "plain: Starlette, `json.loads`, not waiting for the disk",
    "unchecked": "plain: Starlette, neither looked at nor waited for",
}
_OURS = ("tcp", "http", "half")


def section(results: list[Result]) -> list[str]:
    """Rates, costs and waits, Tailrace beside the plain ways."""
    found = {r["what"]: r for r in results}
    first = results[0]
    sizes = " or ".join(f"{size:.0f}" for size in sorted({round(r["bytes_per_row"]) for r in results}))
    lines = [
        "## Live data\n",
        f"Valid events of {sizes} bytes, a hundred in a request, from a sender on the same cores,",
        "over 16 connections of HTTP or 4 of TCP. A rate is rows read back from the files ÷ the time from the first",
        "byte to the end of the server, which publishes everything first. *Plain* is an endpoint of FastAPI, or of",
        "Starlette alone, that appends lines to a file, and a `COPY` of DuckDB, sorted by time, halfway through and",
        "at the end (`live_plain.py`). They take turns;",
        f"figures are medians of {len(first['rates'])} rounds. CPU is that of the server from when it is ready to its",
        "end; *ratio*: JSON lines of Tailrace ÷ the plain way. At half load the rate is that of sending.\n",
        "| | rows/s | rounds | ratio | CPU s | µs CPU/row | RSS MB | answered, p50 ms | p99 ms "
        "| in the files, p50 s | p99 s |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for what, r in found.items():
        compared = what not in _OURS and "http" in found
        ratio = f"{found['http']['rate'] / r['rate']:.2f}" if compared else ""
        rate = r["accepted_rate"] if what == "half" else r["rate"]
        rounds = "" if what == "half" else ", ".join(f"{one:,.0f}" for one in r["rates"])
        times = [_cell(r, name, 1000) for name in ("acknowledged_p50", "acknowledged_p99")]
        times += [_cell(r, name, 1) for name in ("visible_p50", "visible_p99")]
        costs = f"{r['cpu_seconds']:.1f} | {r['cpu_us_per_row']:.1f} | {r['peak_rss'] / 1e6:.0f}"
        name = _NAMES.get(what, what)
        lines.append(f"| {name} | {rate:,.0f} | {rounds} | {ratio} | {costs} | {' | '.join(times)} |")
    return lines


def _cell(r: Result, name: str, times: int) -> str:
    value = r.get(name)
    return "" if value is None else f"{value * times:.1f}"
