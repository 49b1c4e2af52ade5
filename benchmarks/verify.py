"""Does what an engine wrote hold what the logs say? Row counts and sums, read back by DuckDB."""

from __future__ import annotations

import json
from pathlib import Path

CHECKS = {
    "cloudtrail": {
        "rows": "count(*)",
        "seconds": "sum(epoch_us(event_time) // 1000000)",
        "errors": "count(*) FILTER (coalesce(error_code, '') <> '')",
        "reads": "count(*) FILTER (read_only)",
        "requests": "count(*) FILTER (coalesce(request_parameters::VARCHAR, '') NOT IN ('', 'null'))",
    },
    "nginx": {
        "rows": "count(*)",
        "seconds": "sum(epoch_us(tp_timestamp) // 1000000)",
        "status": "sum(status)",
        "bytes": "sum(body_bytes_sent)",
        "gets": "count(*) FILTER (request_method = 'GET')",
        "users": "count(remote_user)",
        "escapes": "count(*) FILTER (contains(http_user_agent, chr(92)))",
    },
    "vpc": {
        "rows": "count(*)",
        "seconds": "sum(epoch_us(start_time) // 1000000)",
        "bytes": "sum(bytes)",
        "packets": "sum(packets)",
        "rejects": "count(*) FILTER (action = 'REJECT')",
        "silent": "count(*) FILTER (src_addr IS NULL)",
    },
}


def differences(job: str, files: list[str], dataset: Path) -> dict[str, tuple[int, int]]:
    """Name of each sum that is not as expected → (found, expected)."""
    import duckdb

    expected = json.loads((dataset / "expected.json").read_text())
    sums = ", ".join(f"({sql})::HUGEINT::BIGINT AS {name}" for name, sql in CHECKS[job].items())
    with duckdb.connect() as con:
        con.execute("SET threads=2; SET enable_progress_bar=false; SET TimeZone='UTC'")
        row = con.execute(f"SELECT {sums} FROM read_parquet($files)", {"files": files}).fetchone()
    found = dict(zip(CHECKS[job], row or (), strict=True))
    return {name: (found[name], expected[name]) for name in found if found[name] != expected[name]}
