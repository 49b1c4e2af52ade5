"""Reads a lake again and again while it is compacted: `compaction_reader.py HOME DAYS ROWS`, until its input ends.

Each look takes one day of one partition, which has to have so many rows, each once; every tenth takes all of them.
"""

from __future__ import annotations

import json
import select
import sys
from datetime import timedelta
from pathlib import Path

from small_files import FIRST_DAY, PARTITIONS, TABLE
from tailrace.lake.paths import Lake
from tailrace.lake.snapshot import snapshot
from tailrace.query.engine import Engine


def main() -> None:
    """How often was looked, and what was wrong."""
    home, days, rows = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    lake = Lake(home)
    looks, wrong = 0, []
    while not select.select([sys.stdin], [], [], 0)[0]:
        number = looks % days
        day = FIRST_DAY + timedelta(days=number // PARTITIONS)
        where = f"tp_partition = 'p{number % PARTITIONS}' AND tp_date = DATE '{day}'"
        try:
            (result,) = Engine(lake, dict).run(f"SELECT count(*), count(DISTINCT tp_id) FROM {TABLE} WHERE {where}")
            found = tuple(next(iter(result.rows)))
            if found != (rows, rows):
                wrong.append(f"{where}: {found}")
            if looks % 10 == 0 and (total := sum(snapshot(lake, TABLE).files["rows"].to_pylist())) != days * rows:
                wrong.append(f"all: {total}")
        except Exception as error:
            wrong.append(repr(error)[:300])
        looks += 1
    print(json.dumps({"looks": looks, "wrong": wrong[:5], "failed": len(wrong)}))


if __name__ == "__main__":
    main()
