"""A folder of logs that is collected, good and bad."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from world import World

from tailrace.pipeline.report import PartitionReport

NGINX = "nginx_access_log"
CLOUDTRAIL = "aws_cloudtrail_log"
REST = '[17/May/2015:10:05:03 +0000] "GET /{} HTTP/1.1" 200 12 "-" "curl/8"'


def line(target: object = "", user: str = "-", end: str = "\n") -> bytes:
    return f"1.2.3.4 - {user} {REST.format(target)}{end}".encode()


def lines(count: int) -> bytes:
    return b"".join(line(n) for n in range(count))


def event(**more: Any) -> dict[str, Any]:
    return {"eventTime": "2024-05-06T07:08:09Z", "eventName": "GetObject", **more}


@dataclass
class Inbox:
    """A folder that is collected, with one good file in it."""

    world: World
    folder: Path
    table: str = NGINX

    def put(self, name: str | bytes, data: bytes) -> Path:
        path = Path(os.fsdecode(os.path.join(os.fsencode(self.folder), os.fsencode(name))))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def collect(self) -> PartitionReport:
        """Collects the folder and a good neighbour; what the neighbour holds must be there whatever else is."""
        good = lines(3) if self.table == NGINX else json.dumps({"Records": [event(eventID="good")] * 3}).encode()
        self.put("~good~.log", good)
        report = self.world.collect_one(self.table, str(self.folder))
        counts = report.counts
        refused = counts.filtered + counts.out_of_range + counts.quarantined
        assert counts.received == counts.stored + refused
        assert self.count() == counts.stored
        assert self.count("tp_source_location like '%~good~.log'") == 3
        counts.received -= 3
        counts.stored -= 3
        return report

    def count(self, where: str = "true") -> int:
        ((number,),) = self.world.query(f"select count(*) from {self.table} where {where}")
        return int(number)

    def refused(self) -> list[tuple[str, bytes, int]]:
        rows = self.world.query("select reason, raw, length from tp_quarantine order by location, position")
        return [(reason, bytes(raw), length) for reason, raw, length in rows]
