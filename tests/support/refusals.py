"""A table `events` whose records are refused by one configuration and fit another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from world import World

from tailrace.lake.intents import read_ledger
from tailrace.pipeline.report import ReplayReport

TABLE = """
table "events" {{
  column "tp_timestamp" {{ source = "at" }}
  column "n"            {{ type = "bigint" }}
}}
{format}
partition "events" "p" {{
  {more}
  source "file" {{
    paths  = ["{logs}"]
    format = {name}
  }}
}}
"""
WRONG = 'format "regex" "wrong" { layout = `^(?P<n>[0-4]) (?P<at>.*)$` }'
JSONL = "format.jsonl.default"
TIMES = [f"2024-05-0{1 + n % 3}T10:00:{n:02d}Z" for n in range(12)]


def configure(world: World, logs: Path, fmt: str, *, more: str = "") -> None:
    """`fmt`: a `format` block, or the name of a preset; `more`: lines of the partition."""
    is_block = fmt.startswith("format ")
    kind, label = fmt.split('"')[1::2][:2] if is_block else ("", "")
    name = f"format.{kind}.{label}" if is_block else fmt
    world.write_config(TABLE.format(format=fmt if is_block else "", name=name, logs=logs, more=more))


def jsonl(n: int, at: str) -> str:
    return json.dumps({"at": at, "n": n})


def lines(*numbers: int) -> str:
    return "".join(jsonl(n, TIMES[n % len(TIMES)]) + "\n" for n in numbers)


def replayed(world: World, **asked: Any) -> ReplayReport:
    (report,) = world.replay(**asked)
    assert report.error is None, report.error
    return report


def stored(world: World) -> list[tuple[Any, ...]]:
    """All rows without the moment of collecting, and what only the source could tell of."""
    columns = "tp_id, tp_timestamp, tp_date, tp_table, tp_partition, tp_index, tp_source_type, tp_source_location"
    return world.query(f"select n, {columns} from events order by tp_id")


def refused(world: World) -> list[tuple[Any, ...]]:
    return world.query("select location, position, reason, raw from tp_quarantine order by 1, 2")


def counts(world: World) -> tuple[int, int]:
    """Rows in the table and records in the quarantine; the ledger says the same, and no row is there twice."""
    rows, bad = len(stored(world)), len([row for row in refused(world) if row[1] >= 0])
    entries = read_ledger(world.lake, "events", "p").entries
    assert (sum(entries["rows"].to_pylist()), sum(entries["quarantined"].to_pylist())) == (rows, bad)
    assert len({row[1] for row in stored(world)}) == rows
    assert len({row[:2] for row in refused(world)}) == len(refused(world))
    return rows, bad
