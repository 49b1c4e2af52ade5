"""A lake of two tables, whose every row a test can foretell: partitions, accounts and days, a few rows each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from logfiles import write
from world import World

from tailrace.config.tables import tables_for
from tailrace.query.engine import Engine
from tailrace.query.filters import Schema, Scope
from tailrace.query.limits import Limits

FIRST = date(2024, 3, 29)
DAYS = [FIRST + timedelta(days=number) for number in range(4)]
ACCOUNTS = ("123456789012", "210987654321", "dev[1]")
TABLES = {"hits": ("web", "api-1"), "calls": ("web",)}
HOURS = (0, 11, 23)
CONFIG = """
table "{table}" {{
  column "tp_timestamp" {{ source = "at" }}
  column "account" {{}}
  column "n" {{ type = "integer" }}
}}
"""
PARTITION = """
partition "{table}" "{name}" {{
  tp_index = "account"
  source "file" {{ paths = ["{paths}"] }}
}}
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One stored row."""

    table: str
    partition: str
    index: str
    time: datetime
    n: int


def expected() -> list[Row]:
    """All rows, numbered."""
    places = [(t, p, a, d, h) for t, ps in TABLES.items() for p in ps for a in ACCOUNTS for d in DAYS for h in HOURS]
    return [
        Row(table, partition, account, datetime(day.year, day.month, day.day, hour, 59, 59 if hour == 23 else 0), n)
        for n, (table, partition, account, day, hour) in enumerate(places)
    ]


def made_in(root: Path, more: str = "") -> World:
    """The lake, collected without a JVM; `more` stands in its configuration besides."""
    world = World(root / "home")
    config = [more, *(CONFIG.format(table=table) for table in TABLES)]
    for table, names in TABLES.items():
        for name in names:
            logs = root / "logs" / table / name
            rows = [row for row in expected() if (row.table, row.partition) == (table, name)]
            lines = (json.dumps({"at": f"{row.time}Z", "account": row.index, "n": row.n}) for row in rows)
            write(logs / "a.jsonl", "".join(f"{line}\n" for line in lines))
            config.append(PARTITION.format(table=table, name=name, paths=logs))
    world.write_config("".join(config))
    assert all(report.clean for report in world.collect())
    return world


def engine(world: World, *schemas: Schema, scope: Scope | None = None, limits: Limits | None = None) -> Engine:
    """A query's engine over the lake."""
    config = world.config()
    names = [spec.name for spec in config.tables]
    return Engine(world.lake, lambda: {n: tables_for(config, n) for n in names}, lambda: schemas, scope, limits=limits)


def answer(made: Engine, sql: str) -> list[tuple[Any, ...]]:
    """Rows of the last statement."""
    rows: list[tuple[Any, ...]] = []
    for result in made.run(sql):
        rows = list(result.rows)
    return rows


def files_opened(made: Engine, sql: str) -> set[str]:
    """Data files that DuckDB opens for the statements, from its own log."""
    made.connection.execute("CALL enable_logging('FileSystem', level = 'trace')")
    answer(made, sql)
    found = made.connection.execute(
        "SELECT DISTINCT path FROM duckdb_logs_parsed('FileSystem') WHERE op = 'OPEN' AND path LIKE '%.parquet'"
    ).fetchall()
    made.connection.execute("CALL disable_logging()")
    made.connection.execute("CALL truncate_duckdb_logs()")
    return {path for (path,) in found}
