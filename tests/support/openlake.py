"""A lake with everything that other engines might stumble over, and the facts that all of them must find in it."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

from deltalake import DeltaTable
from world import World

Facts = tuple[object, ...]
TABLE = """
table "app" {
  format = format.jsonl.default
  column "ts" {
    type = "timestamp"
  }
  column "n" {
    type = "bigint"
  }
  column "never" {
    type = "bigint"
  }
}
"""
HOSTS = ("0042", "web 1/ü", "2024-01-01", "a=b", "%41")
FACTS = """
select count(*), sum(n), sum(late), count(never), max(tp_index), min(tp_index), count(distinct tp_index),
       count(distinct tp_date), min(tp_partition), max(tp_partition), min(tp_table),
       cast(min(tp_timestamp) as varchar(40))
from {}
"""
EXPECTED: Facts = (160, 12_520, 140, 0, "web 1/ü", "%41", 6, 3, "odd name", "plain", "app", "2024-05-01 10:00:00")


def make_lake(home: Path, folder: Path) -> str:
    """Partitions, one with odd names; columns that came late or never; a log that was replaced. The table's root."""
    world = World(home)
    source = f'source "file" {{\n paths = ["{folder}"]\n}}'
    world.write_config(
        f'{TABLE}\npartition "app" "plain" {{\n {source}\n}}\n'
        f'partition "app" "odd name" {{\n tp_index = "host"\n {source}\n}}'
    )
    _put(folder / "a.jsonl", range(40))
    _put(folder / "b.jsonl.gz", range(40, 60))
    assert all(report.clean for report in world.collect())
    _put(folder / "b.jsonl.gz", range(100, 130))
    _put(folder / "c.jsonl", range(200, 210), late=7)
    assert all(report.clean for report in world.collect())
    assert world.query(FACTS.format("app")) == [EXPECTED]
    root = world.lake.table_root("app").path
    assert len(list(root.rglob("*.parquet"))) > len(DeltaTable(root).file_uris()), "nothing was replaced"
    return str(root)


def _put(file: Path, numbers: range, **more: object) -> None:
    file.parent.mkdir(exist_ok=True)
    events = ({"ts": f"2024-05-{1 + n % 3:02}T10:00:00Z", "n": n, "host": HOSTS[n % 5], **more} for n in numbers)
    text = "".join(json.dumps(event) + "\n" for event in events).encode()
    file.write_bytes(gzip.compress(text) if file.suffix == ".gz" else text)
    os.utime(file, (numbers.start, numbers.start))
