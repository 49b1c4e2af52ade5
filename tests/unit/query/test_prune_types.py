"""Pruning by the statistics of real files, column type by column type."""

from __future__ import annotations

import json
import random
from datetime import date, timedelta
from pathlib import Path

import pytest
from logfiles import write
from world import World

from tailrace.config.tables import tables_for
from tailrace.query import views as views_module
from tailrace.query.engine import Engine

LAST = chr(0x10FFFF) * 33
TABLE = """
table "t" {
  column "tp_timestamp" { source = "at" }
  column "big" { type = "ubigint" }
  column "dec" { type = "decimal(8,2)" }
  column "f"   { type = "float" }
  column "b"   { type = "boolean" }
  column "d"   { type = "date" }
}
"""
WHERES = [
    "big = 18446744073709551615", "big > 9223372036854775807", "big = 5",
    "dec > 0.1", "dec = -2.5", "dec < -4.99", "f > 1", "f < -1", "f = 1.5", "b", "not b", "b is null",
    "s = 'é'", "s > 'x'", f"s = '{'x' * 40}a'", f"s = '{LAST}'", "s = ''", "s like 'x%'", "s is null", "s = 'a''b'",
    "d > '2024-02-10'", "d between '2024-01-05' and '2024-01-06'", '"dot.name" = 3', '"q""uote" = 3',
    "tp_timestamp = (select min(tp_timestamp) from t)", "tp_timestamp >= '2024-05-09'", "tp_timestamp < '2024-05-02'",
    "tp_timestamp between '2024-05-03 10:00' and '2024-05-03 20:00'", "tp_timestamp::date = '2024-05-03'",
    "tp_date in ('2024-05-01', '2024-05-07')", "tp_date >= '2024-05-08' or s = 'é'", "hour(tp_timestamp) = 3",
    "tp_id = (select min(tp_id) from t)", "tp_source_location like '%/3.jsonl'",
]  # fmt: skip


def write_logs(root: Path) -> None:
    chance = random.Random(3)
    for number in range(10):
        records = [
            {
                "at": f"{date(2024, 5, 1 + number)}T{chance.randint(0, 23):02d}:00:00.{chance.randint(0, 999999):06d}Z",
                "big": chance.choice([0, 2**63, 2**64 - 1, None, 5]),
                "dec": str(chance.randint(-500, 500) / 100),
                "f": chance.choice([1.5, -2.0, None, 1e300]),
                "s": chance.choice(["x" * 40 + "a", "x" * 40 + "b", LAST, "", "é", "a'b", None]),
                "b": chance.choice([True, False, None]),
                "d": str(date(2024, 1, 1) + timedelta(days=chance.randint(0, 50))),
                "dot.name": chance.randint(0, 9),
                'q"uote': chance.randint(0, 9),
            }
            for _ in range(4)
        ]
        write(root / f"{number}.jsonl", "".join(json.dumps(r) + "\n" for r in records))


def test_pruning_changes_no_answer_for_any_type(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_logs(tmp_path / "logs")
    world.write_config(f'partition "t" "p" {{ source "file" {{ paths = ["{tmp_path}/logs"] }} }}' + TABLE)
    (report,) = world.collect()
    assert (report.clean, report.files) == (True, 10)
    sql = "; ".join(f"select tp_id from t where {where} order by 1" for where in WHERES)
    answers = []
    for prune_from in (1, 1_000_000):
        monkeypatch.setattr(views_module, "PRUNE_FROM", prune_from)
        made = Engine(world.lake, lambda: {"t": tables_for(world.config(), "t")})
        answers.append(dict(zip(WHERES, [list(result.rows) for result in made.run(sql)], strict=True)))
    assert answers[0] == answers[1]
    assert sum(map(bool, answers[0].values())) > len(WHERES) - 5
