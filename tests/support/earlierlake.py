"""A small lake with something of everything, as an earlier version of Tailrace wrote it.

`PYTHONPATH=EARLIER/src:tests/support python tests/support/earlierlake.py FILE.zip` makes one, with the source of that
version; tests/contract/test_earlier_lakes.py opens all that are kept.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

from bucketserver import BucketServer, serving
from logfiles import access_lines
from world import World

from tailrace.core import TimeRange
from tailrace.lake.undo import erase, restore

CONFIG = """
connection "aws" "stand_in" {
  endpoint_url        = "{url}"
  access_key          = "AKIDTEST"
  secret_key          = "hidden"
  region              = "us-east-1"
  s3_force_path_style = true
}
table "orders" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "at" }
  column "amount" { type = "double" }
  column "buyer" { type = "varchar" }
}
partition "orders" "shop" {
  tp_index = "country"
  filter   = "amount >= 0"
  source "aws_s3_bucket" {
    connection = connection.aws.stand_in
    bucket     = "logs"
    prefix     = "orders/"
    format     = format.jsonl.default
  }
}
partition "nginx_access_log" "web" {
  source "aws_s3_bucket" {
    connection = connection.aws.stand_in
    bucket     = "logs"
    prefix     = "web/"
  }
}
"""
SHOP, WEB = ("orders", "shop"), ("nginx_access_log", "web")
ALL = {
    "orders": "select tp_id, tp_timestamp, tp_index, amount, buyer, tp_extra from orders",
    "nginx_access_log": "select tp_id, tp_timestamp, remote_addr, status, body_bytes_sent from nginx_access_log",
    "quarantine": 'select "table", uri, position, raw, reason from tp_quarantine',
}
GONE = TimeRange(datetime(2024, 5, 2, 6), datetime(2024, 5, 3))
"Deleted of the web partition."


def orders(day: int, count: int) -> bytes:
    """Some with a field without a column, some with a value that does not fit, some filtered, one that is no record."""
    rows: list[dict[str, Any]] = []
    for n in range(count):
        row = {"at": f"2024-05-{day:02}T{n % 24:02}:00:00Z", "amount": n - 1, "buyer": f"b{n}", "country": "dfi"[n % 3]}
        rows.append(row | ({"coupon": n} if n % 4 == 0 else {}) | ({"amount": "free"} if n == 5 else {}))
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows) + b"{no record\n"


def objects() -> dict[str, bytes]:
    web = {f"web/{d}.log": access_lines(date(2024, 5, d), 20).encode() + b"bad line\n" for d in (1, 2, 3)}
    return web | {f"orders/{d}.jsonl": orders(d, 12) for d in (1, 2)}


def answers(world: World) -> dict[str, list[list[str]]]:
    """All rows of all tables, as text."""
    return {name: sorted([str(value) for value in row] for row in world.query(sql)) for name, sql in ALL.items()}


def configure(world: World, url: str) -> None:
    world.write_config(CONFIG.replace("{url}", url))


def make(home: Path) -> dict[str, list[list[str]]]:
    """Several commits: a changed object, one that joined, a range deleted, all deleted and restored."""
    world = World(home)
    with serving(BucketServer(objects())) as server:
        configure(world, server.url)
        assert all(report.clean for report in world.collect())
        server.objects["orders/1.jsonl"] = orders(1, 15)
        server.objects["orders/3.jsonl"] = orders(3, 6)
        assert all(report.clean for report in world.collect())
        erase(world.lake, *WEB, GONE)
        restore(world.lake, *SHOP, erase(world.lake, *SHOP, TimeRange()))
    told = answers(world)
    shutil.rmtree(home / "config")
    for lock in (home / "meta").rglob("lock"):
        lock.unlink()
    return told


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        content = Path(place, "content")
        told = make(content / "home")
        (content / "expected.json").write_text(json.dumps(told, indent=0))
        shutil.make_archive(sys.argv[1].removesuffix(".zip"), "zip", content)
