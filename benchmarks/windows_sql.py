"""What windows are asked, and the equivalent SQL for engines that know the files alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from windows_inputs import MINUTE, START

PASS = "SELECT * FROM log_attributes"
FILTER = """SELECT la.* FROM log_attributes la JOIN logs l ON l.id = la.parent_id AND l._part_id = la._part_id
WHERE l.severity_number >= 17"""
SAMPLE = """WITH named AS (SELECT l.id, l._part_id, ra.str AS service FROM logs l JOIN resource_attributes ra
    ON ra.parent_id = l.id AND ra._part_id = l._part_id AND ra.key = 'service.name'),
drawn AS (SELECT service, _part_id, weighted_reservoir_sample(STRUCT(id, 1.0), 100) AS s
    FROM named GROUP BY service, _part_id),
chosen AS (SELECT _part_id, d.value.id AS id FROM drawn CROSS JOIN UNNEST(s) AS t(d))
SELECT la.* FROM log_attributes la JOIN chosen c ON c.id = la.parent_id AND c._part_id = la._part_id"""
QUERIES = {"pass-through": PASS, "filter": FILTER, "sampling": SAMPLE}
_TIMED = "l.time_unix_nano >= {moment}({start}) AND l.time_unix_nano < {moment}({end})"
_JOINED = f"SELECT a.* FROM log_attrs a JOIN logs l ON l.id = a.parent_id AND l._part_id = a._part_id WHERE {_TIMED}"
_PLAIN = {
    "pass-through": _JOINED,
    "filter": f"{_JOINED} AND l.severity_number >= 17",
    "sampling": f"""WITH named AS (SELECT l.id, l._part_id, r.str AS service FROM logs l JOIN resource_attrs r
        ON r.parent_id = {{resource}} AND r._part_id = l._part_id AND r.key = 'service.name' WHERE {_TIMED}),
    chosen AS (SELECT _part_id, id FROM (SELECT *, row_number() OVER (PARTITION BY service, _part_id
        ORDER BY md5(CAST(id AS VARCHAR))) AS n FROM named) WHERE n <= 100)
    SELECT a.* FROM log_attrs a JOIN chosen c ON c.id = a.parent_id AND c._part_id = a._part_id""",
}
_TABLES = ("logs", "log_attrs", "resource_attrs")


def plain(engine: str, name: str, number: int) -> str:
    """The SQL that somebody would write who has but the files; both engines can prune by time."""
    start = START + number * MINUTE
    moment = "make_timestamp_ns" if engine == "duckdb" else "to_timestamp_nanos"
    resource = "l.resource.id" if engine == "duckdb" else "l.resource['id']"
    return _PLAIN[name].format(start=start, end=start + MINUTE, moment=moment, resource=resource)


def connected(base: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with two threads."""
    connection = duckdb.connect(config={"threads": 2})
    for table in _TABLES:
        path = f"{base}/{table}/*/*.parquet"
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{path}', hive_partitioning = true)")
    return connection


def fused(base: Path) -> Any:
    """DataFusion with two partitions."""
    from datafusion import SessionConfig, SessionContext

    context = SessionContext(SessionConfig().with_target_partitions(2))
    for table in _TABLES:
        context.register_parquet(table, f"{base}/{table}/", table_partition_cols=[("_part_id", pa.string())])
    return context
